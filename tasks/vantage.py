"""What a vantage worker runs: parcels of questions in, of answers out; no Django.

A vantage point is a Celery worker that consumes the queue ``vantage.NAME``. It asks its own name
servers, so that the answers are those of its place.
"""

import base64
import binascii
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from core.environment import read_list
from core.errors import BadInput
from core.records import Answer
from crawlers.engine import Question
from crawlers.pace import Pace
from lake.schemas import SCHEMAS
from tasks.app import app
from tasks.pace import pace_for
from tasks.resolvers import Resolving, open_engine

STORE_TASK = "tasks.second_pass.store_batch"
QUESTIONS = pa.schema([("name", pa.string()), ("type", pa.string())])
# The store knows by itself whose domain a name is, and whom it asked.
ANSWERS = pa.schema(
    [field for field in SCHEMAS["vantage_lookups"] if field.name not in ("domain", "vantage")]
)
# A thousand answers are some tens of kilobytes; more than this is no parcel of ours.
_LARGEST_PARCEL = 64 * 1024 * 1024


def pack(table: pa.Table) -> str:
    """Columns as text for a message: an Arrow stream, compressed."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return base64.b85encode(sink.getvalue().to_pybytes()).decode("ascii")


def unpack(parcel: str, schema: pa.Schema) -> pa.Table:
    """The columns of a parcel; raises ``BadInput`` for anything but a table of ``schema``."""
    if len(parcel) > _LARGEST_PARCEL:
        raise BadInput("a parcel is too large", field="batch")
    try:
        with pa.ipc.open_stream(base64.b85decode(parcel)) as reader:
            table = reader.read_all()
        table.validate(full=True)
    except (ValueError, binascii.Error, pa.ArrowException, OSError) as error:
        raise BadInput(f"a parcel is damaged: {error}", field="batch") from error
    if table.schema != schema:
        raise BadInput("a parcel has other columns; do all workers run one version?", field="batch")
    return table


@app.task(name="tasks.vantage.resolve_batch")
def resolve_batch(batch: int, parcel: str, options: dict[str, Any], vantage: str = "") -> None:
    """Ask a batch's questions from here and send the answers home."""
    here = replace(Resolving.from_json(options), name_servers=own_name_servers())
    pace = pace_for(here, in_worker=True, place=vantage)
    answers = ask_all(unpack(parcel, QUESTIONS), here, pace)
    app.send_task(STORE_TASK, args=[batch, pack(answers)], queue="crawl")


def ask_all(questions: pa.Table, options: Resolving, pace: Pace | None = None) -> pa.Table:
    """One answer per question, failures included."""
    columns = (questions["name"].to_pylist(), questions["type"].to_pylist())
    asked = [Question(name, rrtype) for name, rrtype in zip(*columns, strict=True)]
    with open_engine(options, pace) as engine:
        rows = [_row(answer) for _, answer in engine.resolve(asked)]
    return pa.Table.from_pylist(rows, schema=ANSWERS)


def own_name_servers() -> tuple[str, ...]:
    """This place's servers, from the worker's own environment; none for the system's."""
    return tuple(read_list("NEPHOSCOPE_NAME_SERVERS"))


def _row(answer: Answer) -> dict[str, Any]:
    row = answer.as_json()
    return {**row, "status": str(answer.status), "at": datetime.fromtimestamp(answer.at, UTC)}
