"""Finished tables of measurement campaigns, for pages and API.

Small tables are rows of the store. Tables by vantage point or round are Parquet files beside the
lake, sorted by vantage point, so that a page reads few row groups.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from cartography.ranges.regions import region as region_of
from core.errors import Unavailable, reason_of
from core.files import replace_folder
from lake.parts import fetch_parts, part_path
from webapp.store.access.visibility import visible
from webapp.store.campaigns import table_files
from webapp.store.models import Campaign, CampaignReport, VantagePoint
from webapp.store.object_storage import files as object_files

Row = dict[str, Any]
# Beyond this number all vantage points are read instead of an IN filter.
_ASKED_BY_NAME = 5_000
# Limit of compared pairs of two campaigns, most changed first.
MAX_CHANGES = 50_000


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One small table with its metadata."""

    table_id: str
    columns: list[str]
    rows: list[list[Any]]
    n: int
    headline: str
    computed_at: datetime
    checks: list[str] = field(default_factory=list)

    def dicts(self) -> list[Row]:
        """The rows under the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def campaigns(user: Any, limit: int | None = 200) -> list[Campaign]:
    """Campaigns that a user may see, newest first."""
    return list(visible(Campaign.objects.all(), user)[:limit])


def campaign(slug: str, user: Any) -> Campaign | None:
    """One campaign, if the user may see it."""
    return visible(Campaign.objects.filter(slug=slug), user).first()


def campaign_of(key: int) -> Campaign:
    """Return a campaign by primary key, without a visibility check."""
    return Campaign.objects.get(pk=key)


def headlines(found: Iterable[Campaign]) -> dict[int, str]:
    """Return the headline of each campaign by primary key."""
    rows = CampaignReport.objects.filter(
        campaign__in=list(found), table_id__in=("latency-regions", "throughput-regions")
    ).order_by("-table_id")
    # Latency comes last, so that it is the one that stays.
    return dict(rows.values_list("campaign_id", "headline"))


def tables(found: Campaign) -> dict[str, StoredTable]:
    """All small tables of a campaign."""
    return {r.table_id: _stored(r) for r in found.reports.all()}


def some_tables(found: Campaign, *wanted: str) -> dict[str, StoredTable]:
    """The small tables that a page shows."""
    return {r.table_id: _stored(r) for r in found.reports.filter(table_id__in=wanted)}


def _stored(report: CampaignReport) -> StoredTable:
    return StoredTable(
        report.table_id,
        report.columns,
        report.rows,
        report.n,
        report.headline,
        report.computed_at,
        report.checks,
    )


def lake_root() -> Path:
    """Return the lake root of campaigns, apart from that of surveys."""
    return Path(settings.LAKE_DIR) / "measurements"


def parts(found: Campaign, table: str) -> list[Path]:
    """Parts of ``samples`` or ``paths`` that units in the manifest own, in a stable order."""
    done = found.units.exclude(part="").order_by("key").values_list("part", "rows")
    # Units with merged rows share a part.
    named = dict.fromkeys(part for part, rows in done if rows.get(table))
    fetch_parts(lake_root(), found.slug, table)
    return [part_path(lake_root(), found.slug, table, part) for part in named]


def folder_of(found: Campaign) -> Path:
    """Return the folder of a campaign's large tables."""
    return Path(settings.LAKE_DIR) / ".derived" / "measurements" / found.slug


def save_tables(found: Campaign, reports: Iterable[Any], files: Mapping[str, pa.Table]) -> None:
    """Replace all tables of a campaign; readers see the old ones until the new ones are whole.

    Raise ``Unavailable`` where they cannot be written, as on a full disk.
    """
    rows = [
        CampaignReport(
            campaign=found,
            table_id=r.id,
            columns=list(r.columns),
            rows=r.rows,
            n=r.n,
            headline=r.headline,
            checks=r.checks,
        )
        for r in reports
    ]
    with replace_folder(folder_of(found)) as folder:
        try:
            for name, table in files.items():
                table_files.write(folder / f"{name}.parquet", table)
        except OSError as error:
            raise Unavailable(f"tables cannot be written: {reason_of(error)}") from error
        object_files.publish_folder(folder, folder_of(found))
        with transaction.atomic():
            found.reports.all().delete()
            CampaignReport.objects.bulk_create(rows)
            Campaign.objects.filter(pk=found.pk).update(reported_at=timezone.now())


def has_table(found: Campaign, name: str) -> bool:
    """Whether a large table was built."""
    return _table_path(found, name).is_file()


def _table_path(found: Campaign, name: str) -> Path:
    """The file of a large table, brought here with its copy if another machine has built it."""
    object_files.fetch_all(folder_of(found))
    return folder_of(found) / f"{name}.parquet"


