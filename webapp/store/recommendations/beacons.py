"""Beacons: create, count reports by country, region and day, and read medians.

No address and no single report is kept. Reports are bounded by day and by client address.
"""

import math
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from analysis.impact.clients.rtt_histogram import MAX_MS, bin_of, median
from core.errors import BadInput, Conflict, MissingData, NephoscopeError
from webapp.store.models import Beacon, BeaconCell
from webapp.store.ranges import geolocation

MAX_BEACONS = 20
MAX_TARGETS, MAX_ORIGINS = 40, 20
MAX_URL, MAX_REGION = 300, 100
MAX_REPORTS_PER_DAY = 100_000
# A median of fewer round trips is neither shown nor used.
MIN_ROUND_TRIPS = 10
# Days that medians are of; older cells are deleted.
DAYS = 28


class TooManyReports(NephoscopeError):
    """The quota of the day, or the rate of one address, is used up."""

    permanent = False


@dataclass(frozen=True, slots=True)
class Settings:
    """What a tenant chooses; ``targets`` are URLs by region."""

    name: str
    targets: Mapping[str, str]
    origins: Sequence[str]
    sample_share: float = 0.01
    max_reports_per_day: int = 10_000


@dataclass(frozen=True, slots=True)
class Median:
    """Median round trip from a country to a region."""

    country: str
    region: str
    rtt_ms: float
    n: int


@dataclass(frozen=True, slots=True)
class Collected:
    """Round trips from a country, empty where no table has the addresses, to a region.

    The median is None where there are too few.
    """

    country: str
    region: str
    rtt_ms: float | None
    n: int


def create(owner: Any, given: Settings) -> Beacon:
    """Store a beacon; raise ``BadInput`` naming the field."""
    check(given)
    if Beacon.objects.filter(owner=owner).count() >= MAX_BEACONS:
        raise Conflict(f"an account has at most {MAX_BEACONS} beacons; delete one first")
    return Beacon.objects.create(
        key=secrets.token_hex(12),
        owner=owner,
        name=given.name.strip(),
        targets=[[region, url] for region, url in given.targets.items()],
        origins=sorted({read_origin(text) for text in given.origins}),
        sample_share=given.sample_share,
        max_reports_per_day=given.max_reports_per_day,
    )


def check(given: Settings) -> None:
    """Raise ``BadInput`` naming the field of the first wrong setting."""
    if not given.name.strip():
        raise BadInput("give the beacon a name", field="name")
    if not 1 <= len(given.targets) <= MAX_TARGETS:
        raise BadInput(f"give 1 to {MAX_TARGETS} targets", field="targets")
    for region, url in given.targets.items():
        _check_target(region, url)
    if not 1 <= len(given.origins) <= MAX_ORIGINS:
        raise BadInput(f"give 1 to {MAX_ORIGINS} origins", field="origins")
    for text in given.origins:
        read_origin(text)
    if not 0 < given.sample_share <= 1:
        raise BadInput("the share is above 0 and at most 1", field="sample_share")
    if not 1 <= given.max_reports_per_day <= MAX_REPORTS_PER_DAY:
        raise BadInput(f"from 1 to {MAX_REPORTS_PER_DAY:,} a day", field="max_reports_per_day")


def _check_target(region: str, url: str) -> None:
    if not 0 < len(region) <= MAX_REGION or not region.isprintable() or " " in region:
        raise BadInput(f"{region[:60]!r} is not a name of a region", field="targets")
    parts = _split_url(url)
    if parts is None or parts.username is not None or parts.fragment or len(url) > MAX_URL:
        raise BadInput(f"{url[:80]!r} is not an http or https URL", field="targets")


def read_origin(text: str) -> str:
    """Return an origin as browsers send it; raise ``BadInput``."""
    parts = _split_url(text.strip().rstrip("/"))
    if parts is None or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise BadInput(
            f"{text[:80]!r} is not an origin such as https://www.example.com", field="origins"
        )
    default = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in (None, default) else f":{parts.port}"
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return f"{parts.scheme}://{host}{port}"


def _split_url(text: str) -> Any:
    """Return the parts of an http or https URL with a host; ``None`` for any other text."""
    try:
        parts = urlsplit(text)
        is_url = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if is_url and text.isprintable() and " " not in text else None


def owned_by(user: Any) -> list[Beacon]:
    """Return the beacons of an account, newest first."""
    return list(Beacon.objects.filter(owner=user)) if user is not None else []


