"""Answers as JSON lines or as a Parquet file."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from core.records import Answer
from lake.schemas import SCHEMAS

_ROWS_PER_GROUP = 50_000
_LEFT_OUT = {"domain", "technique"}
SCHEMA = pa.schema([f for f in SCHEMAS["lookups"] if f.name not in _LEFT_OUT])


def answer_json(answer: Answer) -> str:
    """One line of ``resolve``: the stable JSON form; ``at`` is ISO 8601 in UTC."""
    return json.dumps(_row(answer, _iso(answer.at)), ensure_ascii=False, separators=(",", ":"))


def _row(answer: Answer, at: Any) -> dict[str, Any]:
    return {**answer.as_json(), "status": str(answer.status), "at": at}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_answers(answers: Iterable[Answer], path: Path) -> int:
    """Write answers to one Parquet file (renamed into place at the end); returns how many."""
    temporary, count, source = path.with_name(f".{path.name}.tmp"), 0, iter(answers)
    try:
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer:
            while batch := list(islice(source, _ROWS_PER_GROUP)):
                rows = [_row(a, datetime.fromtimestamp(a.at, UTC)) for a in batch]
                writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
                count += len(rows)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return count
