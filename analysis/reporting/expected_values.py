"""What a published cell must hold at a scale where some domains keep their published size.

A world scales the published counts, but for the domains that the study names. A count is then that
of the named domains and, at the scale, of all others; a share is one such count in another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from core.denominators import wholes
from core.report_tables import Table


@dataclass(frozen=True, slots=True)
class Part:
    """What the named domains hold of a cell: a count, or the part of a share and its ``whole``.

    ``of`` is the same count over the whole survey.
    """

    count: float
    of: float
    whole: float = 0.0
    of_whole: float = 0.0


def expected_count(published: float, part: Part, scale: Fraction) -> float:
    """The count at ``scale`` if the named domains have theirs whole."""
    return part.count + (published - part.count) * float(scale)


def expected_share(published: float, part: Part, scale: Fraction) -> float:
    """The share at ``scale`` if the named domains have theirs whole.

    The published whole is what the survey's own is at scale 1/1.
    """
    at_one = part.whole + (part.of_whole - part.whole) / float(scale)
    return expected_count(published * at_one, part, scale) / part.of_whole


class Parts:
    """Cells of a survey's table beside those of its named domains, by row in words and column."""

    def __init__(self, table: Table, named: Table, keys: Sequence[str]) -> None:
        self._all = _Cells(table, keys)
        self._named = _Cells(named, keys)

    def of(self, key: tuple[Any, ...], column: str) -> Part | None:
        """The part of a cell, if the survey has the cell."""
        if not column.endswith("share"):
            found = self._all.value(key, column)
            return None if found is None else Part(self._named.value(key, column) or 0.0, found)
        share, whole = self._all.value(key, column), self._all.whole(key, column)
        if share is None or not whole:
            return None
        own = self._named.whole(key, column) or 0.0
        count = (self._named.value(key, column) or 0.0) * own
        return Part(round(count), round(share * whole), own, whole)


class _Cells:
    """Values and denominators of one table."""

    def __init__(self, table: Table, keys: Sequence[str]) -> None:
        self._rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        self._wholes = wholes(table.columns, self._rows)
        self._keys = [tuple(row[k] for k in keys) for row in self._rows]
        self._is_curve = "cumulative_share" in table.columns

    def value(self, key: tuple[Any, ...], column: str) -> float | None:
        at = self._at(key, exact=column != "cumulative_share")
        found = None if at is None else self._rows[at].get(column)
        return None if found is None else float(found)

    def whole(self, key: tuple[Any, ...], column: str) -> float | None:
        """The denominator: of the row, else of another one of its population."""
        group = [i for i, own in enumerate(self._keys) if own[:-1] == key[:-1] or len(own) < 2]
        at = self._at(key, exact=True)
        order = group if at is None else [at, *group]
        return next((float(w) for i in order if (w := self._wholes[i].get(column))), None)

    def _at(self, key: tuple[Any, ...], *, exact: bool) -> int | None:
        """The row of a key; of a curve, its last step up to there."""
        if not exact and self._is_curve:
            below = [
                i for i, own in enumerate(self._keys) if own[:-1] == key[:-1] and own[-1] <= key[-1]
            ]
            return below[-1] if below else None
        return next((i for i, own in enumerate(self._keys) if own == key), None)
