"""IMC'13 Tables 3 and 4: bytes and flows by cloud, and by protocol within each cloud."""

from collections import Counter
from typing import Any

from analysis.traffic.confidence_intervals import N_GROUPS, Interval, find_intervals
from analysis.traffic.dns_join import Connection
from analysis.traffic.tables import PROTOCOLS, TOTAL, Row, fill
from core.providers import PROVIDERS
from core.report_tables import Table, share

# The two clouds of the study are always shown.
_ALWAYS = ("aws", "azure")
_CELLS = f"""
SELECT provider, protocol, (hash(client) % {N_GROUPS})::INT, coalesce(sum(bytes), 0)::BIGINT,
  count(*), count(*) FILTER (bytes IS NULL)
FROM opened GROUP BY ALL
"""
_CLIENTS = "SELECT provider, count(DISTINCT client) FROM opened GROUP BY ROLLUP (provider)"


class Cells:
    """Bytes and flows by cloud, protocol and group of clients; read once for both tables."""

    def __init__(self, connection: Connection) -> None:
        self._rows: list[tuple[Any, ...]] = connection.execute(_CELLS).fetchall()
        self.clients: dict[str, int] = {
            provider or TOTAL: n for provider, n in connection.execute(_CLIENTS).fetchall()
        }
        present = {row[0] for row in self._rows}
        self.providers = [p for p in PROVIDERS if p in present or p in _ALWAYS]

    def sums(self, measure: int, by: str, provider: str = TOTAL) -> Counter[tuple[int, str]]:
        """Sums of bytes (0), flows (1) or flows of unknown size (2) by group and cell."""
        found: Counter[tuple[int, str]] = Counter()
        for row in self._rows:
            if provider in (TOTAL, row[0]):
                found[row[2], row[0] if by == "provider" else row[1]] += row[3 + measure]
        return found

    def measure(self, measure: int, by: str, provider: str = TOTAL) -> "Measure":
        """One column of a table with its shares and intervals."""
        sums = self.sums(measure, by, provider)
        return Measure(sums, self.clients.get(provider, 0))


class Measure:
    """Sums of cells, their shares of all, and how far those may be off."""

    def __init__(self, sums: Counter[tuple[int, str]], n_clients: int) -> None:
        self.values: Counter[str] = Counter()
        for (_, cell), value in sums.items():
            self.values[cell] += value
        self.whole = sum(self.values.values())
        self._intervals = find_intervals(sums, n_clients)

    def cells(self, name: str) -> Row:
        """Value, share, low and high of one cell."""
        value = self.values[name]
        low, high = self._interval(name)
        return value, share(value, self.whole), low, high

    def total(self) -> Row:
        return self.whole, share(self.whole, self.whole), None, None

    def _interval(self, name: str) -> Interval:
        return self._intervals.get(name, (None, None))


def clouds(cells: Cells) -> Table:
    """Table 3: each cloud's part of the bytes and flows that clients inside opened."""
    n_bytes, flows = cells.measure(0, "provider"), cells.measure(1, "provider")
    unsized = cells.measure(2, "provider")
    rows: list[Row] = [
        (
            provider,
            *n_bytes.cells(provider),
            *flows.cells(provider),
            cells.clients.get(provider, 0),
            unsized.values[provider],
        )
        for provider in cells.providers
    ]
    clients = cells.clients.get(TOTAL, 0)
    rows.append((TOTAL, *n_bytes.total(), *flows.total(), clients, unsized.whole))
    return fill("traffic-clouds", rows, flows.whole)


def protocols(cells: Cells) -> Table:
    """Table 4: each protocol's part of a cloud's bytes and flows, and of all."""
    rows: list[Row] = []
    for provider in (*cells.providers, TOTAL):
        n_bytes, flows = (cells.measure(m, "protocol", provider) for m in (0, 1))
        for protocol in PROTOCOLS:
            rows.append((provider, protocol, *n_bytes.cells(protocol), *flows.cells(protocol)))
    return fill("traffic-protocols", rows, cells.measure(1, "provider").whole)
