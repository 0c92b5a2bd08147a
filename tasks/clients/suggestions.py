"""Suggest clients by the beginning of a name: known countries, cities and networks."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache

from analysis.deployment.countries import continents, country_name, country_names
from core.errors import MissingData
from webapp.store.models import VantagePoint
from webapp.store.ranges import asn, geolocation

MIN_LETTERS, MAX_LETTERS = 1, 60
MAX_EACH = 8
# A name of a network ends with its country in the usual lists: "DTAG Deutsche Telekom AG, DE".
_HOME = re.compile(r"^(.*),\s*([A-Z]{2})$")
_NUMBER = re.compile(r"(?:as)?([0-9]{1,10})")


# The newest imported names, and their rows.
_imported: list[tuple[object, list[tuple[int, str, str, str]]]] = []


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A client as ``audience`` takes it, its kind, and its name."""

    client: str
    kind: str
    name: str


def suggest(text: str) -> list[Suggestion]:
    """Return countries, then cities, then networks with names that begin with a text."""
    query = " ".join(text.split())[:MAX_LETTERS].casefold()
    if len(query) < MIN_LETTERS:
        return []
    return [*_countries(query), *_cities(query), *_networks(query)]


def _countries(query: str) -> list[Suggestion]:
    codes = [code for code in continents() if code.casefold() == query]
    codes += [code for name, code in sorted(country_names().items()) if name.startswith(query)]
    found = [Suggestion(code, "country", country_name(code)) for code in dict.fromkeys(codes)]
    return found[:MAX_EACH]


def _cities(query: str) -> list[Suggestion]:
    try:
        table = geolocation.table_in_force()[0].sha256
    except MissingData:
        table = ""
    rows = _city_names(table)
    rows = sorted({*_with_prefix(rows, query), *_with_prefix(_vantage_cities(), query)})
    return [
        Suggestion(f"{country}/{city}", "city", f"{city}, {country_name(country)}")
        for _, country, city in rows[:MAX_EACH]
    ]


def _with_prefix(rows: list[tuple[str, str, str]], query: str) -> list[tuple[str, str, str]]:
    first = bisect_left(rows, (query,))
    return [row for row in rows[first : first + MAX_EACH] if row[0].startswith(query)]


@lru_cache(maxsize=2)
def _city_names(sha256: str) -> list[tuple[str, str, str]]:
    """Folded name, country and name of the cities of the table in force."""
    if not sha256:
        return []
    places = geolocation.table_in_force()[1].places
    return sorted({(p.city.casefold(), p.country, p.city) for p in places if p.city})


def _vantage_cities() -> list[tuple[str, str, str]]:
    points = VantagePoint.objects.order_by().exclude(city="").exclude(country="")
    pairs = points.values_list("country", "city").distinct()
    return sorted((city.casefold(), country, city) for country, city in pairs)


def _networks(query: str) -> list[Suggestion]:
    number = _NUMBER.fullmatch(query)
    found: dict[str, Suggestion] = {}
    for asn_number, country, name, folded in _network_names():
        is_same = number and str(asn_number).startswith(number[1])
        if is_same or (not number and query in folded):
            client = f"{country}/AS{asn_number}"
            label = f"AS{asn_number} {name}, {country_name(country)}"
            found.setdefault(client, Suggestion(client, "network", label))
            if len(found) == MAX_EACH:
                break
    return list(found.values())


def _network_names() -> list[tuple[int, str, str, str]]:
    """Number, country, name and folded name: of the imported names, and of vantage points."""
    points = VantagePoint.objects.order_by("asn").exclude(asn=None).exclude(country="")
    rows = points.values_list("asn", "country", "provider").distinct()
    own = [(n, country, name, name.casefold()) for n, country, name in rows if n]
    return own + _imported_names()


def _imported_names() -> list[tuple[int, str, str, str]]:
    """Imported names that end with a country; made again when others are imported."""
    names = asn.as_names()
    if not _imported or _imported[0][0] is not names:
        found = []
        for number, name in sorted(names.items()):
            match = _HOME.match(name)
            if match and match[2] in continents():
                found.append((number, match[2], match[1], match[1].casefold()))
        _imported[:] = [(names, found)]
    return _imported[0][1]
