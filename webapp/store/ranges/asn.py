"""Origin ASes: import and lookup of route tables and lists of AS names."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from cartography.asn.files import read_origins
from cartography.asn.names import is_name_file, read_as_names
from cartography.asn.prefixes import Announced, OriginPrefixes, is_address
from core.errors import MissingData
from webapp.store.models import RangeTable
from webapp.store.object_storage import files
from webapp.store.ranges.asn_choice import ORIGINS, SAMPLE, Choice, choose
from webapp.store.ranges.tables import date_in_name, import_origins, in_force_on, store_file

IMPORT_HINT = "import one with: manage.py asn import FILE"
# Lists of names stand beside the route tables under this variant.
NAMES = "names"
KINDS = ("", SAMPLE, NAMES)


def import_file(data: bytes, *, as_of: date | None = None, file_name: str = "") -> RangeTable:
    """Take a route table or a list of AS names, whichever it is; raises ``BadInput``."""
    if not is_name_file(data):
        return import_origins(data, as_of=as_of, file_name=file_name)[0]
    names = read_as_names(data)
    when = as_of or date_in_name(file_name) or timezone.now().date()
    return store_file(ORIGINS, data, when, "", {"entries": len(names), "names": len(names)}, NAMES)


def tables(variant: str = "") -> list[RangeTable]:
    """All route tables, samples of such, or lists of names, oldest first."""
    rows = RangeTable.objects.filter(provider=ORIGINS, variant=variant, origin="")
    return list(rows.order_by("as_of", "imported_at", "id"))


def lookup(addresses: Sequence[str], as_of: date | None = None) -> Iterator[dict[str, Any]]:
    """Lines of ``asn lookup``; raises ``MissingData`` when no route table is in force.

    ``asn`` is the lowest where a prefix has several origins; ``origins`` has them all.
    """
    names = as_names(as_of)
    rows = {family: route_table(as_of, family).table for family in (4, 6)}
    found = {row.sha256: _prefixes(row.sha256).find_many(addresses) for row in rows.values()}
    for number, address in enumerate(addresses):
        row = rows[6 if ":" in address else 4]
        yield _line(address, found[row.sha256][number], row.as_of, names)


def route_table(as_of: date | None = None, family: int = 4) -> Choice:
    """The route table in force; raises ``MissingData`` when there is none."""
    found = choose(as_of, family)
    if found is None:
        when = f" as of {as_of}" if as_of else ""
        raise MissingData(f"there is no route table{when}; {IMPORT_HINT}")
    return found


def as_names(as_of: date | None = None) -> Mapping[int, str]:
    """Names by AS number: of the list in force, else of the oldest there is, else of a route
    table that carries them; empty without any.

    A list of names newer than the day is better than none: numbers rarely change hands.
    """
    lists = tables(NAMES)
    row = in_force_on(lists, as_of) or next(iter(lists), None)
    if row is not None:
        return _names(row.sha256)
    route = choose(as_of)
    return _names_in(route.table.sha256) if route else {}


def _line(
    address: str, hit: Announced | None, as_of: date, names: Mapping[int, str]
) -> dict[str, Any]:
    asn = hit.origins[0] if hit else None
    line: dict[str, Any] = {
        "address": address,
        "asn": asn,
        "prefix": hit.prefix_of(address) if hit else None,
        "name": names.get(asn) if asn is not None else None,
        "as_of": str(as_of),
        "origins": list(hit.origins) if hit else [],
    }
    if hit and hit.bounds:
        line["range"] = "-".join(hit.bounds)
    return line if is_address(address) else {**line, "error": "not an IP address"}


@lru_cache(maxsize=2)
def _prefixes(sha256: str) -> OriginPrefixes:
    return OriginPrefixes.build(read_origins(_raw(sha256)))


@lru_cache(maxsize=2)
def _names(sha256: str) -> Mapping[int, str]:
    return read_as_names(_raw(sha256))


@lru_cache(maxsize=2)
def _names_in(sha256: str) -> Mapping[int, str]:
    """The names that iptoasn's tables carry in their fifth column."""
    data = _raw(sha256)
    has_names = read_origins(data).ranges != ()
    return read_as_names(data) if has_names else {}


def _raw(sha256: str) -> bytes:
    path = Path(settings.RANGES_DIR) / ORIGINS / f"{sha256[:24]}.raw"
    files.fetch(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise MissingData(f"the file {path.name} is gone; {IMPORT_HINT}") from error
