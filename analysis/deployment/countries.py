"""Relations of countries: by region, by top-level domain, and their continents."""

import tomllib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from analysis.deployment.cloud_names import Connection
from core.paths import FIXTURES

# Regions without any address have no code.
_LANDS = """
CREATE TEMP TABLE region_countries AS
  SELECT TRY_CAST(provider AS provider_code) AS provider,
    TRY_CAST(region AS region_code) AS region, country FROM named_region_countries
"""


@lru_cache(maxsize=2)
def _document(name: str) -> dict[str, Any]:
    return tomllib.loads((FIXTURES / name).read_text(encoding="utf-8"))


def continents() -> dict[str, str]:
    """Continent by country code."""
    listed = _document("countries.toml")["continents"]
    return {country: continent for continent, codes in listed.items() for country in codes}


@lru_cache(maxsize=1)
def country_names() -> dict[str, str]:
    """Country by its English names, in folded case."""
    listed = _document("countries.toml")["names"]
    return {name.casefold(): code for code, names in listed.items() for name in names.split("|")}


def country_name(code: str) -> str:
    """Return the first English name of a country; its code where it is not listed."""
    names: str = _document("countries.toml")["names"].get(code, code)
    return names.split("|")[0]


def top_level_countries() -> dict[str, str]:
    """Country by top-level domain, without those that are used all over the world."""
    document = _document("countries.toml")
    own = {country.lower(): country for country in continents()} | document["top-level"]
    generic = set(document["generic"]["labels"])
    return {label: country for label, country in own.items() if label not in generic}


def region_countries() -> dict[tuple[str, str], str]:
    """Country by (provider, region)."""
    return {
        (provider, code): row["country"]
        for provider, rows in _document("regions.toml").items()
        for code, row in rows.items()
    }


def region_places() -> dict[tuple[str, str], tuple[str, tuple[float, float] | None]]:
    """Country, and latitude and longitude where they are listed, by (provider, region)."""
    return {
        (provider, code): (row["country"], tuple(row["at"]) if "at" in row else None)
        for provider, rows in _document("regions.toml").items()
        for code, row in rows.items()
    }


def name_countries(connection: Connection) -> None:
    """Add ``region_countries`` (provider, region, country), ``tlds`` (tld, country) and
    ``continents``."""
    lands = [(*key, country) for key, country in region_countries().items()]
    _add(connection, "named_region_countries", ("provider", "region", "country"), lands)
    connection.execute(_LANDS)
    _add(connection, "tlds", ("tld", "country"), list(top_level_countries().items()))
    _add(connection, "continents", ("country", "continent"), list(continents().items()))


def _add(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    arrays = [pa.array(column) for column in zip(*rows, strict=True)]
    connection.register("given", pa.table(arrays, names=list(columns)))
    connection.execute(f"CREATE TEMP TABLE {table} AS FROM given")
    connection.unregister("given")
