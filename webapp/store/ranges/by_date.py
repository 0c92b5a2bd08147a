"""Range tables for logs of any age: those of the day, else the nearest that there are."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from cartography.placement.cloud_table import PrefixTable
from webapp.store.models import RangeTable
from webapp.store.ranges import tables


class Tables:
    """The imported tables by day; ``as_of`` sets one day for all rows.

    ``origin`` names an emulated world, the tables of which are used alone.
    """

    def __init__(self, as_of: date | None = None, origin: str = "") -> None:
        """Raises ``MissingData`` when there is no table at all."""
        tables.tables_in_force(origin)
        rows = RangeTable.objects.filter(origin=origin).exclude(provider__in=tables.NOT_CLOUDS)
        self._versions: dict[tuple[str, str], list[RangeTable]] = {}
        for row in rows.order_by("as_of", "imported_at", "id"):
            self._versions.setdefault((row.provider, row.variant), []).append(row)
        self._as_of = as_of
        self._used: dict[int, tuple[RangeTable, bool]] = {}

    @property
    def changes(self) -> list[date]:
        """The days on which another table comes into force."""
        if self._as_of:
            return []
        return sorted({row.as_of for rows in self._versions.values() for row in rows})

    def on(self, day: date | None) -> PrefixTable:
        """The table of a day, of today without one.

        Of each provider the newest version that is not newer than the day; if all versions
        of a provider are newer, its first one is used.
        """
        wanted = self._as_of or day
        chosen = [_choose(rows, wanted) for _, rows in sorted(self._versions.items())]
        for row in chosen:
            _, before = self._used.get(row.pk, (row, False))
            self._used[row.pk] = row, before or (wanted is not None and row.as_of > wanted)
        return tables.prefix_table(chosen)

    def used(self) -> list[dict[str, Any]]:
        """The versions that placed rows; ``is_later`` ones are newer than what they placed."""
        return [
            {
                "provider": row.provider,
                "variant": row.variant,
                "as_of": str(row.as_of),
                "sha256": row.sha256,
                "is_later": is_later,
            }
            for row, is_later in self._used.values()
        ]


def _choose(rows: Iterable[RangeTable], day: date | None) -> RangeTable:
    first, *others = rows
    return next((r for r in reversed(others) if day is None or r.as_of <= day), first)
