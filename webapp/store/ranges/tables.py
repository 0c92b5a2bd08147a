"""Range tables: import, versions, which are in force on a day, and the compiled tables."""

import hashlib
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from cartography.asn.files import OriginFile, read_origins
from cartography.ranges import RangeFile, read_ranges
from cartography.ranges.diff import Change, compare
from cartography.ranges.gzip_file import unpack
from cartography.ranges.plausibility import assess_file
from cartography.ranges.same_edition import (
    describe_difference,
    has_same_content,
    is_same_publication,
)
from core.errors import BadInput, MissingData
from core.records import Placement
from webapp.store.models import RangeTable
from webapp.store.object_storage import files
from webapp.store.ranges.asn_choice import NOT_CLOUDS, ORIGINS, origins_of, variant_of
from webapp.store.ranges.compiled import prefix_table

__all__ = [
    "NOT_CLOUDS",
    "ORIGINS",
    "compare_versions",
    "import_origins",
    "import_ranges",
    "origins_of",
    "place_by_date",
    "prefix_table",
    "read_with_date",
    "tables_in_force",
    "versions",
]

FORCE_HINT = "ranges import --force takes the file all the same"
IMPORT_HINT = "import one with: manage.py ranges import PROVIDER FILE"
# Clocks and time zones differ by no more.
_AHEAD = timedelta(days=1)


def read_with_date(
    provider: str, data: bytes, file_name: str = "", as_of: date | None = None
) -> RangeFile:
    """Parse a range file; its date is its own, that of its name, or today."""
    try:
        return read_ranges(provider, data, as_of)
    except BadInput as error:
        if error.field != "as-of" or as_of is not None:
            raise
    return read_ranges(provider, data, date_in_name(file_name) or timezone.now().date())


def date_in_name(file_name: str) -> date | None:
    """The date in names such as ``ServiceTags_Public_20240624.json``.

    It is the last day of a month, as in ``ips-v4-2024-06.txt``, or of a year, as in
    ``ip2asn-v4-2020.tsv``.
    """
    found = re.search(r"(?<!\d)(20\d\d)[-_]?(\d\d)(?:[-_]?(\d\d))?(?!\d)", file_name)
    found = found or re.search(r"(?<!\d)(20\d\d)()()(?![-_]?\d)", file_name)
    if not found:
        return None
    year, month, day = (int(text) if text else 0 for text in found.groups())
    today = timezone.now().date()
    try:
        if day:
            return date(year, month, day)
        month = month or 12
        last = date(year, month, monthrange(year, month)[1])
    except ValueError:
        return None
    return min(last, today) if year <= today.year else None


def import_ranges(
    provider: str,
    data: bytes,
    *,
    as_of: date | None = None,
    origin: str = "",
    file_name: str = "",
    force: bool = False,
) -> tuple[RangeTable, RangeFile]:
    """Check ``data`` and put it beside the older versions; raises ``BadInput``.

    The same file twice is one row. Nothing is written unless the whole file is sound and to be
    believed beside the version before it, so the table in force stays in force on any doubt;
    ``force`` takes a sound file without looking at that version. What is merely unusual is in the
    ``warnings`` of the file.
    """
    parsed = read_with_date(provider, data, file_name, as_of)
    if not (force or origin):
        known, warnings = _check(parsed, data, as_of or date_in_name(file_name))
        if known is not None:
            return known, parsed
        parsed = replace(parsed, warnings=warnings)
    row = store_file(parsed.provider, data, parsed.as_of, origin, parsed.counts, parsed.variant)
    return row, parsed


