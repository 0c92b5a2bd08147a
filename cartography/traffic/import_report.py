"""What became of each file: rows, bytes and flows by cloud, and what could not be read."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartography.traffic.error_counts import ErrorCounts
from cartography.traffic.lake_rows import TypedRows


@dataclass
class TrafficCounts:
    """Rows, flows and bytes; ``bytes`` is ``None`` where no log has the column."""

    rows: int = 0
    flows: int = 0
    bytes: int | None = None

    def add(self, rows: int, flows: int, n_bytes: int | None) -> None:
        """Count some more."""
        self.rows += rows
        self.flows += flows
        if n_bytes is not None:
            self.bytes = (self.bytes or 0) + n_bytes

    def as_json(self) -> dict[str, int | None]:
        return {"rows": self.rows, "bytes": self.bytes, "flows": self.flows}


class Sums:
    """Sums by provider, separate for the log of connections and for all others: a connection and
    its requests report the same bytes.
    """

    def __init__(self) -> None:
        self._conn: dict[str, TrafficCounts] = {}
        self._other: dict[str, TrafficCounts] = {}

    def of(self, kind: str, provider: str) -> TrafficCounts:
        """The sum to add to."""
        own = self._conn if kind == "conn" else self._other
        return own.setdefault(provider, TrafficCounts())

    def total(self) -> dict[str, TrafficCounts]:
        """Rows of all kinds; bytes and flows of connections, where there is a log of them."""
        found = {}
        for provider in {**self._conn, **self._other}:
            other = self._other.get(provider, TrafficCounts())
            best = self._conn.get(provider, TrafficCounts()) if self._conn else other
            n_rows = other.rows + (best.rows if self._conn else 0)
            found[provider] = TrafficCounts(n_rows, best.flows, best.bytes)
        return found


@dataclass
class LogReport:
    """One file: rows by kind, sums by provider, and what was left out."""

    path: str
    tally: ErrorCounts
    is_capture: bool = False
    damage: str = ""
    kinds: dict[str, int] = field(default_factory=dict)
    clouds: Sums = field(default_factory=Sums)
    # Providers' own services, which are no cloud: they cannot be rented.
    corporate: Sums = field(default_factory=Sums)
    elsewhere: Sums = field(default_factory=Sums)
    without_time: int = 0
    first_hour: int | None = None
    last_hour: int | None = None

    @property
    def rows(self) -> int:
        return self.kinds.get("conn", 0) if self.is_capture else sum(self.kinds.values())

    @property
    def has_connections(self) -> bool:
        """Whether it lists connections, so that other rows add no further ones."""
        return "conn" in self.kinds

    def add(self, kind: str, typed: TypedRows, providers: tuple[str, ...]) -> None:
        """Count accepted rows; flows of logs other than ``conn`` are counted by key, later."""
        self.kinds[kind] = self.kinds.get(kind, 0) + len(typed)
        # Rows that were made of a capture's connections are no rows of a log.
        if kind == "x509" or (self.is_capture and kind != "conn"):
            return
        self._add_hours(typed)
        for number in np.unique(typed.provider).tolist():
            for is_cloud in (True, False):
                own = (typed.provider == number) & (typed.is_cloud == is_cloud)
                if own.any():
                    self._add_rows(kind, typed, own, self._place(kind, providers, number, is_cloud))

    def _place(
        self, kind: str, providers: tuple[str, ...], number: int, is_cloud: bool
    ) -> TrafficCounts:
        if number < 0:
            return self.elsewhere.of(kind, "")
        return (self.clouds if is_cloud else self.corporate).of(kind, providers[number])

    def _add_rows(self, kind: str, typed: TypedRows, own: Any, into: TrafficCounts) -> None:
        n_rows = int(own.sum())
        volume = None
        if typed.volume is not None:
            volume = pc.sum(typed.volume.filter(pa.array(own))).as_py()
        into.add(n_rows, n_rows if kind == "conn" else 0, volume)

    def _add_hours(self, typed: TypedRows) -> None:
        self.without_time += typed.hours.null_count
        span = pc.min_max(typed.hours).as_py()
        if span["min"] is not None:
            first, last = self.first_hour, self.last_hour
            self.first_hour = span["min"] if first is None else min(first, span["min"])
            self.last_hour = span["max"] if last is None else max(last, span["max"])
