"""Country and city of addresses: import of geofeeds and tables of ranges, and the table in
force."""

from datetime import date
from typing import Any

from django.utils import timezone

from cartography.geolocation.files import Point, read_places
from cartography.geolocation.tables import PlaceTable
from core.errors import MissingData
from webapp.store.models import RangeTable
from webapp.store.ranges.asn_choice import GEOLOCATION
from webapp.store.ranges.compiled import place_table_of
from webapp.store.ranges.tables import date_in_name, in_force_on, store_file, versions

IMPORT_HINT = "import one with: manage.py geolocation import FILE"


def import_file(data: bytes, *, as_of: date | None = None, file_name: str = "") -> RangeTable:
    """Check a file and put it beside the older ones; raise ``BadInput`` naming the line."""
    file = read_places(data)
    # Compiled here, so that ranges that overlap are refused before anything is stored.
    PlaceTable.build(file)
    rows = file.ranges or file.prefixes
    n_ipv6 = sum(row[0] == 6 for row in rows)
    counts = {
        "entries": len(rows),
        "ipv4": len(rows) - n_ipv6,
        "ipv6": n_ipv6,
        "countries": len({place.country for place in file.places}),
        "cities": len({(place.country, place.city) for place in file.places if place.city}),
    }
    when = as_of or date_in_name(file_name) or timezone.now().date()
    return store_file(GEOLOCATION, data, when, "", counts, "")


def tables() -> list[RangeTable]:
    """All tables, oldest first."""
    return versions(GEOLOCATION)


def table_in_force(as_of: date | None = None) -> tuple[RangeTable, PlaceTable]:
    """The newest table, not newer than a day; raise ``MissingData`` when there is none."""
    row = in_force_on(tables(), as_of)
    if row is None:
        when = f" as of {as_of}" if as_of else ""
        raise MissingData(f"there is no table of the countries of addresses{when}; {IMPORT_HINT}")
    return row, place_table_of(row)


def lookup(addresses: list[str], as_of: date | None = None) -> list[dict[str, Any]]:
    """Country and city of each address, ``None`` where the table has none."""
    row, table = table_in_force(as_of)
    found = []
    for address in addresses:
        place = table.find(address)
        found.append(
            {
                "address": address,
                "country": place.country if place else None,
                "city": (place.city or None) if place else None,
                "as_of": str(row.as_of),
            }
        )
    return found


def city_points() -> dict[tuple[str, str], Point]:
    """Coordinates by country and city, as far as the table in force has them."""
    row = in_force_on(tables(), None)
    if row is None:
        return {}
    places = place_table_of(row).places
    return {(p.country, p.city): p.at for p in places if p.city and p.at}
