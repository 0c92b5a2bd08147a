"""Facts of a measurement campaign for the rules about latency, ISPs and the choice of regions."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np

from analysis.optimization import Objective, Samples, Study
from audits.facts.campaign import (
    CampaignFacts,
    CampaignRow,
    IspFact,
    IspShare,
    Region,
    RegretFact,
)
from audits.facts.domains import SurveyFacts
from audits.facts.latencies import read_first_paths, read_latencies
from audits.policy.model import Policy
from audits.rules.performance import SlowCountry
from tasks.campaigns.best_sets import samples_of
from tasks.recommendations.client_latencies import name_in
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places
from webapp.store.models import Campaign

# Half of a 95 % interval of a mean, in standard errors.
_Z = 1.96


def read_campaign_facts(campaign: Campaign, facts: SurveyFacts, policy: Policy) -> CampaignFacts:
    """Read the facts that a campaign provides about the regions that the domains of a survey use;
    raises ``Damaged``.

    Only what the rules of the policy read is computed.
    """
    used = {
        (d.provider or "", d.region or "") for domain in facts.domains for d in domain.in_regions
    }
    rules = policy.rules
    slow = rules.get("slow-country")
    return CampaignFacts(
        campaign.slug,
        campaign.finished_at or campaign.reported_at or datetime.fromtimestamp(0, UTC),
        campaign.synthetic,
        latencies=(_latencies(campaign, used, _countries(facts, slow.parameters)) if slow else {}),
        isps=_isps(campaign, used) if "isp-concentration" in rules else {},
        regret=_regret(campaign) if "region-regret" in rules else None,
    )


def _countries(facts: SurveyFacts, parameters: Any) -> set[str]:
    """The countries that the rule asks about."""
    assert isinstance(parameters, SlowCountry)
    if parameters.countries:
        return set(parameters.countries)
    return {country for domain in facts.domains for country in domain.customers}


def _latencies(campaign: Campaign, used: Iterable[Region], wanted: Collection[str]) -> Any:
    vantages = selectors.read_table(campaign, "latency-vantages", ["vantage"])["vantage"]
    places = vantage_places(campaign, vantages.to_pylist())
    countries = {name: place.country for name, place in places.items() if place.country}
    found = read_latencies(selectors.parts(campaign, "samples"), countries, wanted)
    names = {place for _, place in found}
    named = {region: name_in(names, *region) for region in used}
    return {
        (country, region): fact
        for region, name in named.items()
        for country in wanted
        if name and (fact := found.get((country, name)))
    }


def _isps(campaign: Campaign, used: Iterable[Region]) -> dict[Region, IspFact]:
    """Downstream ISPs of the certain routes of each region in use."""
    stored = selectors.some_tables(campaign, "isp-shares").get("isp-shares")
    routes: dict[str, Counter[tuple[int, str]]] = {}
    for row in stored.dicts() if stored else ():
        place = f"{row['provider']}/{row['region']}" if row["provider"] else row["region"]
        isp = (int(row["isp"]), row.get("name") or "")
        routes.setdefault(place, Counter())[isp] += int(row["routes"])
    paths = read_first_paths(selectors.parts(campaign, "paths")) if routes else {}
    found: dict[Region, IspFact] = {}
    for region in used:
        name = name_in(routes, *region)
        if name is not None:
            found[region] = _isp_fact(routes[name], paths.get(name_in(paths, *region) or "", ()))
    return found


def _isp_fact(routes: Counter[tuple[int, str]], rows: tuple[CampaignRow, ...]) -> IspFact:
    total = routes.total()
    ranked = sorted(routes.items(), key=lambda item: (-item[1], item[0]))
    shares = tuple(IspShare(asn, name, n / total) for (asn, name), n in ranked)
    return IspFact(total, shares, rows)


@dataclass
class _Solver:
    """The best sets of a campaign's regions by size, each solved once."""

    samples: Samples
    best: dict[int, tuple[str, ...]] = field(default_factory=dict)
    known: dict[frozenset[Region], RegretFact | None] = field(default_factory=dict)

    @cached_property
    def study(self) -> Study:
        return Study(self.samples, Objective())

    def regret(self, regions: frozenset[Region]) -> RegretFact | None:
        """The regret of a set; ``None`` where a region was not measured or too few clients were."""
        if regions not in self.known:
            self.known[regions] = self._compute(regions)
        return self.known[regions]

    def _compute(self, regions: frozenset[Region]) -> RegretFact | None:
        names = [name_in(self.samples.regions, *region) for region in sorted(regions)]
        used = tuple(name for name in names if name is not None)
        if len(used) < len(names):
            return None
        best = self._best(len(used))
        now_ms, best_ms = self._means(used), self._means(best)
        both = ~np.isnan(now_ms) & ~np.isnan(best_ms)
        n = int(both.sum())
        if n < 2 or not best:
            return None
        difference = now_ms[both] - best_ms[both]
        margin_ms = _Z * float(difference.std(ddof=1)) / n**0.5
        return RegretFact(
            float(now_ms[both].mean()),
            float(best_ms[both].mean()),
            margin_ms,
            tuple(_region_of(name) for name in best),
            n,
            self._slowest(used, np.where(both, now_ms - best_ms, -np.inf)),
        )

    def _slowest(self, names: tuple[str, ...], excess_ms: Any) -> tuple[tuple[str, str], ...]:
        """The clients with the greatest excess, each with its nearest region in use."""
        rows = [self.samples.regions.index(name) for name in names]
        found = []
        for i in np.argsort(-excess_ms, kind="stable")[:3]:
            if np.isfinite(excess_ms[i]):
                values = self.samples.values[rows, i]
                nearest = np.where(np.isnan(values), np.inf, values).min(axis=1).argmin()
                found.append((self.samples.clients[i], names[int(nearest)]))
        return tuple(found)

    def _best(self, k: int) -> tuple[str, ...]:
        if k not in self.best:
            self.best[k] = self.study.recommend(k).regions
        return self.best[k]

    def _means(self, names: tuple[str, ...]) -> Any:
        """The mean over rounds of the nearest region's time in ms, for each client."""
        rows = [self.samples.regions.index(name) for name in names]
        values = self.samples.values[rows]
        nearest = np.where(np.isnan(values), np.inf, values).min(axis=0, initial=np.inf)
        counted = np.isfinite(nearest)
        sums = np.where(counted, nearest, 0.0).sum(axis=1)
        rounds = counted.sum(axis=1)
        return np.divide(sums, rounds, out=np.full(len(sums), np.nan), where=rounds > 0)


def _region_of(name: str) -> Region:
    provider, _, region = name.replace(":", "/").rpartition("/")
    return provider, region


def _regret(campaign: Campaign) -> Callable[[frozenset[Region]], RegretFact | None] | None:
    samples = samples_of(campaign, "latency")
    return None if samples is None else _Solver(samples).regret
