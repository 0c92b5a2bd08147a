"""Find the downstream ISP of each path, or the reason why there is none.

The downstream ISP is the first AS after the cloud's ASes, seen from the cloud: hops are read
forwards on paths from the cloud and backwards on paths towards it (IMC'13 section 5.3).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.importers.csv_columns import Source, Vocabulary, read_batches
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.first_as_kernel import DOUBTFUL, Reason, walk_paths

_COLUMNS = (
    "round",
    "vantage",
    "target",
    "provider",
    "region",
    "zone",
    "direction",
    "source",
    "destination",
    "hops",
)
_ENDS = ("provider", "region", "direction", "source", "destination")
_TOWARD = {"from": 0, "to": 1}
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
        # The other end answered: only then does a later failure mean a lost route.
        ("reached", pa.bool_()),
    ]
)
_REASONS = [r.name.lower() for r in Reason]


class _Ends(NamedTuple):
    """The cloud end of each path.

    ``provider_directions`` is (n_paths, 2) int64: provider bit and direction.
    """

    provider_directions: NDArray[np.int64]
    providers: pa.Array
    regions: pa.Array
    directions: pa.Array


def find_isps(source: Source, addresses: Addresses) -> pa.Table:
    """Return one row of ``ROUTES`` per path; raise ``BadInput`` naming a missing column."""
    batches = [_find(batch, addresses) for batch in read_batches(source, (*_COLUMNS, "reached"))]
    return pa.concat_tables(batches) if batches else ROUTES.empty_table()


def _find(batch: pa.RecordBatch, addresses: Addresses) -> pa.Table:
    hops = batch.column("hops")
    lengths = pc.fill_null(pc.list_value_length(hops), 0).to_numpy(zero_copy_only=False)
    flat = hops.flatten()
    codes = addresses.number(flat.field("address"))
    ttls = flat.field("ttl").to_numpy(zero_copy_only=False).astype(np.int64)
    ends = _place_ends(batch, addresses)
    out = np.empty((batch.num_rows, 3), np.int64)
    walk_paths(
        codes,
        ttls,
        np.cumsum(lengths, dtype=np.int64),
        ends.provider_directions,
        addresses.table(),
        out,
    )
    return _routes(batch, ends, out)


def _routes(batch: pa.RecordBatch, ends: _Ends, out: NDArray[np.int64]) -> pa.Table:
    away = pc.equal(ends.directions, "from")
    vantage, target = (batch.column(n).cast(pa.string()) for n in ("vantage", "target"))
    found = out[:, 1] == Reason.FOUND
    codes = pa.array(out[:, 1].astype(np.int32))
    reasons = pa.DictionaryArray.from_arrays(codes, pa.array(_REASONS))
    columns = [
        batch.column("round"),
        ends.providers,
        ends.regions,
        _coded(batch.column("zone")),
        _coded(pc.if_else(away, target, vantage)),
        ends.directions,
        pa.array(out[:, 0], mask=~found),
        reasons,
        pa.array(found & ((out[:, 2] & DOUBTFUL) > 0)),
        pa.array(out[:, 2].astype(np.uint8)),
        batch.column("reached"),
    ]
    arrays = [c.cast(f.type) for c, f in zip(columns, ROUTES, strict=True)]
    return pa.Table.from_arrays(arrays, schema=ROUTES)


def _coded(column: pa.Array) -> pa.Array:
    """Dictionary-encode a column."""
    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def _place_ends(batch: pa.RecordBatch, addresses: Addresses) -> _Ends:
    """Determine the cloud end of each path; missing fields are derived from the range files."""
    words = [Vocabulary() for _ in _ENDS]
    codes = [w.encode(batch.column(n)) for w, n in zip(words, _ENDS, strict=True)]
    shape = [len(w) for w in words]
    # Equal rows are placed once.
    distinct, inverse = np.unique(np.ravel_multi_index(codes, shape), return_inverse=True)
    texts_of = [w.values for w in words]
    placed = [
        _place([w[i] or "" for w, i in zip(texts_of, row, strict=True)], addresses)
        for row in zip(*np.unravel_index(distinct, shape), strict=True)
    ]
    numbers = [(addresses.provider(p), _TOWARD.get(d, -1)) for p, _, d in placed]
    texts = (pa.array([p[i] for p in placed], pa.string()) for i in range(3))
    taken = (text.dictionary_encode().take(pa.array(inverse)) for text in texts)
    return _Ends(np.array(numbers, np.int64)[inverse], *taken)


def _place(row: Sequence[str], addresses: Addresses) -> tuple[str, str, str]:
    """Return (provider, region, direction) of a path from its row or the ranges of its ends."""
    provider, region, direction, source, destination = row
    for end_direction, address in (("to", destination), ("from", source)):
        if direction in ("", end_direction):
            found = addresses.place(address) if address else ("", "")
            if found[0]:
                return provider or found[0], region or found[1], end_direction
    return provider, region, direction if provider else ""
