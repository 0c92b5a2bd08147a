"""Lasting changes of paths between the runs of a schedule: hops that answer from other addresses.

A hop is tested by Fisher's exact test; ``docs/methods/change-points.md`` has the error rate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import NamedTuple

import duckdb

from lake.parts import sql_list

# Probability that one comparison of a run reports any change of a path although there is none.
FAMILY_ERROR_RATE = 0.01
# Fewer traceroutes that a hop answered, on either side, show nothing.
MIN_TRACES = 3
# The new address answers in nearly all traceroutes after the change, and in hardly any before.
MIN_AFTER, MAX_BEFORE = 0.9, 0.1
_HOPS = """
WITH traces AS (SELECT row_number() OVER () AS trace, vantage, region, target, zone, flow, hops
  FROM read_parquet({parts})),
replies AS (SELECT * EXCLUDE (hop), hop.ttl AS ttl, hop.address AS address
  FROM (SELECT * EXCLUDE (hops), unnest(hops) AS hop FROM traces))
SELECT coalesce(vantage, ''), coalesce(region, ''), coalesce(target, ''), coalesce(zone, ''),
  flow, ttl, address, count(DISTINCT trace)
FROM replies WHERE address <> '' GROUP BY ALL
"""


class Series(NamedTuple):
    """The traceroutes of one pair of ends and flow."""

    vantage: str
    region: str
    target: str
    zone: str
    flow: int


# Traceroutes by address of each hop: ``{series: {ttl: Counter(address)}}``.
Hops = dict[Series, dict[int, Counter[str]]]


@dataclass(frozen=True, slots=True)
class ChangedHop:
    """The most frequent address of a hop before and after, with the number of traceroutes."""

    ttl: int
    before: str
    after: str
    n_before: int
    n_after: int


@dataclass(frozen=True, slots=True)
class PathChange:
    """Hops of a series that changed; ``p_value`` is the smallest of them, corrected for all."""

    series: Series
    hops: tuple[ChangedHop, ...]
    p_value: float


def count_hops(parts: Sequence[Path]) -> Hops:
    """Count the traceroutes of a campaign by series, hop and address."""
    found: Hops = {}
    if not parts:
        return found
    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as connection:
        rows = connection.sql(_HOPS.format(parts=sql_list(parts))).fetchall()
    for *series, ttl, address, n in rows:
        hops = found.setdefault(Series(*series), {})
        hops.setdefault(int(ttl), Counter())[address] += n
    return found


def add_hops(runs: Iterable[Mapping[int, Counter[str]]]) -> dict[int, Counter[str]]:
    """Add the counts of several runs of one series."""
    total: dict[int, Counter[str]] = {}
    for run in runs:
        for ttl, own in run.items():
            total.setdefault(ttl, Counter()).update(own)
    return total


def find_path_changes(
    before: Hops, after: Hops, error_rate: float = FAMILY_ERROR_RATE
) -> list[PathChange]:
    """Find the series of which hops changed.

    The probability of any false one among all hops is at most ``error_rate`` (Bonferroni).
    """
    tests = [
        (series, ttl, before[series][ttl], own)
        for series, hops in after.items()
        if series in before
        for ttl, own in hops.items()
        if ttl in before[series] and _is_tested(before[series][ttl], own)
    ]
    changed: dict[Series, list[tuple[float, ChangedHop]]] = {}
    for series, ttl, old, new in tests:
        p_value = len(tests) * compare_hop(old, new)
        if p_value <= error_rate:
            hop = ChangedHop(ttl, _most(old), _most(new), old.total(), new.total())
            changed.setdefault(series, []).append((p_value, hop))
    return [
        PathChange(series, _by_ttl(own), min(p for p, _ in own))
        for series, own in sorted(changed.items())
    ]


def _by_ttl(found: Iterable[tuple[float, ChangedHop]]) -> tuple[ChangedHop, ...]:
    return tuple(sorted((hop for _, hop in found), key=lambda hop: hop.ttl))


def _is_tested(old: Counter[str], new: Counter[str]) -> bool:
    return min(old.total(), new.total()) >= MIN_TRACES


def _most(addresses: Counter[str]) -> str:
    return min(addresses, key=lambda address: (-addresses[address], address))


def compare_hop(old: Counter[str], new: Counter[str]) -> float:
    """Return the p value of the new address of a hop; 1 where it is not new permanently.

    Of the n + m traceroutes in random order, those of the new address are this much in the last m:
    the upper tail of the hypergeometric distribution (Fisher 1935), for the address that is most
    frequent among the m.
    """
    address, n, m = _most(new), old.total(), new.total()
    was, now = old[address], new[address]
    if now < MIN_AFTER * m or was > MAX_BEFORE * n:
        return 1.0
    whole = was + now
    tail = sum(comb(m, k) * comb(n, whole - k) for k in range(now, min(m, whole) + 1))
    return tail / comb(n + m, whole)