def import_origins(
    data: bytes, *, as_of: date | None = None, file_name: str = ""
) -> tuple[RangeTable, OriginFile]:
    """The same for a file of prefixes and their origin ASes; raises ``BadInput``."""
    file = read_origins(data)
    when = as_of or date_in_name(file_name) or _date_in_head(data) or timezone.now().date()
    asns = {*file.regular.origins.tolist()}
    asns.update(asn for row in (*file.prefixes, *file.ranges) for asn in row[3])
    n_ipv6 = sum(row[0] == 6 for row in (*file.prefixes, *file.ranges))
    counts = {
        "entries": file.n_lines,
        "ipv4": file.n_lines - n_ipv6,
        "ipv6": n_ipv6,
        "origins": len(asns),
    }
    return store_file(ORIGINS, data, when, "", counts, variant_of(file_name)), file


def _date_in_head(data: bytes) -> date | None:
    head = unpack(data)[:500].decode("ascii", "replace")
    found = re.search(r"rib\.(20\d{6})", head)
    return date_in_name(found[1]) if found else None


def store_file(
    provider: str, data: bytes, as_of: date, origin: str, counts: dict[str, int], variant: str
) -> RangeTable:
    """Store a checked file and its row; the same file of the same day is one row."""
    digest = hashlib.sha256(data).hexdigest()
    path = raw_path(provider, digest)
    if not path.exists():
        files.write(path, data)
    row, _ = RangeTable.objects.get_or_create(
        provider=provider,
        sha256=digest,
        as_of=as_of,
        origin=origin,
        defaults={"file_name": path.name, "counts": dict(counts), "variant": variant},
    )
    return row


def _check(
    parsed: RangeFile, data: bytes, stated: date | None
) -> tuple[RangeTable | None, tuple[str, ...]]:
    """Return the stored row of the same publication, or the warnings of a new one.

    ``stated`` is the date that the user gave.

    Raises ``BadInput`` for what is not to be believed.
    """
    if parsed.as_of > timezone.now().date() + _AHEAD:
        raise BadInput(f"the file says that it is of {parsed.as_of}, which is yet to come")
    rows = versions(parsed.provider, parsed.variant)
    before = in_force_on(rows, parsed.as_of)
    if before is not None and before.sha256 == hashlib.sha256(data).hexdigest():
        return None, ()
    old = read_table(before) if before else None
    if before and old and is_same_publication(parsed, old):
        _refuse_difference(parsed, data, before, old)
        return (before if stated is None or before.as_of == parsed.as_of else None), ()
    if before and old and not (parsed.edition or stated):
        return _find_undated(parsed, data, before, old), ()
    judgement = assess_file(parsed, old)
    if judgement.refusal:
        stays = f"; the table of {before.as_of} stays in force" if before else ""
        raise BadInput(f"{judgement.refusal}{stays} ({FORCE_HINT})")
    return None, (*judgement.warnings, *_warn_of_age(parsed, rows, stated))


def _warn_of_age(parsed: RangeFile, rows: list[RangeTable], stated: date | None) -> Iterator[str]:
    if rows and rows[-1].as_of > parsed.as_of and not _is_month(stated, parsed.as_of):
        later = next(row.as_of for row in rows if row.as_of > parsed.as_of)
        yield f"it is used from {parsed.as_of} until {later} only: a newer table is in force"


def _refuse_difference(parsed: RangeFile, data: bytes, before: RangeTable, old: RangeFile) -> None:
    path = raw_path(before.provider, before.sha256)
    if not has_same_content(data, path.read_bytes()):
        raise BadInput(
            f"it says that it is the publication in force, of {before.as_of}, but"
            f" {describe_difference(parsed, old)}; the table in force stays ({FORCE_HINT})"
        )


def _find_undated(parsed: RangeFile, data: bytes, before: RangeTable, old: RangeFile) -> RangeTable:
    """Return the table in force if an undated list equals it; raise ``BadInput`` otherwise."""
    if has_same_content(data, raw_path(before.provider, before.sha256).read_bytes()):
        return before
    raise BadInput(
        f"neither the file nor its name says its day, and it is not the table of {before.as_of}:"
        f" {describe_difference(parsed, old)}; --as-of DATE takes it as that day's"
    )


