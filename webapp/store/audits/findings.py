"""Findings of an audit as one Parquet file, from which pages, documents and baselines are read.

Rows are sorted by category, severity, rule and subject, so that a page reads one group of rows.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from django.conf import settings

from audits.evaluation import Baseline
from audits.findings import AuditReport, Finding, Severity
from audits.output.document import header_of
from core.errors import Damaged, Unavailable
from core.files import replace_file
from lake.row_files import ParquetRows
from webapp.store.models import Audit
from webapp.store.object_storage import files

Row = dict[str, Any]
# What a row is about, in the order in which rows are stored.
CATEGORIES = ("finding", "suppressed", "not-judged", "stale", "resolved")
_SCHEMA = pa.schema(
    [
        ("category", pa.dictionary(pa.int8(), pa.string())),
        ("severity", pa.dictionary(pa.int8(), pa.string())),
        ("rule", pa.dictionary(pa.int16(), pa.string())),
        ("state", pa.dictionary(pa.int8(), pa.string())),
        ("subject", pa.string()),
        ("fingerprint", pa.string()),
        # The finding as the JSON report has it.
        ("document", pa.string()),
    ]
)
_COLUMNS = tuple(_SCHEMA.names)
# A page shows the first rows of each rule.
_GROUP_ROWS = 256
# So many rows of one place are remembered.
_FEW = 16
# Fields of the header that pages read and documents do not have.
_FOR_PAGES = ("domains_failing", "domains_open", "domains_not_judged")


def folder_of(slug: str) -> Path:
    """Where the findings of an audit stand."""
    return Path(settings.DATA_DIR) / "audits" / slug


def path_of(audit: Audit) -> Path:
    """The file of the attempt that ended the audit; others' files are left over."""
    return folder_of(audit.slug) / f"findings-{audit.attempt}.parquet"


def write(audit: Audit, report: AuditReport) -> tuple[Row, list[Row]]:
    """Write the findings of a report; return its header and its groups by rule.

    Raises ``Unavailable`` when the disk or the object storage refuses.
    """
    found = [(category, row) for category, rows in _categories(report) for row in rows]
    columns = [
        [category for category, _ in found],
        *([row.get(name, "") for _, row in found] for name in _COLUMNS[1:-1]),
        [json.dumps(row, ensure_ascii=False) for _, row in found],
    ]
    table = pa.table(dict(zip(_COLUMNS, columns, strict=True)), schema=_SCHEMA)
    try:
        path = path_of(audit)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary:
            pq.write_table(
                table,
                temporary,
                compression="zstd",
                row_group_size=_GROUP_ROWS,
                write_page_checksum=True,
            )
            files.publish(temporary, path)
    except OSError as error:
        raise Unavailable(f"cannot write the findings: {error.strerror or error}") from error
    header = {
        **header_of(report),
        "suppression_problems": list(report.suppression_problems),
        **_count_domains(audit, report),
    }
    return header, _groups(found)


def _count_domains(audit: Audit, report: AuditReport) -> dict[str, int]:
    """Domains that fail, have open findings, or are not judged in full, each in the first of these.

    The other domains pass every rule that applies to them.
    """
    failing = {f.judgement.subject for f in report.failing(Severity(audit.fail_on))}
    found = {f.judgement.subject for f in report.open_findings} - failing
    unjudged = {f.judgement.subject for f in report.not_judged} - failing - found
    return dict(zip(_FOR_PAGES, map(len, (failing, found, unjudged)), strict=True))


def drop_others(audit: Audit, *, keep_own: bool) -> None:
    """Remove the files of earlier attempts, or that of this one where another ended the audit."""
    own = path_of(audit)
    unwanted = [path for path in files.stored_in(own.parent) if path != own]
    files.remove(*(unwanted if keep_own else [own]))
    with suppress(OSError):  # findings of another attempt stand there
        own.parent.rmdir()


def _categories(report: AuditReport) -> Iterator[tuple[str, list[Row]]]:
    yield "finding", _documents(report.open_findings)
    yield "suppressed", _documents(f for f in report.findings if f.suppressed)
    yield "not-judged", _documents(report.not_judged)
    for category, rows in (("stale", report.stale), ("resolved", report.resolved)):
        yield category, sorted((dict(row) for row in rows), key=_order)


def _documents(findings: Iterable[Finding]) -> list[Row]:
    return [found.as_json() for found in findings]


