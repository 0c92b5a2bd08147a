"""Traceroutes as runs with values: hops to the target, and differences from the run before.

The columns are those of samples, with ``changed`` and ``prevalent``, so that the report of path
stability is computed like that of any other probe.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.importers.csv_columns import Source, Vocabulary, read_batches
from analysis.campaigns.routes.path_runs_kernel import compare_paths

PROBE = "traceroute"
Integers = NDArray[np.int64]
# The ends and the flow of a series of traceroutes, then what orders the runs of one.
_SERIES = ("vantage", "target", "zone", "flow")
_COLUMNS = (*_SERIES, "round", "region", "at", "reached", "hops")
_TEXTS = ("vantage", "target", "zone", "region")
_NUMBERS = ("flow", "round", "at", "reached")


def build_path_runs(paths: Source) -> pa.Table:
    """Return one row per traceroute; raise ``BadInput`` naming a missing column.

    ``values`` has the number of hops of a target that was reached. ``changed`` is 1 where a hop
    that answered in this traceroute and in the one before it, of the same ends and flow, has no
    address in common, 0 where none differs, null for the first. ``prevalent`` is 1 on the most
    frequent route of its ends and flow.
    """
    batches = list(read_batches(paths, _COLUMNS))
    if not batches:
        return pa.table({})
    words = {name: Vocabulary() for name in (*_TEXTS, "address")}
    codes = {name: _joined(words[name].encode(b.column(name)) for b in batches) for name in _TEXTS}
    numbers = {name: _joined(_integers(b.column(name)) for b in batches) for name in _NUMBERS}
    lengths = _joined(_integers(pc.list_value_length(b.column("hops"))) for b in batches)
    hops = [b.column("hops").flatten() for b in batches]
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    addresses = _joined(_address_codes(words["address"], h) for h in hops)
    ttls = _joined(_integers(h.field("ttl")) for h in hops)
    series = _series([codes["vantage"], codes["target"], codes["zone"], numbers["flow"]])
    order = np.lexsort((numbers["at"], numbers["round"], series))
    found = np.empty((len(series), 2), np.int64)
    compare_paths(addresses, ttls, bounds, order, series, found)
    changed, identity = found.T
    columns = {
        name: pa.array(words[name].values, pa.string()).take(pa.array(codes[name]))
        for name in ("vantage", "region", "zone")
    }
    reached = numbers["reached"] > 0
    return pa.table(
        {
            **columns,
            "at": pa.concat_arrays([b.column("at") for b in batches]),
            "probe": pa.repeat(pa.scalar(PROBE), len(series)),
            "sent": pa.array(np.ones(len(series), np.int32)),
            "values": _hop_counts(ttls, bounds, reached),
            "detail": pa.repeat(pa.scalar(""), len(series)),
            "changed": pa.array(changed.astype(np.int8), mask=changed < 0),
            "prevalent": pa.array(_is_prevalent(series, identity).astype(np.int8)),
        }
    )


def _joined(parts: Iterable[NDArray[Any]]) -> Integers:
    found: Integers = np.concatenate(list(parts)).astype(np.int64)
    return found


def _integers(column: pa.Array) -> Integers:
    """Return a column as (n,) int64; null is 0."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    found = pc.fill_null(column.cast(pa.int64()), 0)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def _address_codes(words: Vocabulary, hops: pa.StructArray) -> Integers:
    """Return the codes of addresses, -1 for hops without an answer."""
    column = hops.field("address")
    found = words.encode(column).astype(np.int64)
    text = column.cast(pa.string())
    is_silent = pc.fill_null(pc.equal(text, ""), True).to_numpy(zero_copy_only=False)
    found[is_silent] = -1
    return found


def _series(keys: list[Integers]) -> Integers:
    """Number the distinct combinations of keys, (n,) int64."""
    number = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        _, code = np.unique(key, return_inverse=True)
        _, number = np.unique(number * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return number.astype(np.int64)


def _hop_counts(ttls: Integers, bounds: Integers, reached: NDArray[np.bool_]) -> pa.Array:
    """Return the largest TTL of each path that reached its target, as lists of one value."""
    most = np.zeros(len(reached), np.int64)
    is_filled = bounds[1:] > bounds[:-1]
    if len(ttls):
        most[is_filled] = np.maximum.reduceat(ttls, bounds[:-1][is_filled])
    has_value = reached & is_filled
    offsets = np.concatenate([[0], np.cumsum(has_value)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(most[has_value].astype(np.float32)))


def _is_prevalent(series: Integers, identity: Integers) -> NDArray[np.bool_]:
    """Return whether each path is the most frequent one of its series, the first among equals."""
    pairs = np.stack([series, identity], axis=1)
    distinct, inverse, counts = np.unique(pairs, axis=0, return_inverse=True, return_counts=True)
    owners = distinct[:, 0]
    # Pairs are sorted by series; a stable sort by count leaves the most frequent one last.
    order = np.lexsort((counts, owners))
    is_last = np.append(owners[order][1:] != owners[order][:-1], True)
    chosen = np.zeros(len(owners), bool)
    chosen[order[is_last]] = True
    found: NDArray[np.bool_] = chosen[inverse.reshape(-1)]
    return found
