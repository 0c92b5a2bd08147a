"""Compute the impact of each recommended set, as a document.

Measured and modelled figures are kept in separate fields, and are marked as such.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from analysis.impact import availability, latency_statistics, prices
from analysis.impact import failures as impact_failures
from analysis.impact.assignment import Assignment, Floats, serve
from analysis.impact.distances import distance
from analysis.impact.latency_models.distance_model import Model, cover, fit
from analysis.impact.latency_statistics import Spread
from analysis.impact.map_points import MapPoints, build_map_points, served
from analysis.impact.places import Client
from analysis.optimization import Measure, Recommendation, Samples, Study
from core.errors import BadInput, MissingData
from tasks.recommendations.costs import find_prices
from tasks.recommendations.request import Known, Question


def compute_impact(
    study: Study, question: Question, answers: Sequence[Recommendation]
) -> dict[str, Any]:
    """Consequences of the current deployment and of each set; raises BadInput."""
    view = _view(study, question)
    current = serve(study, question.current) if question.current else None
    sets = [view.describe("current", current, None)] if current and question.with_peer else []
    for answer in answers:
        if answer.regions:
            sets.append(view.describe(answer.k, serve(study, answer.regions), current))
    return {"inputs": view.inputs(), "sets": sets}


@dataclass(frozen=True)
class _View:
    """Shared inputs for describing all sets of one question."""

    study: Study
    question: Question
    clients: list[Client]
    other: Floats | None
    model: Model | None
    model_reason: str
    spots: MapPoints

    @property
    def is_latency(self) -> bool:
        return self.study.objective.measure is Measure.LATENCY

    def inputs(self) -> dict[str, Any]:
        """What the figures rest on."""
        placed = sum(client.at is not None for client in self.clients)
        return {
            "clients": {
                "count": len(self.clients),
                "with_country": sum(bool(client.country) for client in self.clients),
                "with_place": placed,
            },
            "unanswered_value": self.study.costs.value_of(self.study.costs.lost),
            "availability": asdict(self.question.assumed),
            "traffic": asdict(self.question.traffic),
            "model": asdict(self.model) if self.model else None,
            "model_reason": self.model_reason,
            "spots": [asdict(spot) for spot in self.spots.spots],
            "clients_on_no_spot": self.spots.clients_without,
            "places": self._places(),
        }

    def _places(self) -> list[dict[str, Any]]:
        """Places and providers of the regions that any set may use."""
        return [
            {
                "region": name,
                "provider": region.provider,
                "country": region.country,
                "continent": region.continent,
                "price": region.price,
                "at": region.at,
            }
            for name, region in self.question.known.regions.items()
        ]

    def describe(
        self, which: int | str, serving: Assignment, before: Assignment | None
    ) -> dict[str, Any]:
        """One set."""
        known = self.question.known
        groups = [client.country for client in self.clients]
        failures = impact_failures.losses(serving, known.regions, known.routes)
        shares = serving.home_shares().tolist()
        return {
            "set": which,
            "regions": serving.regions,
            "shares": dict(zip(serving.regions, shares, strict=True)),
            "all": _spread(
                latency_statistics.spread(serving),
                latency_statistics.spread(before) if before else None,
            ),
            "countries": _countries(serving, before, groups),
            "beside": self._describe_other_measure(serving),
            "failures": [asdict(loss) for loss in failures],
            "isps_unknown": impact_failures.unknown_routes(serving, known.routes),
            "availability": _availability(serving, self.question),
            "distance": asdict(distance(serving, self.clients, known.regions)),
            "cost": _cost(serving, self.question),
            "modelled": self._modelled(serving),
            "serves": served(serving, self.spots),
        }

    def _describe_other_measure(self, serving: Assignment) -> dict[str, Any] | None:
        """The other measure where each client is at home."""
        if self.other is None:
            return None
        rows = [self.question.samples.regions.index(name) for name in serving.regions]
        found = latency_statistics.spread_elsewhere(serving, self.other[rows], not self.is_latency)
        measure = Measure.THROUGHPUT if self.is_latency else Measure.LATENCY
        return {"measure": str(measure), **_spread(found, None)}

    def _modelled(self, serving: Assignment) -> dict[str, Any] | None:
        """Populations without samples; None without populations or a model."""
        if self.model is None:
            return None
        known = self.question.known
        people = list(known.populations.values())
        found = cover(self.model, people, known.regions, serving.regions)
        return None if found is None else {"basis": "modelled", **asdict(found)}


def _view(study: Study, question: Question) -> _View:
    known = question.known
    clients = _clients(known)
    other = _aligned(question.samples, known.beside) if known.beside else None
    model, reason = _model(question, clients)
    return _View(study, question, clients, other, model, reason, _find_map_points(known))


# What is known stays as it is while constraints change.
@lru_cache(maxsize=8)
def _clients(known: Known) -> list[Client]:
    nobody = Client()
    return [known.clients.get(name, nobody) for name in known.samples.clients]


@lru_cache(maxsize=8)
def _find_map_points(known: Known) -> MapPoints:
    return build_map_points(_clients(known), known.samples.weights)


def _model(question: Question, clients: list[Client]) -> tuple[Model | None, str]:
    if not question.known.populations:
        return None, "no populations were brought"
    if question.objective.measure is not Measure.LATENCY:
        return None, "only round-trip times are modelled"
    try:
        return fit(question.samples, clients, question.known.regions), ""
    except MissingData as error:
        return None, str(error)


def _aligned(samples: Samples, other: Samples) -> Floats:
    """Another measure's values in the order of these regions and clients, gaps for the rest."""
    values = np.full((len(samples.regions), len(samples.clients), len(other.rounds)), np.nan)
    rows = {name: j for j, name in enumerate(other.regions)}
    columns = {name: i for i, name in enumerate(other.clients)}
    shared = [(j, rows[name]) for j, name in enumerate(samples.regions) if name in rows]
    both = [(i, columns[name]) for i, name in enumerate(samples.clients) if name in columns]
    if not shared or not both:
        raise BadInput("no region and client in common with the samples", field="beside")
    to, of = np.array(both).T
    for j, row in shared:
        values[j, to] = other.values[row][of]
    return values


