"""Remove physically impossible values from imported tables.

One impossible value must not cost the rest of a file: it is counted, and its packet is lost.
"""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.importers.imported_tables import Imported
from analysis.campaigns.importers.public_matrices import MAX_RTT_MS

# No rate exceeds this.
MAX_BYTES_PER_S = 1e13
REASON = "impossible"


def drop_impossible_values(found: Imported) -> Imported:
    """Drop values that are NaN, infinite, negative or too large, and count them as ``REASON``."""
    samples, bad_values = _clean_samples(found.samples)
    paths, bad_hops = _clean_paths(found.paths)
    reasons = found.reasons + Counter({REASON: bad_values + bad_hops})
    return found._replace(samples=samples, paths=paths, reasons=reasons)


def _clean_samples(table: pa.Table) -> tuple[pa.Table, int]:
    lists = table["values"].combine_chunks()
    if not len(lists):
        return table, 0
    values = lists.flatten().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    rates = pc.match_substring(table["probe"].cast(pa.string()), "throughput").to_numpy()
    most = np.where(np.repeat(rates, lengths), MAX_BYTES_PER_S, MAX_RTT_MS)
    good = (values >= 0) & (values <= most)
    if good.all():
        return table, 0
    ends = np.concatenate([[0], np.cumsum(good)])[np.concatenate([[0], np.cumsum(lengths)])]
    kept = pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), pa.array(values[good]))
    silent = pa.array((np.diff(ends) == 0) & (lengths > 0))
    status = pc.if_else(silent, "TIMEOUT", table["status"].cast(pa.string()))
    table = _with(table, "values", kept)
    return _with(table, "status", status.combine_chunks().dictionary_encode()), _count(~good)


def _clean_paths(table: pa.Table) -> tuple[pa.Table, int]:
    lists = table["hops"].combine_chunks()
    if not len(lists):
        return table, 0
    flat = lists.flatten()
    times = flat.field("rtt_ms")
    answered = pc.is_valid(times).to_numpy(zero_copy_only=False)
    rtts = pc.fill_null(times, 0.0).to_numpy(zero_copy_only=False)
    bad = answered & ~((rtts >= 0) & (rtts <= MAX_RTT_MS))
    if not bad.any():
        return table, 0
    fields = list(flat.type)
    columns = [flat.field(f.name) for f in fields[:-1]]
    own = pa.StructArray.from_arrays(
        [*columns, pa.array(rtts, pa.float32(), mask=~answered | bad)], fields=fields
    )
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return _with(table, "hops", pa.ListArray.from_arrays(pa.array(offsets), own)), _count(bad)


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    number = table.schema.get_field_index(name)
    return table.set_column(number, name, column.cast(table.schema.field(name).type))


def _count(which: NDArray[np.bool_]) -> int:
    return int(which.sum())