def read_table(
    found: Campaign,
    name: str,
    columns: Sequence[str] | None = None,
    equal: Mapping[str, Any] | None = None,
) -> pa.Table:
    """A large table, or the rows of it that have these values (one, or any of a list).

    Empty where it was not built.
    """
    path = _table_path(found, name)
    if not path.is_file():
        return pa.table({c: pa.nulls(0) for c in columns or ()})
    wanted = {k: list(v) if isinstance(v, list | tuple) else [v] for k, v in (equal or {}).items()}
    return table_files.read_rows(path, columns, wanted)


class VantagePlace(NamedTuple):
    """A vantage point as pages show it."""

    name: str
    city: str
    country: str
    continent: str
    lat: float | None
    lon: float | None
    provider: str
    asn: int | None
    source: str


def vantage_points(names: Iterable[str]) -> dict[str, VantagePlace]:
    """Vantage points by name, as far as the store knows them."""
    wanted = list(names)
    rows = VantagePoint.objects.order_by()
    if len(wanted) <= _ASKED_BY_NAME:
        rows = rows.filter(name__in=wanted)
    known = {row[0]: VantagePlace(*row) for row in rows.values_list(*VantagePlace._fields)}
    found = {name: known.get(name) or _region_place(name) for name in wanted}
    return {name: spot for name, spot in found.items() if spot}


def _region_place(name: str) -> VantagePlace | None:
    """Return the location of a cloud region that was a vantage point: ``aws/eu-west-1``."""
    provider, _, own = name.partition("/")
    known = region_of(provider, own) if own else None
    if known is None:
        return None
    return VantagePlace(
        name, own, known.country, "", known.latitude, known.longitude, provider, None, "imported"
    )


def places(regions: Iterable[tuple[str, str]]) -> dict[str, Row]:
    """Return locations of known regions by name."""
    found = {}
    for provider, name in regions:
        known = region_of(provider, name)
        if known:
            found[name] = {
                "provider": provider,
                "place": known.place,
                "country": known.country,
                "latitude": known.latitude,
                "longitude": known.longitude,
            }
    return found


def grid_vantages(
    found: Campaign, metric: str, *, region: str = "", figure: str = "", descending: bool = False
) -> list[str]:
    """Names of all vantage points: by name, or by a figure of one region or over all of them.

    Those without a value come last.
    """
    if region:
        table = read_table(found, f"{metric}-grid", ["vantage", figure], {"region": region})
        answering = set(table["vantage"].to_pylist()) if table.num_rows else set()
        rest = [v for v in _names(found, metric) if v not in answering]
    else:
        columns = ["vantage", figure] if figure else ["vantage"]
        table, rest = read_table(found, f"{metric}-vantages", columns), []
    if figure and table.num_rows:
        order = "descending" if descending else "ascending"
        keys = [(figure, order), ("vantage", "ascending")]
        table = table.take(pc.sort_indices(table, sort_keys=keys))
    return [*table["vantage"].to_pylist(), *rest]


def _names(found: Campaign, metric: str) -> list[str]:
    names: list[str] = read_table(found, f"{metric}-vantages", ["vantage"])["vantage"].to_pylist()
    return names


def neighbours(names: Sequence[str], name: str) -> tuple[str, str]:
    """Return the previous and next name in a list."""
    at = names.index(name) if name in names else -1
    if at < 0:
        return "", ""
    return names[at - 1] if at else "", names[at + 1] if at + 1 < len(names) else ""


def changed_pairs(before: Campaign, after: Campaign, metric: str) -> list[Row]:
    """Pairs with a median in both campaigns, the largest relative change first."""
    columns = ["vantage", "region", "p50", "n"]
    keys = columns[:2]
    was, now = (read_table(m, f"{metric}-grid", columns) for m in (before, after))
    if not was.num_rows or not now.num_rows:
        return []
    both = was.join(now, keys, join_type="inner", right_suffix="_now", use_threads=False)
    both = both.filter(pc.and_(pc.is_valid(both["p50"]), pc.is_valid(both["p50_now"])))
    change = pc.subtract(both["p50_now"], both["p50"])
    share = pc.divide(change, both["p50"])
    changed = both.append_column("change", change).append_column("share", share)
    changed = changed.append_column("size", pc.abs(share))
    order = [("size", "descending"), ("vantage", "ascending"), ("region", "ascending")]
    rows: list[Row] = changed.sort_by(order).slice(0, MAX_CHANGES).to_pylist()
    return rows


def file_names(found: Campaign) -> list[str]:
    """Names of the large tables that were built."""
    object_files.fetch_all(folder_of(found))
    return sorted(path.stem for path in folder_of(found).glob("*.parquet"))
