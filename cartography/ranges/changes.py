"""Two versions of a provider's table: what changed, and whether the new one is to be believed.

In go two range files; out come added, removed and changed prefixes, or a reason for doubt.
"""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cartography.addresses import BITS, read_prefix
from cartography.intervals import Column, flatten
from cartography.ranges.form import RangeEntry, RangeFile
from cartography.regions import region as region_of

# Providers rarely give up a tenth of what they hold between two versions; damaged files lose more.
_KEPT_SHARE = 0.9


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

    A region that nobody knows and one row alone names is damage; so is the loss of a tenth of
    the rows, addresses or regions of the version before.
    """
    stray = _stray_region(new, old)
    if stray:
        return f"the region {stray!r} stands in one row alone and was never heard of"
    if old is None:
        return None
    sizes = (
        ("entries", old.counts["entries"], new.counts["entries"]),
        ("IPv4 addresses", count_addresses(old), count_addresses(new)),
        ("regions", old.counts["regions"], new.counts["regions"]),
    )
    for name, before, after in sizes:
        if after < before * _KEPT_SHARE:
            return f"it has {after:,} {name}, and the table of {old.as_of} has {before:,}"
    return None


def _stray_region(new: RangeFile, old: RangeFile | None) -> str | None:
    rows = Counter(e.region for e in new.entries if e.region)
    known = {e.region for e in old.entries} if old else set()
    for code, count in rows.items():
        if count == 1 and code not in known and region_of(new.provider, code) is None:
            return code
    return None
