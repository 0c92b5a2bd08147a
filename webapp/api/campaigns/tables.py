"""REST API v1: tables and raw samples of measurement campaigns."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from django.http import Http404, HttpRequest
from django.urls import get_script_prefix
from ninja import Field, Query, Schema

from webapp.api.campaigns.lookup import campaign_or_404
from webapp.api.framework.files import download, table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import Router
from webapp.store.campaigns import samples, selectors
from webapp.store.models import Campaign
from webapp.store.vantages import services

router = Router(tags=["wide area"])
# Default number of rows of a JSON answer; ``next_offset`` is the offset of the next page.
PAGE_ROWS = 10_000
# A CSV or JSON answer holds at most so many rows; Parquet holds all.
MAX_ROWS = 200_000


class TableQuery(Schema):
    """Filter and page of a table: by vantage point, region, or both."""

    vantage: list[str] = []
    region: list[str] = []
    # Rows of a JSON answer; other kinds are files, and begin at the first row.
    offset: int = Field(0, ge=0)
    limit: int = Field(PAGE_ROWS, ge=1, le=MAX_ROWS)


class PairQuery(Schema):
    """A vantage point and a region, and optionally one round."""

    vantage: str
    region: str
    round: int | None = None


def _document(row: Campaign) -> dict[str, Any]:
    return {
        "id": row.slug,
        "name": row.name,
        "status": row.state,
        "synthetic": row.synthetic,
        "label": row.label,
        "vantages": len(row.vantages),
        "targets": row.targets,
        "schedule": row.schedule,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
        "summary": row.summary,
        "is_public": row.owner_id is None,
        "page": f"{get_script_prefix()}wide-area/{row.slug}/",
    }


@router.get(
    "/wide-area",
    response={200: "Page[measurements.MeasuredCampaign]"},
    operation_id="list_measured_campaigns",
)
def list_campaigns(request: HttpRequest, page: Query[Page]) -> Any:
    """Measurement campaigns, newest first."""
    return paginate(selectors.campaigns(request.user, None), page, attrgetter("slug"), _document)


@router.get(
    "/wide-area/{slug}",
    response={200: "measurements.MeasuredCampaignWithTables"},
    operation_id="get_measured_campaign",
)
def get_campaign(request: HttpRequest, slug: str) -> Any:
    """One campaign with the findings of its tables."""
    row = campaign_or_404(request, slug)
    summaries = [
        {"id": t.table_id, "headline": t.headline, "n": t.n} for t in selectors.tables(row).values()
    ]
    return {**_document(row), "tables": summaries, "files": selectors.file_names(row)}


@router.get(
    "/wide-area/{slug}/tables/{table}",
    response={200: "measurements.CampaignTable"},
    operation_id="get_campaign_table",
)
def get_table(request: HttpRequest, slug: str, table: str, cells: Query[TableQuery]) -> Any:
    """One table as ``ID.json``, ``ID.csv``, ``ID.jsonl`` or ``ID.parquet``, or some rows of it."""
    row = campaign_or_404(request, slug)
    table_id, _, kind = table.partition(".")
    wanted = {k: v for k, v in (("vantage", cells.vantage), ("region", cells.region)) if v}
    stored = selectors.some_tables(row, table_id).get(table_id)
    if stored:
        rows = [r for r in stored.rows if _matches(stored.columns, r, wanted)]
        facts = {"n": stored.n, "headline": stored.headline, "computed_at": stored.computed_at}
        return _respond_with_page(
            row, (table_id, kind), stored.columns, _FoundRows(rows, len(rows), facts), cells
        )
    if not selectors.has_table(row, table_id):
        raise Http404(f"measurement {slug!r} has no table {table_id!r}")
    found = selectors.read_table(row, table_id, None, wanted)
    if kind == "parquet":
        return _respond_with_parquet(row, table_id, found)
    return _respond_with_page(
        row, (table_id, kind), found.column_names, _FoundRows(found, len(found), {}), cells
    )


class _FoundRows(NamedTuple):
    """Rows as a list or an Arrow table, their total number, and metadata."""

    rows: list[list[Any]] | pa.Table
    total: int
    facts: dict[str, Any]


def _respond_with_page(
    row: Campaign,
    name: tuple[str, str],
    columns: Sequence[str],
    found: _FoundRows,
    cells: TableQuery,
) -> Any:
    """Return a file of all rows, or one page of them as JSON."""
    is_page = name[1] in ("", "json")
    begin, size = (cells.offset, cells.limit) if is_page else (0, MAX_ROWS)
    rows = found.rows
    kept = (
        _slice_rows(rows, begin, size) if isinstance(rows, pa.Table) else rows[begin : begin + size]
    )
    facts = found.facts
    if is_page:
        end = begin + len(kept)
        more = {"next_offset": end if end < found.total else None}
        facts = {**facts, "total": found.total, "offset": begin, **more}
    return _respond_with_rows(row, name[0], name[1] or "json", columns, kept, facts)


def _matches(columns: Sequence[str], row: Sequence[Any], wanted: dict[str, list[str]]) -> bool:
    cells = dict(zip(columns, row, strict=True))
    return all(key not in cells or cells[key] in values for key, values in wanted.items())


def _respond_with_parquet(row: Campaign, name: str, found: pa.Table) -> Any:
    """Return a large table as Parquet without converting rows to Python objects."""
    if row.synthetic:
        origin = pa.repeat(pa.scalar("synthetic"), found.num_rows)
        found = found.append_column("origin", origin)
    buffer = pa.BufferOutputStream()
    pq.write_table(found, buffer, compression="zstd")
    label = "synthetic-" if row.synthetic else ""
    data = buffer.getvalue().to_pybytes()
    return download(f"{label}{row.slug}-{name}.parquet", "application/vnd.apache.parquet", data)


def _slice_rows(found: pa.Table, begin: int, size: int) -> list[list[Any]]:
    kept = found.slice(begin, size)
    return [list(r) for r in zip(*(c.to_pylist() for c in kept.columns), strict=True)]


def _respond_with_rows(
    row: Campaign,
    name: str,
    kind: str,
    columns: Sequence[str],
    rows: list[list[Any]],
    facts: dict[str, Any],
) -> Any:
    """Return rows in a format; synthetic campaigns are labelled in every row and in the name."""
    if kind == "json":
        about = {"measurement": row.slug, "synthetic": row.synthetic, "label": row.label}
        return {"id": name, **about, **facts, "columns": columns, "rows": rows}
    if row.synthetic:
        columns, rows = [*columns, "origin"], [[*r, "synthetic"] for r in rows]
    label = "synthetic-" if row.synthetic else ""
    return table_file(f"{label}{row.slug}-{name}", kind, columns, rows)


@router.get(
    "/wide-area/{slug}/samples.{kind}",
    response={200: "measurements.MeasuredRows"},
    operation_id="get_campaign_samples",
)
def get_samples(request: HttpRequest, slug: str, kind: str, pair: Query[PairQuery]) -> Any:
    """List the raw samples of a pair."""
    row = campaign_or_404(request, slug)
    found = samples.read_samples(row, pair.vantage, pair.region, pair.round)
    return _respond_with_rows(row, "samples", kind, *_columns_and_rows(found), {})


@router.get(
    "/wide-area/{slug}/paths.{kind}",
    response={200: "measurements.MeasuredRows"},
    operation_id="get_campaign_paths",
)
def get_paths(request: HttpRequest, slug: str, kind: str, pair: Query[PairQuery]) -> Any:
    """List the traceroutes of a pair, hop by hop."""
    row = campaign_or_404(request, slug)
    found = samples.read_paths(row, pair.vantage, pair.region)
    if not services.is_operator(request.user):
        found = _without_addresses(found)
    return _respond_with_rows(row, "paths", kind, *_columns_and_rows(found), {})


def _without_addresses(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove the addresses of own vantage points, which only operators may see."""
    own = services.own_points().filter(name__in={path["vantage"] for path in found})
    names = set(own.values_list("name", flat=True))
    return [{**path, "source": ""} if path["vantage"] in names else path for path in found]


def _columns_and_rows(found: list[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    columns = list(found[0]) if found else []
    return columns, [list(r.values()) for r in found]


class ComparisonQuery(Schema):
    """Which metric two campaigns are compared by."""

    metric: str = "latency"


@router.get(
    "/wide-area-comparison/{before}/{after}.{kind}",
    response={200: "measurements.ComparedPairs"},
    operation_id="compare_campaigns",
)
def get_comparison(
    request: HttpRequest, before: str, after: str, kind: str, query: Query[ComparisonQuery]
) -> Any:
    """Compare medians of the pairs that both campaigns measured, largest change first."""
    first, second = (campaign_or_404(request, slug) for slug in (before, after))
    columns, rows = _columns_and_rows(selectors.changed_pairs(first, second, query.metric))
    if kind == "json":
        label = first.synthetic or second.synthetic
        return {
            "before": before,
            "after": after,
            "synthetic": label,
            "columns": columns,
            "rows": rows,
        }
    return _respond_with_rows(
        first if first.synthetic else second, f"{before}-{after}", kind, columns, rows, {}
    )
