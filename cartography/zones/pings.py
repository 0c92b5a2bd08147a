"""Reduce CSV files of millions of pings to the minimum round trip per target and probe zone.

Files with any invalid row give ``None``; ``input_files`` reads those and names the line.
"""

import io

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cartography.zones.observations import RoundTrip

_KEYS = ("region", "target", "account", "zone")
_NEEDED = ("target", "zone")


def read_columns(data: bytes, longest_ms: float) -> list[RoundTrip] | None:
    """Round trips of a sound CSV file, one per target, account and zone."""
    try:
        table = _load(data)
        texts = table["rtt_ms"]
        unanswered = pc.equal(texts, "")
        values = pc.cast(pc.if_else(unanswered, pa.scalar(None, pa.string()), texts), pa.float64())
    except (pa.ArrowException, KeyError, UnicodeDecodeError):
        return None
    missing = [pc.any(pc.equal(table[name], "")).as_py() for name in _NEEDED]
    bounds = pc.min_max(values).as_py()
    strange = pc.any(pc.is_nan(values)).as_py()
    inside = bounds["min"] is None or 0 <= bounds["min"] <= bounds["max"] <= longest_ms
    if any(missing) or strange or not inside:
        return None
    columns = {name: table[name] for name in _KEYS} | {"rtt_ms": values}
    smallest = pa.table(columns).group_by(list(_KEYS), use_threads=False)
    rows = smallest.aggregate([("rtt_ms", "min")]).select([*_KEYS, "rtt_ms_min"])
    return [RoundTrip(*row) for row in zip(*(c.to_pylist() for c in rows), strict=True)]


def _load(data: bytes) -> pa.Table:
    """All columns that count as trimmed text; absent ones are empty."""
    text = data.decode("utf-8-sig").encode()
    head = text.split(b"\n", 1)[0].decode().rstrip("\r")
    names = [name.strip().strip('"').lower() for name in head.split(",")]
    types = {name: pa.string() for name in names}
    table = csv.read_csv(
        io.BytesIO(text),
        read_options=csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
        convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=False),
    )
    empty = pa.array([""] * len(table))
    return pa.table(
        {
            name: pc.utf8_trim_whitespace(table[name]) if name in names else empty
            for name in (*_KEYS, "rtt_ms")
            if name in names or name not in (*_NEEDED, "rtt_ms")
        }
    )
