"""Paths go in; the ISP next to the cloud on each of them comes out, or the reason why none.

The ISP is the first AS after the cloud's own, seen from the cloud: forwards on paths that begin
there, backwards on paths that lead there.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.wide_area.addresses import Addresses
from analysis.wide_area.columns import Source, read_batches
from analysis.wide_area.walking import DOUBTFUL, Reason, walk_paths

_COLUMNS = ("round", "vantage", "target", "provider", "region", "zone", "direction", "source",
            "destination", "hops")  # fmt: skip
_TEXT = pa.dictionary(pa.int32(), pa.string())
# One row per path: the cloud's end (region, zone), the other end, and what was found between.
ROUTES = pa.schema(
    [
        ("round", pa.int32()),
        ("provider", _TEXT),
        ("region", _TEXT),
        ("zone", _TEXT),
        ("end", _TEXT),
        ("direction", _TEXT),
        ("isp", pa.int64()),
        ("reason", _TEXT),
        ("doubtful", pa.bool_()),
        ("gap", pa.uint8()),
        # The other end answered: only then is a later failure a failure of the way.
        ("reached", pa.bool_()),
    ]
)
_REASONS = pa.array([r.name.lower() for r in Reason])


class _Ends(NamedTuple):
    """Of each path: provider and direction (numbers), and the texts that say where it belongs."""

    ways: NDArray[np.int64]
    providers: list[str]
    regions: list[str]
    directions: list[str]


def find_isps(source: Source, addresses: Addresses) -> pa.Table:
    """One row of ``ROUTES`` per path; raises ``BadInput`` naming a column that is not there."""
    batches = [_find(batch, addresses) for batch in read_batches(source, (*_COLUMNS, "reached"))]
    return pa.concat_tables(batches) if batches else ROUTES.empty_table()


def _find(batch: pa.RecordBatch, addresses: Addresses) -> pa.Table:
    hops = batch.column("hops")
    lengths = pc.fill_null(pc.list_value_length(hops), 0).to_numpy(zero_copy_only=False)
    flat = hops.flatten()
    codes = addresses.number(flat.field("address")).astype(np.int64)
    ttls = flat.field("ttl").to_numpy(zero_copy_only=False).astype(np.int64)
    ends = _place_ends(batch, addresses)
    out = np.empty((batch.num_rows, 3), np.int64)
    walk_paths(codes, ttls, np.cumsum(lengths, dtype=np.int64), ends.ways, addresses.book(), out)
    return _routes(batch, ends, out)


def _routes(batch: pa.RecordBatch, ends: _Ends, out: NDArray[np.int64]) -> pa.Table:
    away = pc.equal(pa.array(ends.directions), "from")
    vantage, target = (batch.column(n).cast(pa.string()) for n in ("vantage", "target"))
    found = out[:, 1] == Reason.FOUND
    columns = [
        batch.column("round"),
        pa.array(ends.providers),
        pa.array(ends.regions),
        batch.column("zone").cast(pa.string()),
        pc.if_else(away, target, vantage),
        pa.array(ends.directions),
        pa.array(out[:, 0], mask=~found),
        _REASONS.take(pa.array(out[:, 1])),
        pa.array(found & ((out[:, 2] & DOUBTFUL) > 0)),
        pa.array(out[:, 2].astype(np.uint8)),
        batch.column("reached"),
    ]
    arrays = [
        pc.dictionary_encode(pc.fill_null(c, "")) if f.type == _TEXT else c.cast(f.type)
        for c, f in zip(columns, ROUTES, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=ROUTES)


def _place_ends(batch: pa.RecordBatch, addresses: Addresses) -> _Ends:
    """Where rows say nothing, the range files say which end is the cloud's."""
    names = ("provider", "region", "direction", "source", "destination")
    columns = [pc.fill_null(batch.column(n).cast(pa.string()), "").to_pylist() for n in names]
    known: dict[Sequence[str], tuple[str, str, str]] = {}
    placed = []
    for row in zip(*columns, strict=True):
        if row not in known:
            known[row] = _place(row, addresses)
        placed.append(known[row])
    providers, regions, directions = ([p[i] for p in placed] for i in range(3))
    number = {p: addresses.provider(p) for p in set(providers)}
    toward = {"from": 0, "to": 1}
    ways = np.array([(number[p], toward.get(d, -1)) for p, _, d in placed], np.int64).reshape(-1, 2)
    return _Ends(ways, providers, regions, directions)


def _place(row: Sequence[str], addresses: Addresses) -> tuple[str, str, str]:
    """(provider, region, direction) of a path, by what it says or by where its ends lie."""
    provider, region, direction, source, destination = row
    for way, address in (("to", destination), ("from", source)):
        if direction in ("", way):
            found = addresses.place(address) if address else ("", "")
            if found[0]:
                return provider or found[0], region or found[1], way
    return provider, region, direction if provider else ""