def _order(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["rule"], row["subject"], row.get("discriminator", "")


def _groups(found: list[tuple[str, Row]]) -> list[Row]:
    """Rows of one category, severity and rule after another, with their place in the file."""
    groups: list[Row] = []
    first = 0
    for (category, severity, rule), rows in groupby(
        found, key=lambda item: (item[0], item[1].get("severity", ""), item[1]["rule"])
    ):
        members = [row for _, row in rows]
        groups.append(
            {
                "category": category,
                "severity": severity,
                "rule": rule,
                "title": members[0].get("title", ""),
                "suggestion": members[0].get("suggestion", ""),
                "first": first,
                "n": len(members),
                "subjects": len({row["subject"] for row in members}),
                "new": sum(row.get("state") == "new" for row in members),
            }
        )
        first += len(members)
    return groups


@lru_cache(maxsize=32)
def _file(path: Path) -> ParquetRows:
    files.fetch(path)
    return ParquetRows(path)


def _open(audit: Audit) -> ParquetRows:
    path = path_of(audit)
    try:
        return _file(path)
    except (OSError, pa.ArrowException) as error:
        name = "/".join(path.parts[-3:])
        raise Damaged(f"the stored file {name} is gone or damaged: {error}") from error


@lru_cache(maxsize=64)
def _column(path: Path, name: str) -> pa.ChunkedArray:
    """One column that findings are filtered by; some megabytes for a million findings."""
    return _file(path).column(name)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which findings are wanted; empty fields filter nothing."""

    category: str = ""
    severity: str = ""
    rule: str = ""
    state: str = ""
    # A part of the domain.
    subject: str = ""
    fingerprint: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(getattr(self, name) for name in self.__slots__)


def places(audit: Audit, wanted: Filter) -> np.ndarray[Any, Any] | range:
    """Numbers of the rows that a filter lets through, in the order of the file."""
    rows = _open(audit)
    if wanted.is_empty:
        return range(rows.n_rows)
    hits: Any = None
    for name in ("category", "severity", "rule", "state", "subject", "fingerprint"):
        text = getattr(wanted, name)
        if not text:
            continue
        column = _column(path_of(audit), name)
        found = pc.match_substring(column, text) if name == "subject" else pc.equal(column, text)
        hits = found if hits is None else pc.and_(hits, found)
    return np.flatnonzero(hits.to_numpy(zero_copy_only=False))


def read_rows(audit: Audit, first: int, count: int) -> list[Row]:
    """``count`` findings from a row of the file on, with their category and number."""
    _open(audit)
    read = _few_rows if count <= _FEW else _few_rows.__wrapped__
    return [
        {"category": category, "row": first + i, **json.loads(document)}
        for i, (category, document) in enumerate(read(path_of(audit), first, count))
    ]


@lru_cache(maxsize=1024)
def _few_rows(path: Path, first: int, count: int) -> list[tuple[str, str]]:
    """Category and document of rows; a file never changes, and a page shows a few of each rule."""
    found = _file(path).rows(first, count, ("category", "document"))
    return [(row["category"], row["document"]) for row in found]


def read_places(audit: Audit, wanted: Iterable[int]) -> list[Row]:
    """The findings of these rows; neighbours are read at once."""
    found: list[Row] = []
    numbers = [int(number) for number in wanted]
    for _, run in groupby(enumerate(numbers), key=lambda item: item[1] - item[0]):
        block = [number for _, number in run]
        found += read_rows(audit, block[0], len(block))
    return found


def read_document(audit: Audit) -> Row:
    """The report as ``audits.output.document`` has it, its lists in the order of the report."""
    lists: dict[str, list[Row]] = {category: [] for category in CATEGORIES}
    rows = _open(audit)
    for row in rows.rows(0, rows.n_rows, ("category", "document")):
        lists[row["category"]].append(json.loads(row["document"]))
    header = {k: v for k, v in audit.report.items() if k not in _FOR_PAGES}
    problems = header.pop("suppression_problems", [])
    return {
        **header,
        "findings": sorted([*lists["finding"], *lists["suppressed"]], key=_severity_order),
        "not_judged": lists["not-judged"],
        "resolved": lists["resolved"],
        "stale": lists["stale"],
        "suppression_problems": problems,
    }


def _severity_order(row: Row) -> tuple[int, str, str, str]:
    return (_RANKS[row["severity"]], *_order(row))


_RANKS = {str(severity): severity.rank for severity in Severity}


def read_baseline(audit: Audit) -> Baseline:
    """Open, suppressed and stale findings by fingerprint, as the next audit compares with them."""
    rows = _open(audit)
    return {
        (document := json.loads(row["document"]))["fingerprint"]: document
        for row in rows.rows(0, rows.n_rows, ("category", "document"))
        if row["category"] in ("finding", "suppressed", "stale")
    }
