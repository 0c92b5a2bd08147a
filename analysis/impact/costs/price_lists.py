"""Dated lists of public prices, by provider and region; a list of one's own replaces entries."""

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any

from analysis.impact.prices import Prices
from core.errors import BadInput
from core.paths import FIXTURES

# Hours of a month, as providers count them: 365 days by 24 hours by a twelfth.
HOURS_PER_MONTH = 730
AMOUNTS = ("compute", "internet", "between")
MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RegionPrice:
    """Prices of one region: compute by the hour, traffic by the GB; with date and source."""

    provider: str
    compute: float
    internet: float
    between: float
    as_of: date
    source: str
    is_approximate: bool = False

    @property
    def month(self) -> float:
        """The price of one instance for a month, to the cent."""
        return round(self.compute * HOURS_PER_MONTH, 2)


@dataclass(frozen=True)
class PriceList:
    """Prices by ``provider/region``, in one currency."""

    currency: str
    regions: Mapping[str, RegionPrice] = field(default_factory=dict)

    def find(self, name: str) -> RegionPrice | None:
        """Return the prices of a region, named with its provider, or alone if only one has it."""
        key = name.lower()
        if "/" in key:
            return self.regions.get(key)
        found = [row for known, row in self.regions.items() if known.partition("/")[2] == key]
        return found[0] if len(found) == 1 else None

    def prices_of(self, names: Iterable[str]) -> Prices:
        """Return the prices of these regions; those that are not listed have none."""
        listed = {name: row for name in names if (row := self.find(name))}
        return Prices(
            running={name: row.month for name, row in listed.items()},
            internet={name: row.internet for name, row in listed.items()},
            between={(a, b): row.between for a, row in listed.items() for b in listed if a != b},
        )

    def replaced(self, other: "PriceList") -> "PriceList":
        """Return this list with the entries of another one in place; raise BadInput."""
        if other.currency != self.currency:
            raise BadInput(
                f"the price list is in {other.currency}, the listed prices in {self.currency}",
                field="price_list",
            )
        return PriceList(self.currency, {**self.regions, **other.regions})


@lru_cache(maxsize=1)
def listed_prices() -> PriceList:
    """Return the list of the project."""
    return read_price_list((FIXTURES / "prices.toml").read_bytes())


def read_price_list(data: bytes) -> PriceList:
    """Read a TOML price list; raise BadInput naming the entry."""
    document = _parse(data)
    day, currency = document.pop("as_of", None), document.pop("currency", "USD")
    if not isinstance(day, date):
        raise _bad("as_of = YYYY-MM-DD is missing: the date of the prices")
    if not isinstance(currency, str) or not currency:
        raise _bad("currency is a code such as USD")
    found: dict[str, RegionPrice] = {}
    for provider, part in document.items():
        if not isinstance(part, dict) or not isinstance(part.get("regions"), dict):
            raise _bad(f"[{provider}] has no table [{provider}.regions]")
        for code, row in part["regions"].items():
            where, source = f"{provider}.regions.{code}", str(part.get("source", ""))
            found[f"{provider}/{code}".lower()] = _read_region(provider, where, row, day, source)
    if not found:
        raise _bad("no region has prices")
    return PriceList(currency, found)


def _parse(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BYTES:
        raise _bad(f"more than {MAX_BYTES:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _bad(f"this is not TOML: {error}") from error


def _read_region(provider: str, where: str, row: Any, day: date, source: str) -> RegionPrice:
    if not isinstance(row, dict):
        raise _bad(f"{where} is not a table of {', '.join(AMOUNTS)}")
    if strange := sorted(set(row) - {*AMOUNTS, "approximate"}):
        raise _bad(f"{where}.{strange[0]} is unknown; known are {', '.join(AMOUNTS)}, approximate")
    amounts = []
    for name in AMOUNTS:
        value = row.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _bad(f"{where}.{name} is not a number")
        if not (math.isfinite(value) and value >= 0):
            raise _bad(f"{where}.{name} is not a price from 0 up")
        amounts.append(float(value))
    compute, internet, between = amounts
    is_approximate = bool(row.get("approximate", False))
    return RegionPrice(provider, compute, internet, between, day, source, is_approximate)


def _bad(reason: str) -> BadInput:
    return BadInput(f"price list: {reason}", field="price_list")
