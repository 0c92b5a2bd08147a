"""Violations of rules about latency and routes, from tables of what a campaign would measure.

Round-trip times stand by country and region, routes of a region by ISP. Every set of regions is
tried, and the tables have no noise; nothing here is code of the audits.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from statistics import fmean, stdev

# Vantage points of each country: all of them see the times of the table.
VANTAGES_PER_COUNTRY = 12
MAX_P95_MS, MAX_REGRET = 150.0, 0.1
MAX_ISP_SHARE, MIN_ISPS, MIN_ROUTES = 0.5, 2, 10
_Z = 1.96
Times = Mapping[str, Mapping[str, float]]


def plant_isps(regions: Sequence[str], routes: Mapping[str, Sequence[int]]) -> set[tuple[str, str]]:
    """(rule, discriminator) of regions with a single ISP; too few routes are no violation."""
    measured = {region: routes.get(region, ()) for region in regions}
    return {
        ("isp-concentration", region)
        for region, counts in measured.items()
        if sum(counts) >= MIN_ROUTES
        and (max(counts) / sum(counts) >= MAX_ISP_SHARE or len(counts) < MIN_ISPS)
    }


def plant_latencies(regions: Sequence[str], rtt_ms: Times) -> set[tuple[str, str]]:
    """(rule, discriminator) of a domain in these regions, such as ``aws us-east-1``."""
    if not regions or not rtt_ms:
        return set()
    planted = {
        ("slow-country", country)
        for country, times in rtt_ms.items()
        if min(times[region] for region in regions) > MAX_P95_MS
    }
    now, best = _nearest(regions, rtt_ms), _best(len(regions), rtt_ms)
    differences = [a - b for a, b in zip(now, best, strict=True)]
    margin_ms = _Z * stdev(differences) / sqrt(len(differences))
    if fmean(now) - fmean(best) - margin_ms > MAX_REGRET * fmean(best):
        planted.add(("region-regret", ""))
    return planted


def _nearest(regions: Sequence[str], rtt_ms: Times) -> list[float]:
    """The time to the nearest of the regions, by vantage point."""
    nearest = (min(times[region] for region in regions) for times in rtt_ms.values())
    return [value for value in nearest for _ in range(VANTAGES_PER_COUNTRY)]


def _best(n: int, rtt_ms: Times) -> list[float]:
    every = sorted(next(iter(rtt_ms.values())))
    return min((_nearest(chosen, rtt_ms) for chosen in combinations(every, n)), key=fmean)
