"""Choose the table of origin ASes: the newest that is not merely a part of what there is."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from webapp.store.models import RangeTable
from webapp.store.ranges.compiled import origin_table_of

# Files of origin ASes are kept beside the providers' under this word.
ORIGINS = "asn"
# So are tables of the countries and cities of addresses.
GEOLOCATION = "geolocation"
# Neither is a list of cloud ranges.
NOT_CLOUDS = (ORIGINS, GEOLOCATION)
# Variant of tables that are partial by their file name.
SAMPLE = "sample"
_SAMPLE_NAME = re.compile(r"(?i)(?<![a-z])(sample|excerpt|extract|subset|example|demo)(?![a-z])")
# The number of announced prefixes grew twentyfold in a quarter of a century, and never fell.
_PART_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Choice:
    """The table that is used, and newer ones that are not because they are only a part."""

    table: RangeTable
    passed_over: tuple[RangeTable, ...] = ()

    def describe(self) -> str:
        """Which table is used and why."""
        kind = "a sample" if self.table.variant == SAMPLE else "the newest"
        text = f"origin ASes are those of {_words(self.table)}"
        if not self.passed_over:
            return f"{text}, {kind}"
        newer = ", ".join(map(_words, self.passed_over))
        return f"{text}; not used is what is newer, but only a part: {newer}"


def _words(table: RangeTable) -> str:
    return f"{table.as_of} ({table.counts['entries']:,} entries)"


def variant_of(file_name: str) -> str:
    """The variant of a table by the name of its file."""
    return SAMPLE if _SAMPLE_NAME.search(file_name) else ""


def choose(day: date | None = None, family: int = 4) -> Choice | None:
    """The table in force on a day for addresses of a family; ``None`` without any."""
    rows = RangeTable.objects.filter(provider=ORIGINS, origin="", variant__in=("", SAMPLE))
    if day is not None:
        rows = rows.filter(as_of__lte=day)
    found = list(rows.order_by("as_of", "imported_at", "id"))
    whole = [row for row in found if row.variant != SAMPLE] or found
    if not whole:
        return None
    least = _PART_SHARE * max(_size(row, family) for row in whole)
    chosen = next(row for row in reversed(whole) if _size(row, family) >= least)
    return Choice(chosen, tuple(found[found.index(chosen) + 1 :]))


def _size(row: RangeTable, family: int) -> int:
    return int(row.counts.get(f"ipv{family}", 0))


def origins_of(addresses: Sequence[str], as_of: date | None = None) -> list[tuple[int, ...]] | None:
    """Origin ASes of each address by the tables in force, ``None`` when there is no table."""
    four, six = choose(as_of, 4), choose(as_of, 6)
    if four is None or six is None:
        return None
    found = origin_table_of(four.table).find_many(addresses)
    if four.table == six.table:
        return found
    rows = [row for row, address in enumerate(addresses) if ":" in address]
    own = origin_table_of(six.table).find_many([addresses[row] for row in rows])
    for row, origins in zip(rows, own, strict=True):
        found[row] = origins
    return found
