"""Compare two versions of a provider's table: added, removed and changed prefixes."""

from dataclasses import dataclass
from enum import StrEnum

from cartography.addresses.prefixes import read_prefix
from cartography.ranges.range_file import RangeEntry, RangeFile


class ChangeKind(StrEnum):
    """What became of a prefix."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """A prefix that differs between two versions, with its statement in each."""

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
    """Statements on each prefix: service, region, and border group where that is another."""
    rows: dict[str, set[str]] = {}
    for entry in file.entries:
        rows.setdefault(entry.prefix, set()).add(_statement(entry))
    return {prefix: tuple(sorted(stated)) for prefix, stated in rows.items()}


def _statement(entry: RangeEntry) -> str:
    region = entry.region or entry.region_as_published
    group = entry.border_group if entry.border_group != region else None
    return " ".join(part for part in (entry.service, region, group) if part)
