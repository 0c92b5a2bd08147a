"""Front ends and regions that each domain of one provider uses.

The sets of labels and regions reproduce the domain columns of Tables 8 and 10.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from testbed.generate.apportion import apportion_within
from testbed.generate.targets import Target
from testbed.world.drafts import Regions

_TRIALS = 60


@dataclass(slots=True)
class Profile:
    """What one domain uses of one provider; ``wide`` if a name uses all regions at once."""

    labels: list[str] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)
    wide: Regions = ()


def draw_profiles(
    target: Target, section: Mapping[str, Any], n_domains: int, rng: random.Random
) -> list[Profile]:
    """Profiles of ``n_domains`` domains; counts of ``target`` that are met are used up."""
    profiles = [Profile() for _ in range(n_domains)]
    if profiles:
        _assign_labels(profiles, target, section["exclusive"], rng)
        _assign_regions(profiles, target, section, rng)
    return profiles


def _assign_labels(
    profiles: list[Profile], target: Target, exclusive: Sequence[str], rng: random.Random
) -> None:
    labels = [label for label in target.domains if target.domains[label] > 0]
    counts = [target.domains[label] for label in labels]
    extra = max(0, sum(counts) - len(profiles))
    second = apportion_within(extra, counts, [0] * len(labels), counts)
    first = [x for x, n, s in zip(labels, counts, second, strict=True) for _ in range(n - s)]
    rng.shuffle(first)
    first += [max(target.names, key=lambda x: target.names[x])] * (len(profiles) - len(first))
    for profile, label in zip(profiles, first, strict=False):
        profile.labels.append(label)
    for label, count in zip(labels, second, strict=True):
        for _ in range(count):
            _add_label(profiles, label, exclusive, rng)


def _add_label(
    profiles: list[Profile], label: str, exclusive: Sequence[str], rng: random.Random
) -> None:
    for _ in range(_TRIALS):
        held = rng.choice(profiles).labels
        clash = label in exclusive and any(other in exclusive for other in held)
        if label not in held and not clash:
            held.append(label)
            return


def _assign_regions(
    profiles: list[Profile], target: Target, section: Mapping[str, Any], rng: random.Random
) -> None:
    bound = section["bound_to"]
    left = Counter(target.region_domains)
    free = [p for p in profiles if not any(label in bound for label in p.labels)]
    able = [p for p in free if any(label in section["multi_region"] for label in p.labels)]
    rng.shuffle(able)
    for regions in _wide_sets(target):
        if not able:
            break
        profile = able.pop()
        profile.wide, profile.regions = regions, list(regions)
        left.subtract(regions)
    narrow = [p for p in profiles if not p.wide]
    first, second = _split(left, len(narrow))
    for profile in narrow:  # those that are bound to one region come first
        home = next((bound[label] for label in profile.labels if label in bound), "")
        if home:
            profile.regions.append(home)
            first[home] -= 1
    _assign_first_regions([p for p in narrow if not p.regions], first, rng)
    _assign_second_regions([p for p in free if not p.wide], second, rng)


def _wide_sets(target: Target) -> list[Regions]:
    """One set per wide domain; the commoner a set is among names, the more domains have it."""
    chosen: list[Regions] = []
    for k, count in target.wide.items():
        sets = [s for s in target.sets if len(s) == k]
        names = [target.sets[s] for s in sets]
        lower = [1 if count >= len(sets) else 0] * len(sets)
        parts = apportion_within(count, names, lower, names)
        chosen += [s for s, n in zip(sets, parts, strict=True) for _ in range(n)]
    return chosen


def _split(left: Counter[str], n_domains: int) -> tuple[Counter[str], Counter[str]]:
    """First and second regions of the domains that use them one name at a time."""
    codes = [code for code in left if left[code] > 0]
    counts = [left[code] for code in codes]
    extra = max(0, sum(counts) - n_domains)
    second = apportion_within(extra, counts, [0] * len(codes), counts)
    first = {c: n - s for c, n, s in zip(codes, counts, second, strict=True)}
    return Counter(first), Counter(dict(zip(codes, second, strict=True)))


def _assign_first_regions(profiles: list[Profile], first: Counter[str], rng: random.Random) -> None:
    codes = [code for code in first for _ in range(max(0, first[code]))]
    rng.shuffle(codes)
    fullest = max(first, key=lambda code: first[code])
    codes += [fullest] * (len(profiles) - len(codes))
    for profile, code in zip(profiles, codes, strict=False):
        profile.regions.append(code)


def _assign_second_regions(
    profiles: list[Profile], second: Counter[str], rng: random.Random
) -> None:
    for code, count in second.items():
        for _ in range(count if profiles else 0):
            for _ in range(_TRIALS):
                regions = rng.choice(profiles).regions
                if code not in regions and len(regions) < 2:
                    regions.append(code)
                    break