def find_own(key: str, user: Any) -> Beacon | None:
    """Return a beacon of this account."""
    return Beacon.objects.filter(key=key, owner=user).first() if user is not None else None


def find(key: str) -> Beacon | None:
    """Return a beacon for its script and its reports."""
    return Beacon.objects.filter(key=key).first()


def read_report(document: Any, beacon: Beacon) -> list[tuple[str, float]]:
    """Return region and round trip in ms of each row of a report; raise ``BadInput``."""
    known = {region for region, _ in beacon.targets}
    if not isinstance(document, list) or not 0 < len(document) <= MAX_TARGETS:
        raise BadInput("a report is a list of pairs of region and milliseconds")
    found: dict[str, float] = {}
    for row in document:
        if not isinstance(row, list) or len(row) != 2 or row[0] not in known:
            raise BadInput("a row is a region of the beacon and milliseconds")
        rtt_ms = row[1]
        if not isinstance(rtt_ms, int | float) or isinstance(rtt_ms, bool):
            raise BadInput("milliseconds are a number")
        if not math.isfinite(rtt_ms) or not 0 < rtt_ms <= MAX_MS:
            raise BadInput(f"milliseconds are above 0 and at most {MAX_MS:,.0f}")
        found[row[0]] = float(rtt_ms)
    return list(found.items())


def country_of_address(address: str) -> str:
    """Return the country of an address by the table in force; empty where there is none."""
    try:
        _, table = geolocation.table_in_force()
        place = table.find(address)
    except (MissingData, ValueError):
        return ""
    return place.country if place else ""


def count(beacon: Beacon, country: str, rows: Sequence[tuple[str, float]]) -> None:
    """Count a report; raise ``TooManyReports`` beyond the day's quota."""
    today = timezone.now().date()
    with transaction.atomic():
        # The lock of the beacon's row keeps two reports from the same cell.
        locked = Beacon.objects.select_for_update().get(pk=beacon.pk)
        if locked.counted_on != today:
            locked.counted_on, locked.n_reports = today, 0
            locked.cells.filter(day__lt=today - timedelta(days=DAYS)).delete()
        if locked.n_reports >= locked.max_reports_per_day:
            raise TooManyReports("the quota of reports of this day is used up")
        locked.n_reports += 1
        locked.save(update_fields=["counted_on", "n_reports"])
        _count_rows(locked, today, country, rows)


def _count_rows(
    beacon: Beacon, today: date, country: str, rows: Sequence[tuple[str, float]]
) -> None:
    cells = beacon.cells.filter(day=today, country=country)
    known = {cell.region: cell for cell in cells}
    for region, rtt_ms in rows:
        cell = known.get(region) or BeaconCell(
            beacon=beacon, day=today, country=country, region=region
        )
        number = str(bin_of(rtt_ms))
        cell.counts[number] = cell.counts.get(number, 0) + 1
        cell.save()


def reports_today(beacon: Beacon) -> int:
    """Return how many reports of this day were counted."""
    return beacon.n_reports if beacon.counted_on == timezone.now().date() else 0


def snippet(script_url: str) -> str:
    """Return the element that pages hold."""
    return f'<script async src="{script_url}"></script>'


def collected(beacon: Beacon) -> list[Collected]:
    """Return the round trips of the last days by country and region, also where there are few."""
    first = timezone.now().date() - timedelta(days=DAYS)
    found: dict[tuple[str, str], Counter[int]] = {}
    for cell in beacon.cells.filter(day__gte=first):
        bins = found.setdefault((cell.country, cell.region), Counter())
        bins.update({int(number): n for number, n in cell.counts.items()})
    rows = []
    for (country, region), bins in sorted(found.items()):
        value, n = median(bins), bins.total()
        is_enough = value is not None and n >= MIN_ROUND_TRIPS
        rtt_ms = round(value, 2) if value is not None and is_enough else None
        rows.append(Collected(country, region, rtt_ms, n))
    return rows


def medians(beacon: Beacon) -> list[Median]:
    """Return medians of the last days, by country and region, with enough round trips each."""
    return [
        Median(row.country, row.region, row.rtt_ms, row.n)
        for row in collected(beacon)
        if row.country and row.rtt_ms is not None
    ]


def n_countries(beacon: Beacon) -> int:
    """Return how many countries have a median."""
    return len({row.country for row in medians(beacon)})
