"""Notation of clients: ``DE`` is a country, ``DE/Berlin`` a city, ``DE/AS64500`` a network."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from analysis.deployment.countries import continents, country_names

MAX_CITY = 80
LAST_ASN = (1 << 32) - 1
_ASN = re.compile(r"AS([0-9]{1,20})", re.IGNORECASE)
# Codes that other lists use.
ALIASES = {"UK": "GB", "EL": "GR"}


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A country, or a city or network of it."""

    country: str
    city: str = ""
    asn: int | None = None

    def __str__(self) -> str:
        if self.asn is not None:
            return f"{self.country}/AS{self.asn}"
        return f"{self.country}/{self.city}" if self.city else self.country


def read_key(text: str) -> ClientKey:
    """Parse a client; the country may be its English name. Raise ``ValueError`` with the reason."""
    code, slash, rest = (part.strip() for part in text.partition("/"))
    if _ASN.fullmatch(code) and not slash:
        raise ValueError(f"the network {code} needs its country, such as DE/{code.upper()}")
    country = read_country(code)
    if country is None:
        raise ValueError(f"{code[:60]!r} is not a known country")
    if not slash:
        return ClientKey(country)
    found = _ASN.fullmatch(rest)
    if found:
        if int(found[1]) > LAST_ASN:
            raise ValueError(f"{rest} is not an AS number")
        return ClientKey(country, asn=int(found[1]))
    if not rest or len(rest) > MAX_CITY or not rest.isprintable():
        raise ValueError(f"{text[:60]!r} names neither a city nor a network behind its country")
    return ClientKey(country, city=rest)


def country_of(key: str) -> str:
    """Return the country of a client as it is written."""
    return key.partition("/")[0]


def read_country(text: str) -> str | None:
    """Return the code of a country by its code or English name; ``None`` for an unknown one."""
    plain = " ".join(text.split())
    code = ALIASES.get(plain.upper(), plain.upper())
    if len(code) == 2 and code in continents():
        return code
    return country_names().get(plain.casefold())


def merge_smallest(weights: Mapping[str, float], max_clients: int) -> dict[str, float]:
    """Return at most ``max_clients`` clients and the countries: the lightest cities and networks
    are counted under their country."""
    if len(weights) <= max_clients:
        return dict(weights)
    parts = sorted((key for key in weights if "/" in key), key=lambda key: (-weights[key], key))
    kept = set(parts[: max(0, max_clients - (len(weights) - len(parts)))])
    found: dict[str, float] = {}
    for key, weight in weights.items():
        name = key if key in kept else country_of(key)
        found[name] = found.get(name, 0.0) + weight
    return found
