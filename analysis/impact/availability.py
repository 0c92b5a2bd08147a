"""Estimate the availability of a set of regions from those of its regions and providers.

Regions of one provider share its own outages; beyond those, all failures are independent. A client
is served while any region that answered it in that round is up.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.impact.assignment import Assignment
from analysis.impact.places import Region

MINUTES_PER_MONTH = 30 * 24 * 60


@dataclass(frozen=True, slots=True)
class Assumed:
    """Default availabilities, as shares of time, for regions without a known one.

    ``region`` is what providers promise for machines in several zones of one region, ``zone`` for
    those in a single one. ``provider`` is for outages of all regions at once, for which no provider
    makes a promise; one hour in ten years is a guess, and is labelled as one.
    """

    region: float = 0.9999
    zone: float = 0.995
    provider: float = 0.99999


@dataclass(frozen=True, slots=True)
class Availability:
    """How much of the time weighted clients are served, and what that rests on.

    ``inputs`` names each region's availability and where the figure comes from.
    """

    served: float
    minutes_lost_per_month: float
    inputs: Mapping[str, tuple[float, str]]
    providers: Mapping[str, float]


def estimate(
    serving: Assignment, facts: Mapping[str, Region], assumed: Assumed | None = None
) -> Availability:
    """Return the availability of a set from that of its regions and their providers."""
    assumed = assumed or Assumed()
    inputs = {name: _of(facts[name], assumed) for name in serving.regions}
    answers = np.isfinite(serving.costs)
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(serving.regions):
        # A region with an unknown provider shares no outage with another.
        groups.setdefault(facts[name].provider or f"provider of {name}", []).append(place)
    down = np.ones(serving.best.shape)
    for places in groups.values():
        each = [np.where(answers[j], 1 - inputs[serving.regions[j]][0], 1.0) for j in places]
        alone = np.prod(each, axis=0)
        common = (1 - assumed.provider) + assumed.provider * alone
        down *= np.where(answers[places].any(axis=0), common, 1.0)
    weights = serving.mass * answers.any(axis=0)
    whole = float(weights.sum())
    lost = float((down * weights).sum()) / whole if whole else 1.0
    providers = dict.fromkeys(groups, assumed.provider)
    return Availability(1 - lost, lost * MINUTES_PER_MONTH, inputs, providers)


def _of(region: Region, assumed: Assumed) -> tuple[float, str]:
    if region.availability is not None:
        return region.availability, "given"
    if region.zones == 1:
        return assumed.zone, "assumed for one zone"
    return assumed.region, "assumed for several zones"
