"""Zeek's JSON form as columns of text, by kind: one object per line, nested or flat.

A line that is no whole object is counted; fields that a line lacks are null.
"""

import json
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cartography.traffic.error_counts import ErrorCounts
from cartography.traffic.readers.line_blocks import Block
from cartography.traffic.readers.log_kinds import FIELDS, NEEDED, TELLING
from cartography.traffic.readers.zeek_rows import CUT, NO_ADDRESSES, OTHER_LOG, drop_unreadable

NOT_JSON = "no JSON object"
_NAMES = tuple(
    dict.fromkeys([f for own in FIELDS.values() for f in own] + [f for _, t in TELLING for f in t])
)
_NESTED = {
    "id": ("orig_h", "orig_p", "resp_h", "resp_p"),
    "certificate": ("subject", "serial"),
    "san": ("dns",),
}


def _shape() -> str:
    """What is read of an object. Some writers nest what Zeek writes with dots."""
    flat = dict.fromkeys((*_NAMES, "_path"), "VARCHAR")
    return json.dumps(flat)


def _shape_nested() -> str:
    return json.dumps({k: dict.fromkeys(names, "VARCHAR") for k, names in _NESTED.items()})


def _value(name: str) -> str:
    outer, _, inner = name.partition(".")
    if inner and inner in _NESTED.get(outer, ()):
        return f'coalesce(flat."{name}", nested."{outer}"."{inner}")'
    return f'flat."{name}"'


def _kind() -> str:
    """The kind by the object's own path, else by its fields."""
    cases = " ".join(
        f"WHEN coalesce({', '.join(map(_value, own))}) IS NOT NULL THEN '{kind}'"
        for kind, own in TELLING
    )
    return f"coalesce(lower(flat._path), CASE {cases} ELSE '' END)"


# ``id`` is a text in logs of certificates and an object in nested ones of connections, so that
# the nested shape is read only from lines that have one.
_READ = f"""
WITH parsed AS (
  SELECT line, from_json(text, '{_shape()}') AS flat,
    CASE WHEN regexp_matches(text, '"(id|certificate|san)"\\s*:\\s*\\{{')
         THEN from_json(text, '{_shape_nested()}') END AS nested
  FROM objects)
SELECT line, {_kind()} AS kind, {", ".join(f'{_value(name)} AS "{name}"' for name in _NAMES)}
FROM parsed ORDER BY line
"""


class ObjectReader:
    """Blocks of JSON lines in, tables of text by kind out."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})

    def read(self, block: Block, tally: ErrorCounts) -> Iterator[tuple[str, pa.Table]]:
        """The kinds of a block and their rows as text, with their ``line``."""
        data, lines = drop_unreadable(block.data, block.lines, tally)
        objects = self._drop_broken(_texts(data, lines), tally, block)
        # An ``id`` that is an object is no certificate's id, and reads as its text.
        self._connection.register("objects", objects)
        table = self._connection.sql(_READ).to_arrow_table()
        self._connection.unregister("objects")
        for kind in pc.unique(table["kind"]).to_pylist():
            rows = table.filter(pc.equal(table["kind"], kind))
            reason = _skip_reason(kind, rows)
            if reason:
                tally.add(reason, rows["line"][:5].to_pylist(), rows.num_rows)
            else:
                yield kind, rows.select([*FIELDS[kind], "line"])

    def _drop_broken(self, objects: pa.Table, tally: ErrorCounts, block: Block) -> pa.Table:
        self._connection.register("texts", objects)
        found = self._connection.sql(
            "SELECT coalesce(try(json_type(text)) = 'OBJECT', false) FROM texts"
        ).to_arrow_table()
        self._connection.unregister("texts")
        good = found.column(0).combine_chunks()
        bad = objects["line"].filter(pc.invert(good)).to_pylist()
        if bad and block.ends_open and bad[-1] == block.lines[-1]:
            tally.add(CUT, [bad.pop()])
        tally.add(NOT_JSON, bad)
        return objects.filter(good)


def _skip_reason(kind: str, rows: pa.Table) -> str:
    if kind not in FIELDS:
        return OTHER_LOG
    empty = all(rows[name].null_count == rows.num_rows for name in NEEDED[kind])
    return NO_ADDRESSES if empty else ""


def _texts(data: bytes, lines: NDArray[np.int64]) -> pa.Table:
    """The lines as a column over the same bytes, newlines included."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    if len(ends) < len(lines):
        ends = np.append(ends, len(data))
    offsets = np.append(0, ends).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    texts = pa.LargeStringArray.from_buffers(len(lines), buffers[1], buffers[2])
    return pa.table({"line": lines, "text": texts})
