"""Monthly cost of a set of regions from an imported price table.

A row is ``region,to,price``: ``to`` is empty for running a deployment there for a month,
``internet`` for one GB to clients, another region for one GB sent there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from analysis.impact.assignment import Assignment
from analysis.impact.csv_tables import read_rows
from core.errors import BadInput

INTERNET = "internet"


@dataclass(frozen=True)
class Prices:
    """Prices in the table's own currency."""

    running: Mapping[str, float] = field(default_factory=dict)
    internet: Mapping[str, float] = field(default_factory=dict)
    between: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Traffic:
    """GB per month to all clients together, and from each region to each other one."""

    to_clients_gb: float = 0.0
    between_gb: float = 0.0

    def __post_init__(self) -> None:
        if not all(0 <= gb < float("inf") for gb in (self.to_clients_gb, self.between_gb)):
            raise BadInput("traffic is a number of GB from 0 up", field="traffic")


@dataclass(frozen=True, slots=True)
class Bill:
    """A month's cost; a part is None if a price that it needs is not in the table."""

    running: float | None
    to_clients: float | None
    between: float | None
    unknown: tuple[str, ...]

    @property
    def total(self) -> float | None:
        """Return the sum, None where a part is unknown."""
        if self.running is None or self.to_clients is None or self.between is None:
            return None
        return self.running + self.to_clients + self.between


def read_prices(data: bytes) -> Prices:
    """Read a price table; raise BadInput naming the line or column."""
    running: dict[str, float] = {}
    internet: dict[str, float] = {}
    between: dict[tuple[str, str], float] = {}
    seen = set()
    for row in read_rows(data, "prices", ("region", "to", "price"), ()):
        region, to, price = row.need("region"), row.text("to"), row.number("price")
        if price is None:
            raise BadInput("prices: price is empty", line=row.line)
        if (region, to) in seen:
            raise BadInput(f"prices: a second price of {region!r} to {to!r}", line=row.line)
        seen.add((region, to))
        if not to:
            running[region] = price
        elif to == INTERNET:
            internet[region] = price
        else:
            between[region, to] = price
    return Prices(running, internet, between)


def bill(prices: Prices, serving: Assignment, traffic: Traffic) -> Bill:
    """Return what a set costs when each client is served from its home region."""
    names, unknown = serving.regions, []
    shares = serving.home_shares() * traffic.to_clients_gb
    needs = {
        "running": [(name, prices.running.get(name), 1.0) for name in names],
        "to_clients": [
            (f"{name} to {INTERNET}", prices.internet.get(name), float(gb))
            for name, gb in zip(names, shares, strict=True)
        ],
        "between": [
            (f"{a} to {b}", prices.between.get((a, b)), traffic.between_gb)
            for a in names
            for b in names
            if a != b
        ],
    }
    parts: dict[str, float | None] = {}
    for part, lines in needs.items():
        lacking = [name for name, price, amount in lines if price is None and amount]
        unknown += lacking
        total = sum(price * amount for _, price, amount in lines if price is not None)
        parts[part] = None if lacking else float(total)
    return Bill(parts["running"], parts["to_clients"], parts["between"], tuple(unknown))