def _is_month(stated: date | None, as_of: date) -> bool:
    return stated is not None and (stated.year, stated.month) == (as_of.year, as_of.month)


def raw_path(provider: str, digest: str) -> Path:
    """Where the raw file of a table is kept."""
    return Path(settings.RANGES_DIR) / provider / f"{digest[:24]}.raw"


def read_table(row: RangeTable) -> RangeFile:
    """The file of a stored table, read again; raises ``MissingData`` when it is gone."""
    path = raw_path(row.provider, row.sha256)
    files.fetch(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MissingData(
            f"the file of {row} is gone from the data folder; {IMPORT_HINT}"
        ) from error
    return read_ranges(row.provider, data, row.as_of)


def _versions(provider: str, variant: str) -> QuerySet[RangeTable]:
    rows = RangeTable.objects.filter(provider=provider, variant=variant, origin="")
    return rows.order_by("as_of", "imported_at", "id")


def versions(provider: str, variant: str = "") -> list[RangeTable]:
    """All versions of one provider's table, oldest first."""
    return list(_versions(provider, variant))


def compare_versions(
    provider: str, variant: str = "", old: date | None = None, new: date | None = None
) -> tuple[RangeTable, RangeTable, list[Change]]:
    """Changes between the tables in force on two days; without days, between the last two.

    Raises ``MissingData`` when there are not two.
    """
    rows = versions(provider, variant)
    after = in_force_on(rows, new)
    earlier = [row for row in rows if after and row.as_of < after.as_of]
    before = in_force_on(rows if old else earlier, old)
    if before is None or after is None:
        named = f"{provider} {variant}".strip()
        raise MissingData(f"there are not two versions of {named} to compare; {IMPORT_HINT}")
    return before, after, compare(read_table(before), read_table(after))


def in_force_on(rows: Sequence[RangeTable], day: date | None) -> RangeTable | None:
    """The newest of these, oldest first, that is not newer than a day."""
    return next((row for row in reversed(rows) if day is None or row.as_of <= day), None)


def require_table() -> None:
    """Refuse before any work what could place no address; raises ``MissingData``."""
    if not RangeTable.objects.exclude(provider__in=NOT_CLOUDS).exists():
        raise MissingData(f"there is no range table; {IMPORT_HINT}")


def tables_in_force(origin: str = "", as_of: date | None = None) -> list[RangeTable]:
    """The newest table of each provider and variant, not newer than ``as_of``.

    The tables of an emulated world replace real files as a whole; a world that was built on real
    files has no tables. Raises ``MissingData`` when there is no table at all.
    """
    chosen = _newest(origin, as_of)
    if not chosen and origin:
        chosen = _newest("", as_of)
    if not chosen:
        when = f" as of {as_of}" if as_of else ""
        raise MissingData(f"there is no range table{when}; {IMPORT_HINT}")
    return chosen


def _newest(origin: str, as_of: date | None) -> list[RangeTable]:
    rows = RangeTable.objects.filter(origin=origin).exclude(provider__in=NOT_CLOUDS)
    if as_of:
        rows = rows.filter(as_of__lte=as_of)
    newest: dict[tuple[str, str], RangeTable] = {}
    for row in rows.order_by("as_of", "imported_at", "id"):
        newest[(row.provider, row.variant)] = row
    return [newest[key] for key in sorted(newest)]


def place_by_date(
    observations: Iterable[tuple[str, date]], origin: str = ""
) -> dict[tuple[str, date], Placement]:
    """Each (address, day) placed by the tables that were in force on that day."""
    by_day: dict[date, list[str]] = {}
    for address, day in observations:
        by_day.setdefault(day, []).append(address)
    placed = {}
    for day, addresses in by_day.items():
        places = prefix_table(tables_in_force(origin, day)).place_many(addresses)
        placed.update({(place.address, day): place for place in places})
    return placed
