"""Choose the address table of each row: the one in force on the day of the row."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cartography.placement.cloud_table import PrefixTable
from cartography.traffic.address_cache import AddressCache, LabelArrays, LocalNetworks
from cartography.traffic.text_columns import HOUR_S, read_hours

_KEPT_TABLES = 3
TableAndCache = tuple[LabelArrays, AddressCache]


class TablesByDate:
    """Tables by day. ``changes`` are the days on which another table comes into force; rows
    without a time are placed by the newest one."""

    def __init__(
        self,
        table_of: Callable[[date | None], PrefixTable],
        changes: Sequence[date],
        providers: Sequence[str],
        inside: LocalNetworks,
    ) -> None:
        self.providers = tuple(providers)
        self._inside = inside
        self._days = sorted(changes)
        self._edges = np.array([_hour_of(day) for day in self._days], dtype=np.int64)
        self._table_of = table_of
        self._map = lru_cache(maxsize=_KEPT_TABLES)(self._open)

    def _open(self, period: int) -> TableAndCache:
        """The table of a period; the one before the first change is that of the day before."""
        day = self._days[period - 1] if period else date.min
        table = self._table_of(None if period == len(self._days) else day)
        return LabelArrays.of(table, self.providers), AddressCache(table, self._inside)

    def split(self, raw: pa.Table) -> list[tuple[TableAndCache, pa.Table]]:
        """The rows by the table that holds for them: nearly always one."""
        if not self._days or "ts" not in raw.column_names:
            return [(self._map(len(self._days)), raw)]
        periods = self._periods(read_hours(raw["ts"]))
        distinct = np.unique(periods).tolist()
        if len(distinct) == 1:
            return [(self._map(distinct[0]), raw)]
        return [(self._map(p), raw.filter(pa.array(periods == p))) for p in distinct]

    def _periods(self, hours: pa.Array) -> NDArray[np.int64]:
        far = self._edges[-1] + 1
        known = hours.cast(pa.int64()).fill_null(int(far)).to_numpy()
        return np.asarray(np.searchsorted(self._edges, known, side="right"))


def _hour_of(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) // HOUR_S
