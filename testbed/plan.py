"""The plan of a provider's use: which domain has how many names, with which feature and regions.

Subdomain counts of each feature and region are exact; domain counts are met by making "units"
(one region, one feature, some names) and joining units of different regions into one domain.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from testbed.apportion import apportion, split_heavy

Spec = dict[str, Any]


@dataclass(slots=True)
class NamePlan:
    """One cloud-using name of one provider before it has labels and addresses."""

    feature: str
    regions: tuple[str, ...]


@dataclass(slots=True)
class DomainPlan:
    """Names of one provider in one domain."""

    names: list[NamePlan] = field(default_factory=list)


def scaled(count: float, scale: Fraction) -> int:
    """A published count at this scale."""
    return round(count * scale)


def plan_provider(spec: Spec, n_domains: int, n_names: int, rng: random.Random) -> list[DomainPlan]:
    """Plans of ``n_domains`` domains with ``n_names`` names in all."""
    if not n_domains or not n_names:
        return []
    n_names = max(n_names, n_domains)
    features = _deal_features(spec, n_names, rng)
    counts = apportion(n_names, spec["region_counts"])
    multi = [k for k, c in enumerate(counts, 1) if k > 1 for _ in range(c)]
    uses = apportion(n_names - len(multi) + sum(multi), [r["subdomains"] for r in spec["regions"]])
    left = Counter(dict(zip((r["code"] for r in spec["regions"]), uses, strict=True)))
    n_multi = min(len(multi), max(1, round(n_domains * spec["multi_region_domains"])))
    wide = _wide_domains(multi, n_multi if multi else 0, left, features, rng)
    narrow = _narrow_domains(spec, n_domains - len(wide), left, features, rng)
    return wide + narrow


def _deal_features(spec: Spec, n_names: int, rng: random.Random) -> list[str]:
    counts = apportion(n_names, [f["subdomains"] for f in spec["features"]])
    labels = [f["label"] for f, c in zip(spec["features"], counts, strict=True) for _ in range(c)]
    rng.shuffle(labels)
    return labels


def _wide_domains(
    multi: list[int], n_domains: int, left: Counter[str], features: list[str], rng: random.Random
) -> list[DomainPlan]:
    """Domains whose names use several regions; each has one set of regions."""
    by_k = Counter(multi)
    kinds = sorted(by_k)
    shares = _at_least_one(n_domains, [by_k[k] for k in kinds])
    plans = []
    for k, n in zip(kinds, shares, strict=True):
        for size in split_heavy(by_k[k], n, rng):
            regions = _draw_regions(left, k, size, rng)
            for code in regions:
                left[code] -= size
            plans.append(DomainPlan([NamePlan(features.pop(), regions) for _ in range(size)]))
    return plans


def _at_least_one(total: int, weights: Sequence[int]) -> list[int]:
    parts = apportion(max(0, total - len(weights)), weights)
    return [min(w, p + 1) for w, p in zip(weights, parts, strict=True)]


def _draw_regions(left: Counter[str], k: int, size: int, rng: random.Random) -> tuple[str, ...]:
    """k regions that can still take ``size`` names, the fuller ones more often."""
    open_ones = [code for code in left if left[code] >= size]
    if len(open_ones) < k:
        open_ones = [code for code, _ in left.most_common(k)]
    chosen: list[str] = []
    while len(chosen) < k:
        rest = [c for c in open_ones if c not in chosen]
        chosen += rng.choices(rest, [max(left[c], 1) ** 0.5 for c in rest])
    return tuple(sorted(chosen))


@dataclass(slots=True)
class _Unit:
    region: str
    feature: str
    size: int


def _narrow_domains(
    spec: Spec, n_domains: int, left: Counter[str], features: list[str], rng: random.Random
) -> list[DomainPlan]:
    """Domains whose names use one region each."""
    codes = [code for code in left for _ in range(max(left[code], 0))]
    codes = codes[: len(features)] + [codes[0]] * max(0, len(features) - len(codes))
    cells = Counter(zip(codes, features, strict=True))
    if not cells or n_domains <= 0:
        return []
    units = _units(spec, cells, n_domains, rng)
    return _join(units, n_domains, rng)


def _units(
    spec: Spec, cells: Counter[tuple[str, str]], n_domains: int, rng: random.Random
) -> list[_Unit]:
    """Units per (region, feature), as many per region as domains use it."""
    published = sum(r["domains"] for r in spec["regions"])
    slots_wanted = min(
        sum(cells.values()), round(n_domains * published / sum(_domains(spec).values()))
    )
    slots_wanted = max(slots_wanted, n_domains)
    by_region = _capped(
        slots_wanted,
        {r["code"]: float(r["domains"]) for r in spec["regions"]},
        _sum_by(cells, 0),
    )
    units = []
    for region, n_units in by_region.items():
        own = {f: c for (r, f), c in cells.items() if r == region}
        for feature, n in _capped(n_units, _domains(spec), own).items():
            units += [_Unit(region, feature, s) for s in split_heavy(own[feature], n, rng)]
    return units


def _domains(spec: Spec) -> dict[str, float]:
    return {f["label"]: float(f["domains"]) for f in spec["features"]}


def _sum_by(cells: Counter[tuple[str, str]], position: int) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for key, count in cells.items():
        sums[key[position]] += count
    return dict(sums)


def _capped(total: int, weights: dict[str, float], caps: dict[str, int]) -> dict[str, int]:
    """Apportion ``total`` with at least one and at most ``caps`` per key that has a cap."""
    keys = [k for k in weights if caps.get(k)]
    parts = dict.fromkeys(keys, 1)
    while (short := min(total, sum(caps[k] for k in keys)) - sum(parts.values())) > 0:
        open_keys = [k for k in keys if parts[k] < caps[k]]
        more = apportion(short, [weights[k] for k in open_keys])
        if not any(more):
            more[0] = 1
        for key, extra in zip(open_keys, more, strict=True):
            parts[key] = min(caps[key], parts[key] + extra)
    return parts


def _join(units: list[_Unit], n_domains: int, rng: random.Random) -> list[DomainPlan]:
    """Join units of different regions (of one feature where possible) until domains fit."""
    rng.shuffle(units)
    groups: list[list[_Unit]] = [[u] for u in units[:n_domains]]
    homes: dict[str, list[int]] = {}
    for i, group in enumerate(groups):
        homes.setdefault(group[0].feature, []).append(i)
    for unit in units[n_domains:]:
        candidates = homes.get(unit.feature) or list(range(len(groups)))
        picks = [rng.choice(candidates) for _ in range(8)]
        fits = [i for i in picks if unit.region not in {u.region for u in groups[i]}]
        groups[(fits or picks)[0]].append(unit)
    return [
        DomainPlan([NamePlan(u.feature, (u.region,)) for u in group for _ in range(u.size)])
        for group in groups
    ]