def _spread(found: Spread, before: Spread | None) -> dict[str, Any]:
    document = {
        "clients": found.clients,
        "share": found.share,
        **_figures(found),
        "unanswered_share": found.unanswered,
        "basis": "measured",
    }
    return document if before is None else {**document, "before": _figures(before)}


def _figures(found: Spread) -> dict[str, float | None]:
    return {"mean": found.mean, **{f"p{p}": value for p, value in found.percentiles.items()}}


def _countries(
    serving: Assignment, before: Assignment | None, groups: list[str]
) -> list[dict[str, Any]]:
    if not any(groups):
        return []
    now = latency_statistics.by_group(serving, groups)
    then = latency_statistics.by_group(before, groups) if before else {}
    return [
        {"country": country or None, **_spread(found, then.get(country))}
        for country, found in now.items()
    ]


def _availability(serving: Assignment, question: Question) -> dict[str, Any]:
    known = question.known
    found = availability.estimate(serving, known.regions, question.assumed)
    return {
        "served": found.served,
        "minutes_lost_per_month": found.minutes_lost_per_month,
        "regions": [
            {"region": name, "availability": share, "source": source}
            for name, (share, source) in found.inputs.items()
        ],
        "providers": found.providers,
    }


def _cost(serving: Assignment, question: Question) -> dict[str, Any] | None:
    found_prices = find_prices(question.known, use_listed=question.front)
    if found_prices is None:
        return None
    found = prices.bill(found_prices, serving, question.traffic)
    return {**asdict(found), "total": found.total}
