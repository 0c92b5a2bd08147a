"""What became of each file: rows, bytes and flows by cloud, and what could not be read."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cartography.flows.tally import Tally
from cartography.flows.typed import Typed


@dataclass
class Sum:
    """Rows, flows and bytes; ``bytes`` is ``None`` where no log has said any."""

    rows: int = 0
    flows: int = 0
    bytes: int | None = None

    def add(self, rows: int, flows: int, n_bytes: int | None) -> None:
        self.rows += rows
        self.flows += flows
        if n_bytes is not None:
            self.bytes = (self.bytes or 0) + n_bytes

    def as_json(self) -> dict[str, int | None]:
        return {"rows": self.rows, "bytes": self.bytes, "flows": self.flows}


@dataclass
class Account:
    """One file: rows by kind, sums by provider, and what was left out."""

    path: str
    tally: Tally
    damage: str = ""
    kinds: dict[str, int] = field(default_factory=dict)
    clouds: dict[str, Sum] = field(default_factory=dict)
    # Providers' own services, which are no cloud: nobody rents them.
    corporate: dict[str, Sum] = field(default_factory=dict)
    elsewhere: Sum = field(default_factory=Sum)
    without_time: int = 0
    first_hour: int | None = None
    last_hour: int | None = None

    @property
    def rows(self) -> int:
        return sum(self.kinds.values())

    def add(self, kind: str, typed: Typed, providers: tuple[str, ...]) -> None:
        """Count accepted rows; flows of logs other than ``conn`` are counted by key, later."""
        self.kinds[kind] = self.kinds.get(kind, 0) + len(typed)
        if kind == "x509":
            return
        self._add_hours(typed)
        for number in np.unique(typed.provider).tolist():
            for is_cloud in (True, False):
                own = (typed.provider == number) & (typed.is_cloud == is_cloud)
                if own.any():
                    self._add_rows(kind, typed, own, self._place(providers, number, is_cloud))

    def _place(self, providers: tuple[str, ...], number: int, is_cloud: bool) -> Sum:
        if number < 0:
            return self.elsewhere
        own = self.clouds if is_cloud else self.corporate
        return own.setdefault(providers[number], Sum())

    def _add_rows(self, kind: str, typed: Typed, own: Any, into: Sum) -> None:
        n_rows = int(own.sum())
        volume = None
        if typed.volume is not None:
            volume = pc.sum(typed.volume.filter(pa.array(own))).as_py()
        into.add(n_rows, n_rows if kind == "conn" else 0, volume)

    def _add_hours(self, typed: Typed) -> None:
        self.without_time += typed.hours.null_count
        span = pc.min_max(typed.hours).as_py()
        if span["min"] is not None:
            first, last = self.first_hour, self.last_hour
            self.first_hour = span["min"] if first is None else min(first, span["min"])
            self.last_hour = span["max"] if last is None else max(last, span["max"])
