"""Export a finished survey, or any table in any format; all interfaces share the figures."""

import csv
import io
import json
import shutil
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings

from analysis.reporting import summary
from core.errors import Unavailable
from lake.parts import parts_of, read_part
from lake.schemas import FILE_SCHEMAS
from webapp.store.access.visibility import OPERATOR
from webapp.store.surveys import selectors
from webapp.store.surveys.timings import add_stages

NAME_COLUMNS = ("name", "domain", "class", "providers", "patterns", "regions", "zones")


def survey_document(slug: str, out: str | None = None) -> dict[str, Any]:
    """The ``--json`` shape of a survey: campaign, names, tables."""
    row = selectors.survey(slug, OPERATOR)
    assert row is not None
    names = {"asked": 0, "resolved": 0, "cloud": 0, "failed": {}}
    return {
        "campaign": slug,
        "state": row.state,
        "world": row.world,
        "names": {**names, **row.summary.get("names", {})},
        "stages": add_stages([row.counters["stages"], row.summary.get("stages", {})]),
        "domains": {
            "asked": row.n_domains,
            "rejected": row.n_rejected,
            "duplicates": row.n_duplicates,
        },
        "rejected": row.rejected,
        "vantages": row.summary.get("vantages", {}),
        # Sorted by the contents of the document, since rebuilt surveys import them in other orders.
        "range_tables": sorted(
            (
                {"provider": t["provider"], "as_of": str(t["as_of"]), "sha256": t["sha256"]}
                for t in row.range_tables
            ),
            key=lambda table: tuple(table.values()),
        ),
        "tables": {
            table_id: {"columns": r.columns, "rows": r.rows, "n": r.n, "headline": r.headline}
            for table_id, r in selectors.reports(slug).items()
        },
        "out": out,
    }


def table_csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated text with a header; an empty cell is an unknown value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return text.getvalue()


def _plain(cell: Any) -> Any:
    # A spreadsheet runs a cell that begins like a formula; a DNS name never needs to.
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + cell
    return "" if cell is None else cell


def table_parquet(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """One table as a Parquet file."""
    data = {name: [row[i] for row in rows] for i, name in enumerate(columns)}
    sink = io.BytesIO()
    pq.write_table(pa.table(data), sink, compression="zstd")
    return sink.getvalue()


def names_csv(slug: str) -> Iterable[str]:
    """``names.csv`` in pieces: one row per cloud-using subdomain."""
    yield table_csv(NAME_COLUMNS, [])
    shards = selectors.finished_shards(slug)
    for row in summary.names_rows(Path(settings.LAKE_DIR), slug, shards):
        yield _name_line(row)


def _name_line(row: Any) -> str:
    cells = [row[c] for c in NAME_COLUMNS] if isinstance(row, dict) else list(row)
    return table_csv(cells, [])


def write_out(slug: str, out: Path) -> dict[str, Any]:
    """Write ``report.json``, ``tables/``, ``names.csv`` and ``observations/`` below ``out``."""
    document = survey_document(slug, str(out))
    write_tables(document, out)
    try:
        with (out / "names.csv").open("w") as handle:
            handle.writelines(names_csv(slug))
        copy_observations(slug, out / "observations")
    except OSError as error:
        raise Unavailable(f"cannot write {out}: {error.strerror or error}") from error
    return document


def write_tables(document: dict[str, Any], out: Path) -> None:
    """Write ``report.json`` and a CSV file per table; raises ``Unavailable``."""
    try:
        (out / "tables").mkdir(parents=True, exist_ok=True)
        for table_id, table in document["tables"].items():
            text = table_csv(table["columns"], table["rows"])
            (out / "tables" / f"{table_id}.csv").write_text(text)
        (out / "report.json").write_bytes(report_json(document))
    except OSError as error:
        raise Unavailable(f"cannot write {out}: {error.strerror or error}") from error


def report_json(document: dict[str, Any]) -> bytes:
    """``report.json``: the same bytes wherever the survey is stored.

    It does not contain its location, and its keys are sorted, since PostgreSQL does not keep their
    order.
    """
    kept = {key: value for key, value in document.items() if key != "out"}
    return json.dumps(kept, default=str, indent=1, sort_keys=True).encode()


def copy_observations(slug: str, folder: Path) -> None:
    """One Parquet file per lake table, its parts joined in shard order."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set(selectors.finished_shards(slug))
    for table, schema in FILE_SCHEMAS.items():
        paths = parts_of(Path(settings.LAKE_DIR), slug, table, wanted)
        temporary = folder / f".{table}.tmp"
        with pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            for path in paths:
                writer.write_table(read_part(path, table))
        shutil.move(temporary, folder / f"{table}.parquet")


def table_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """One JSON object per row; moments as ISO 8601."""
    records = (dict(zip(columns, row, strict=True)) for row in rows)
    return "".join(json.dumps(row, default=_moment) + "\n" for row in records)


def _moment(value: datetime) -> str:
    return value.isoformat()
