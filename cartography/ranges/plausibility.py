"""Assess a parsed range file: refuse damage, and warn of unusual content.

The checks use the file alone, the sanity rules of its provider, and the previous version.
"""

from collections import Counter
from dataclasses import dataclass
from operator import ne

import numpy as np

from cartography.addresses.intervals import Column, flatten
from cartography.addresses.prefixes import BITS, read_prefix
from cartography.ranges.range_file import RangeEntry, RangeFile
from cartography.ranges.regions import all_regions
from cartography.ranges.sanity_rules import find_violation

# Of more than a thousand pairs of neighbouring versions three lost more than a tenth, all of them
# genuine, and none lost a third.
_USUAL_SHARE = 0.9
_KEPT_SHARE = 2 / 3
# What is plausible for a week is not for years: the share that has to be left halves.
_HALVED_DAYS = 183
# Within three months no provider has grown by more than a fourth in any version that was seen.
_GROWN_SHARE = 1.5
_SOON_DAYS = 92
# A short list may double by one block.
_MANY_ROWS = 100
_FEW_ROWS = 3
# Private, loopback and multicast addresses: no provider rents them out. 240.0.0.0/4 is
# not among them: the clouds of the testbed live there.
_UNUSABLE = tuple(
    map(
        read_prefix,
        ("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
        + ("224.0.0.0/4", "fc00::/7", "fe80::/10", "ff00::/8"),
    )
)


@dataclass(frozen=True, slots=True)
class Assessment:
    """``refusal`` is the evidence of damage, ``None`` for an accepted file; ``warnings`` are for
    unusual content of an accepted file."""

    refusal: str | None = None
    warnings: tuple[str, ...] = ()


def assess_file(new: RangeFile, old: RangeFile | None = None) -> Assessment:
    """Assess ``new`` against ``old``, the previous version, if there is one."""
    refusal = (
        new.doubt or _find_unusable(new) or find_violation(new) or _find_misspelt_region(new, old)
    )
    if not refusal and old:
        refusal = _find_truncation(new, old) or _find_damaging_change(new, old)
    if refusal:
        return Assessment(refusal)
    lost = _compare_sizes(new, old, _USUAL_SHARE) if old else None
    unknown = _name_unknown_regions(new, old)
    return Assessment(warnings=tuple(text for text in (lost, unknown) if text))


def count_addresses(file: RangeFile, family: int = 4) -> int:
    """How many addresses of a family the prefixes hold, each counted once."""
    distinct = {read_prefix(prefix) for prefix in {e.prefix for e in file.entries}}
    rows = [(first, length) for own, first, length in distinct if own == family]
    firsts = Column.of(family, (first for first, _ in rows))
    found = flatten(firsts, np.array([length for _, length in rows], dtype=np.uint8)).intervals
    edges = [*found.starts.numbers(), 1 << BITS[family]]
    held = found.labels >= 0
    return sum(edges[i + 1] - edges[i] for i in np.flatnonzero(held).tolist())


def _find_unusable(file: RangeFile) -> str | None:
    for entry in file.entries:
        family, first, _ = read_prefix(entry.prefix)
        for own, start, length in _UNUSABLE:
            if family == own and (first ^ start) >> (BITS[family] - length) == 0:
                return f"{entry.prefix} is private or reserved, and no provider publishes such"
    return None


def _find_damaging_change(new: RangeFile, old: RangeFile) -> str | None:
    age_days = max(0, (new.as_of - old.as_of).days)
    least_share = _KEPT_SHARE * 0.5 ** (age_days / _HALVED_DAYS)
    is_soon = age_days <= _SOON_DAYS and len(old.entries) >= _MANY_ROWS
    found = _compare_sizes(new, old, least_share, _GROWN_SHARE if is_soon else None)
    return found or (None if new.edition or old.edition else _find_character_change(new, old))


def _compare_sizes(
    new: RangeFile, old: RangeFile, least_share: float, most_share: float | None = None
) -> str | None:
    """The first figure that is outside of these shares of what it was."""
    sizes = [
        ("IPv4 addresses", count_addresses(old), count_addresses(new)),
        ("regions", old.counts["regions"], new.counts["regions"]),
    ]
    if _is_same_format(new, old):
        sizes.insert(0, ("entries", old.counts["entries"], new.counts["entries"]))
    for name, before, after in sizes:
        is_more = most_share and name != "regions" and after > before * most_share
        if after < before * least_share or is_more:
            return f"it has {after:,} {name}, and the table of {old.as_of} has {before:,}"
    return None


def _is_same_format(new: RangeFile, old: RangeFile) -> bool:
    # Azure's older list has a row for each prefix, its service tags one for each service.
    return bool(new.edition) == bool(old.edition)


def _find_truncation(new: RangeFile, old: RangeFile) -> str | None:
    """Rows that are missing from one place on to the end, while nearly all before it are there."""
    if not _is_same_format(new, old):
        return None
    rows = [*dict.fromkeys(map(_row, old.entries))]
    kept = {*map(_row, new.entries)}
    last = max((number for number, row in enumerate(rows, 1) if row in kept), default=0)
    n_kept = sum(row in kept for row in rows[:last])
    is_cut = last < len(rows) * _USUAL_SHARE and n_kept >= last * _USUAL_SHARE > 0
    if not is_cut or _row(new.entries[-1]) != rows[last - 1]:
        return None
    return (
        f"it ends before {rows[last].split()[0]}: it has {n_kept:,} of the {last:,} rows of the"
        f" table of {old.as_of} up to there, and none of the {len(rows) - last:,} behind"
    )


def _find_character_change(new: RangeFile, old: RangeFile) -> str | None:
    """What damage does to a list, and no provider does in earnest: the end is missing, or a few
    rows differ by one character each. A file with an edition has better evidence.
    """
    if new.entries == old.entries[: len(new.entries)] and len(new.entries) < len(old.entries):
        lost = old.entries[len(new.entries)]
        return f"it ends before {lost.prefix}, and is the table of {old.as_of} up to there"
    before, after = {*map(_row, old.entries)}, {*map(_row, new.entries)}
    was, now = sorted(before - after), sorted(after - before)
    if len(was) != len(now) or not 0 < len(now) <= _FEW_ROWS:
        return None
    pairs = [(a, b) for b in now for a in was if _differ_in_one_character(a, b)]
    if {b for _, b in pairs} != set(now):
        return None
    return f"it differs from the table of {old.as_of} by a slip: {pairs[0][1]}, not {pairs[0][0]}"


def _row(entry: RangeEntry) -> str:
    parts = (entry.prefix, entry.service, entry.region_as_published, entry.border_group)
    return " ".join(part for part in parts if part)


def _differ_in_one_character(before: str, after: str) -> bool:
    return len(before) == len(after) and sum(map(ne, before, after)) == 1


def _find_misspelt_region(new: RangeFile, old: RangeFile | None) -> str | None:
    """An unknown region of one row that is a known one but for one letter.

    Names of real regions differ by a digit (``us-east1``, ``us-east4``) or by a word.
    """
    known = _known_regions(new, old)
    for code in _unknown_single_row_regions(new, old):
        near = next((name for name in sorted(known) if _is_misspelt(name, code)), None)
        if near:
            return f"the region {code!r} is in one row alone, and is {near!r} but for one letter"
    return None


def _is_misspelt(known: str, code: str) -> bool:
    changed = [b for a, b in zip(known, code, strict=False) if a != b]
    return _differ_in_one_character(known, code) and not changed[0].isdigit()


def _name_unknown_regions(new: RangeFile, old: RangeFile | None) -> str | None:
    codes = _unknown_single_row_regions(new, old)
    if not codes:
        return None
    named = ", ".join(repr(code) for code in codes)
    return f"regions of one row that no table or catalogue had before: {named}"


def _unknown_single_row_regions(new: RangeFile, old: RangeFile | None) -> list[str]:
    rows = Counter(e.region for e in new.entries if e.region)
    catalogue = {row.code for row in all_regions(new.provider)}
    known = catalogue | {e.region for e in old.entries if e.region} if old else catalogue
    return sorted(code for code, count in rows.items() if count == 1 and code not in known)


def _known_regions(new: RangeFile, old: RangeFile | None) -> set[str]:
    found = {row.code for row in all_regions(new.provider)}
    rows = Counter(e.region for e in new.entries if e.region)
    found.update(code for code, count in rows.items() if count > 1)
    return found | {e.region for e in old.entries if e.region} if old else found
