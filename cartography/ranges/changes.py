"""Two versions of a provider's table: what changed, and whether the new one is to be believed.

In go two range files; out come added, removed and changed prefixes, or a reason for doubt.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from operator import ne

import numpy as np

from cartography.addresses import BITS, read_prefix
from cartography.intervals import Column, flatten
from cartography.ranges.customs import find_breach
from cartography.ranges.form import RangeEntry, RangeFile
from cartography.regions import region as region_of

# Providers rarely give up a tenth of what they hold between two versions; damaged files lose more.
_KEPT_SHARE = 0.9
# Within three months no provider has grown by more than a fourth in any version that was seen.
_GROWN_SHARE = 1.5
_SOON_DAYS = 92
# A short list may double by one block.
_MANY_ROWS = 100
_FEW_ROWS = 3


class ChangeKind(StrEnum):
    """What became of a prefix."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One prefix that is not the same in both versions, with what each says of it."""

    kind: ChangeKind
    prefix: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def compare(old: RangeFile, new: RangeFile) -> list[Change]:
    """Changes from one version to another, in the order of prefixes."""
    before, after = _statements(old), _statements(new)
    found = []
    for prefix in sorted(before.keys() | after.keys(), key=read_prefix):
        was, now = before.get(prefix, ()), after.get(prefix, ())
        if was != now:
            kind = ChangeKind.CHANGED if was and now else _one_sided(bool(now))
            found.append(Change(kind, prefix, was, now))
    return found


def _one_sided(is_new: bool) -> ChangeKind:
    return ChangeKind.ADDED if is_new else ChangeKind.REMOVED


def _statements(file: RangeFile) -> dict[str, tuple[str, ...]]:
    """What is said of each prefix: service, region, and border group where that is another."""
    rows: dict[str, set[str]] = {}
    for entry in file.entries:
        rows.setdefault(entry.prefix, set()).add(_statement(entry))
    return {prefix: tuple(sorted(said)) for prefix, said in rows.items()}


def _statement(entry: RangeEntry) -> str:
    region = entry.region or entry.region_as_published
    group = entry.border_group if entry.border_group != region else None
    return " ".join(part for part in (entry.service, region, group) if part)


def count_addresses(file: RangeFile, family: int = 4) -> int:
    """How many addresses of a family the prefixes hold, each counted once."""
    distinct = {read_prefix(prefix) for prefix in {e.prefix for e in file.entries}}
    rows = [(first, length) for own, first, length in distinct if own == family]
    firsts = Column.of(family, (first for first, _ in rows))
    found = flatten(firsts, np.array([length for _, length in rows], dtype=np.uint8)).intervals
    edges = [*found.starts.numbers(), 1 << BITS[family]]
    held = found.labels >= 0
    return sum(edges[i + 1] - edges[i] for i in np.flatnonzero(held).tolist())


def find_doubt(new: RangeFile, old: RangeFile | None) -> str | None:
    """Why a sound file is not to be believed, ``None`` when nothing speaks against it.

    It contradicts itself or its provider's customs; a region that nobody knows stands in one row
    alone; or, beside the version before, too much is lost or won, or a list differs by a slip.
    """
    stray = _stray_region(new, old)
    if stray:
        return f"the region {stray!r} stands in one row alone and was never heard of"
    return new.doubt or find_breach(new) or (_find_change(new, old) if old else None)


def _find_change(new: RangeFile, old: RangeFile) -> str | None:
    sizes = (
        ("entries", old.counts["entries"], new.counts["entries"]),
        ("IPv4 addresses", count_addresses(old), count_addresses(new)),
        ("regions", old.counts["regions"], new.counts["regions"]),
    )
    is_soon = (new.as_of - old.as_of).days <= _SOON_DAYS and len(old.entries) >= _MANY_ROWS
    for name, before, after in sizes:
        is_less = after < before * _KEPT_SHARE
        if is_less or (is_soon and name != "regions" and after > before * _GROWN_SHARE):
            return f"it has {after:,} {name}, and the table of {old.as_of} has {before:,}"
    return None if new.edition else _find_slip(new, old)


def _find_slip(new: RangeFile, old: RangeFile) -> str | None:
    """What damage does to a list, and no provider does in earnest: the end is missing, or a few
    rows differ by one character each. A file with an edition of its own has better evidence."""
    if new.entries == old.entries[: len(new.entries)] and len(new.entries) < len(old.entries):
        lost = old.entries[len(new.entries)]
        return f"it ends before {lost.prefix}, and is the table of {old.as_of} up to there"
    before, after = {*map(_row, old.entries)}, {*map(_row, new.entries)}
    was, now = sorted(before - after), sorted(after - before)
    if len(was) != len(now) or not 0 < len(now) <= _FEW_ROWS:
        return None
    pairs = [(a, b) for b in now for a in was if _is_slip(a, b)]
    if {b for _, b in pairs} != set(now):
        return None
    return f"it differs from the table of {old.as_of} by a slip: {pairs[0][1]}, not {pairs[0][0]}"


def _row(entry: RangeEntry) -> str:
    parts = (entry.prefix, entry.service, entry.region_as_published, entry.border_group)
    return " ".join(part for part in parts if part)


def _is_slip(before: str, after: str) -> bool:
    return len(before) == len(after) and sum(map(ne, before, after)) == 1


def _stray_region(new: RangeFile, old: RangeFile | None) -> str | None:
    rows = Counter(e.region for e in new.entries if e.region)
    known = {e.region for e in old.entries} if old else set()
    for code, count in rows.items():
        if count == 1 and code not in known and region_of(new.provider, code) is None:
            return code
    return None
