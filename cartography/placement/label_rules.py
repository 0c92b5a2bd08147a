"""Derive the label of one prefix from its rows and from the prefixes that enclose it.

The rows may come from any number of files; the label is a placement without an address. See
``docs/methods/ranges.md``.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from cartography.ranges.range_file import RangeEntry
from core.providers import PROVIDER_BY_ID
from core.records import Placement
from core.statuses import AddressKind

# A collective service names only the owner of a block; it ranks behind every other service.
_COLLECTIVE_RANK = {
    (provider.id, service): rank
    for provider in PROVIDER_BY_ID.values()
    for service, rank in provider.collective_services.items()
}
_KIND_ORDER = {AddressKind.CLOUD: 0, AddressKind.CDN: 1, AddressKind.CORPORATE: 2}
# A row of a range file, and the date of the file.
Statement = tuple[RangeEntry, date]
_NOWHERE = -1


class Labeller:
    """Computes the label of a prefix once for each combination of statements.

    A table has tens of thousands of prefixes, but only a few hundred combinations of statements.
    """

    def __init__(self) -> None:
        self.meanings: list[Placement] = []
        self._position: dict[Placement, int] = {}
        # What was worked out: by the numbers of a prefix's rows and the meaning around it.
        self.known: dict[tuple[tuple[int, ...], int], tuple[int, bool]] = {}
        self._statements: list[Statement] = []
        self._number: dict[date, dict[tuple[Any, ...], int]] = {}

    def numbers(self, as_of: date) -> Callable[[RangeEntry], int]:
        """Return a function that numbers rows by their content, without the prefix."""
        numbered = self._number.setdefault(as_of, {})

        def number(entry: RangeEntry) -> int:
            stated = entry[1:]  # all but the prefix
            found = numbered.get(stated)
            if found is None:
                found = numbered[stated] = len(self._statements)
                self._statements.append((entry, as_of))
            return found

        return number

    def label(self, rows: tuple[int, ...], around: int) -> tuple[int, bool]:
        """The meaning of a prefix by the numbers of its rows and the meaning around it (-1 for
        none), and whether the prefix around it is the one that is shown."""
        found = self.known.get((rows, around))
        if found is None:
            outer = self.meanings[around] if around != _NOWHERE else None
            meaning, is_outer = _label([self._statements[n] for n in rows], outer)
            found = self.known[rows, around] = (self._intern(meaning), is_outer)
        return found

    def _intern(self, meaning: Placement) -> int:
        found = self._position.setdefault(meaning, len(self.meanings))
        if found == len(self.meanings):
            self.meanings.append(meaning)
        return found


def _label(rows: list[Statement], around: Placement | None) -> tuple[Placement, bool]:
    ordered = sorted(rows, key=_preference)
    shown, as_of = ordered[0]
    entries = [entry for entry, _ in ordered if entry.provider == shown.provider]
    services = tuple(dict.fromkeys(e.service for e in entries))
    if around and around.provider != shown.provider:
        around = None
    if around and _is_collective(shown.kind, around.kind):
        return replace(around, services=_join(around.services, services)), True
    region, published, group = _where(entries, around)
    meaning = Placement(
        address="",
        provider=shown.provider,
        service=shown.service,
        services=_join(services, around.services) if around else services,
        region=region,
        border_group=group,
        as_of=as_of,
        kind=shown.kind,
        region_as_published=published,
    )
    return meaning, False


def _is_collective(kind: AddressKind, around: AddressKind) -> bool:
    # "All of Google" cut into smaller pieces does not unsay that the block is rented out.
    return kind == AddressKind.CORPORATE and around != AddressKind.CORPORATE


def _join(first: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(first + more))


def _where(
    entries: list[RangeEntry], around: Placement | None
) -> tuple[str | None, str | None, str | None]:
    """Region, region as published and border group of one prefix."""
    # The collective entry comes last and is the provider's word on where a block is.
    regional = next((e for e in reversed(entries) if e.region), entries[0])
    group = next((e.border_group for e in entries if e.border_group), None)
    # A block that is published as global has no region, even within a regional one.
    if around is None or regional.region or regional.region_as_published:
        return regional.region, regional.region_as_published, group
    return around.region, around.region_as_published, group or around.border_group


def _preference(statement: Statement) -> tuple[int, int, str, str, int]:
    """Order of the rows of one prefix, the one that is shown first."""
    entry, as_of = statement
    return (
        _COLLECTIVE_RANK.get((entry.provider, entry.service), 0),
        _KIND_ORDER.get(entry.kind, 3),
        entry.provider,
        entry.service,
        -as_of.toordinal(),
    )
