"""Number of machines behind the names of each domain (Figure 10a and section 4.4.1).

The names of a domain share its machines. Few domains have three machines or more, and they have
all names with so many; they are the large ones, and those with a name in several regions.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from testbed.generate.apportion import apportion
from testbed.world.drafts import DomainDraft, Draft

MANY_MACHINES = 3
# Above this share of a region's zones per name, names with one address would be too many.
CROWDED = 0.7
# What counts of it in the fullest region, where platforms and unknown fronts have most names: these
# take as many addresses as zones ask (chosen).
_FULLEST = 0.6

# Machines of a name in each of several regions, where that many are left (chosen).
_PER_REGION = 2
# Where the domains with many machines hold too few names, at most this many times as many.
_MORE = 1.5

ZoneDemand = Mapping[str, float]


def zone_demand(section: Mapping[str, Any]) -> dict[str, float]:
    """Return a name's mean share of identified zones by region (Tables 10 and 12)."""
    found = {}
    for region in section["regions"]:
        zones = region.get("zone_names", ())
        per_name = float(sum(zones) * 1000 / region["names"])
        found[region["code"]] = per_name / len(zones) if zones else 0.0
    found[max(section["regions"], key=lambda r: int(r["names"]))["code"]] *= _FULLEST
    return found


def assign_machines(
    domains: Sequence[DomainDraft], section: Mapping[str, Any], rng: random.Random
) -> None:
    """Set ``count`` of every VM name that has none, and ``machines`` of its domain's names."""
    owners = {id(d): d for d in domains if any(x.label == "vm" for x in d.drafts)}
    groups = {key: [x for x in d.drafts if x.label == "vm"] for key, d in owners.items()}
    for key, group in groups.items():
        for draft in group:
            draft.machine_domain = owners[key].domain
    left = {key: group for key, group in groups.items() if not owners[key].starred}
    for group in (g for key, g in groups.items() if owners[key].starred):
        for draft in group:
            draft.count = draft.count or 1
            draft.few_machines = True
    counts = _counts(sum(map(len, left.values())), section)
    need = zone_demand(section)
    wanted = round(len(groups) * section["many_machines"])
    names = sum(n for k, n in counts.items() if k >= MANY_MACHINES)
    many = _choose_many(list(left.values()), (wanted, names), need, rng)
    _assign_many_machines([g for g in left.values() if id(g) in many], counts, section)
    _assign_few_machines([g for g in left.values() if id(g) not in many], counts, section, rng)


def _counts(n: int, section: Mapping[str, Any]) -> Counter[int]:
    table = section["instances"]["vm"]
    parts = apportion(n, [share for _, share in table])
    return Counter({k: part for (k, _), part in zip(table, parts, strict=True) if part})


def _choose_many(
    groups: Sequence[list[Draft]], wanted: tuple[int, int], need: ZoneDemand, rng: random.Random
) -> set[int]:
    """Choose domains with many machines: where a name is in several regions, then those that are
    large, in crowded regions or in several. ``wanted`` are domains, and names that they hold."""
    draws = {id(group): rng.random() for group in groups}
    wide = sum(_max_regions(g) > 1 for g in groups)

    def weight(group: list[Draft], power: int) -> float:
        regions = {code for draft in group for code in draft.regions}
        return float(len(group) * (len(regions) ** 2 * max(need[r] for r in regions) ** 3) ** power)

    chosen: list[list[Draft]] = []
    for power in (1, 0):  # where few are chosen, the largest only hold names enough
        order = sorted(groups, key=lambda g: (-_max_regions(g), -weight(g, power), draws[id(g)]))
        chosen = order[: max(wanted[0], wide)]
        if sum(map(len, chosen)) >= wanted[1]:
            break
    rest = iter(order[len(chosen) : round(len(chosen) * _MORE)])
    held = sum(map(len, chosen))
    while held < wanted[1] and (group := next(rest, None)):
        chosen.append(group)
        held += len(group)
    return {id(group) for group in chosen}


def _max_regions(group: Sequence[Draft]) -> int:
    return max(len(draft.regions) for draft in group)


def _assign_many_machines(
    groups: list[list[Draft]], counts: Counter[int], section: Mapping[str, Any]
) -> None:
    """Give each domain at least one name with many machines."""
    for group in groups:
        for draft in group:
            if len(draft.regions) > 1:
                draft.count = _pop_count(counts, _PER_REGION * len(draft.regions))
    three = {r["code"] for r in section["regions"] if len(r.get("zone_names", ())) >= MANY_MACHINES}
    need = zone_demand(section)
    unassigned = {id(g): [d for d in g if not d.count] for g in groups}
    spare = sum(n for k, n in counts.items() if k >= MANY_MACHINES) - sum(
        map(bool, unassigned.values())
    )
    wanted: dict[int, int] = {}
    for group in sorted(groups, key=lambda g: _sort_key(g, three, need)):
        own = len(unassigned[id(group)])
        wanted[id(group)] = min(own, 1 + max(0, spare)) if own else 0
        spare -= max(0, wanted[id(group)] - 1)
    for group in sorted(groups, key=lambda g: wanted[id(g)]):
        names = unassigned[id(group)]
        for draft in names[: wanted[id(group)]]:
            draft.count = _pop_count(counts, MANY_MACHINES)
        for draft in names[wanted[id(group)] :]:
            draft.count = _pop_count(counts, 2)


def _sort_key(group: list[Draft], three: set[str], need: ZoneDemand) -> tuple[bool, bool, int]:
    home = Counter(draft.regions[0] for draft in group).most_common(1)[0][0]
    return home not in three, need[home] < CROWDED / 2, len(group)


def _pop_count(counts: Counter[int], least: int) -> int:
    """Pop the smallest remaining count of at least ``least``, else the largest one."""
    left = [k for k, n in counts.items() if n > 0]
    fit = [k for k in left if k >= least]
    taken = min(fit) if fit else max(left, default=least)
    counts[taken] -= 1
    return taken


def _assign_few_machines(
    groups: list[list[Draft]],
    counts: Counter[int],
    section: Mapping[str, Any],
    rng: random.Random,
) -> None:
    """Give each domain one machine, or two where names are many and zones are crowded."""
    need = zone_demand(section)
    for group in groups:
        for draft in group:
            draft.few_machines = True
    by_regions: dict[bool, list[list[Draft]]] = defaultdict(list)
    for group in groups:
        by_regions[len({d.regions[0] for d in group}) > 1].append(group)
    order = by_regions[True] + sorted(
        by_regions[False],
        key=lambda g: len(g) ** 0.5 * need[g[0].regions[0]] ** 3 * rng.uniform(0.7, 1.3),
    )
    for number, group in enumerate(order):
        count = 1 if counts[1] > 0 or number < len(by_regions[True]) else 2
        for draft in group:
            draft.count = count
            counts[count] -= 1
