"""Import ping and traceroute results of RIPE Atlas (JSON array or lines) as Arrow tables.

Unreadable results are counted by reason, never dropped silently.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from analysis.campaigns.importers.ripe_atlas_records import RecordReader
from core.errors import BadInput
from lake.campaigns import HOP, fill_table

# One round is a quarter of an hour, as in IMC'13.
ROUND_S = 900
# Types of results that are imported.
KINDS = ("ping", "traceroute")


class _Results(NamedTuple):
    """Results of one type: common columns, elements and replies.

    Elements and replies are flat; ``per_result`` (elements per result) and ``per_element``
    (replies per element) are their lengths, int64.
    """

    common: pa.Table
    ttls: NDArray[np.uint8]
    is_error: NDArray[np.bool_]
    # NaN where there is none.
    element_rtts: NDArray[np.float32]
    per_result: NDArray[np.int64]
    per_element: NDArray[np.int64]
    addresses: pa.DictionaryArray
    rtts: NDArray[np.float32]
    # Codes of the destinations in the dictionary of the addresses; -1 where there is none.
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, rows: pa.Table, kind: str, round_s: int) -> "_Results":
        """Flatten results of one type, without late replies and second replies to a packet."""
        results = rows["result"].combine_chunks()
        elements, per_result = results.flatten(), _lengths(results)
        lists = pc.struct_field(elements, "result")
        replies, per_element = lists.flatten(), _lengths(lists)
        first = ~_bits(pc.struct_field(replies, "dup"))
        per_element = _count(first, per_element)
        kept = ~_bits(pc.struct_field(elements, "dup")) | (per_element > 0)
        replies = replies if first.all() else replies.filter(pa.array(first))
        late = pc.is_valid(pc.struct_field(replies, "late"))
        addresses, ends = _number(pc.struct_field(replies, "from"), rows["dst_addr"])
        return cls(
            _common(rows, kind, round_s),
            pc.fill_null(pc.struct_field(elements, "hop"), 0).to_numpy()[kept],
            _bits(pc.is_valid(pc.struct_field(elements, "error")))[kept],
            _reals(pc.struct_field(elements, "rtt"))[kept],
            _count(kept, per_result),
            per_element[kept],
            _drop(addresses, late),
            _reals(_drop(pc.struct_field(replies, "rtt"), late)),
            ends,
        )


@dataclass
class AtlasFiles:
    """Files of results; ``seen`` counts results in them, ``read`` those that became a row.

    ``reasons`` counts the others: not_json, cut, damaged, other_kind, no_probe, no_time,
    no_result.
    """

    paths: Sequence[Path]
    round_s: int = ROUND_S
    seen: int = 0
    read: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def malformed(self) -> int:
        """The number of results that did not become a row."""
        return self.seen - self.read

    def traceroutes(self) -> Iterator[pa.Table]:
        """Yield tables of paths; raise ``BadInput`` for files that are not JSON."""
        return (table for _, table in self.tables(("traceroute",)))

    def pings(self) -> Iterator[pa.Table]:
        """Yield tables of samples; raise ``BadInput`` for files that are not JSON."""
        return (table for _, table in self.tables(("ping",)))

    def tables(self, kinds: Sequence[str] = KINDS) -> Iterator[tuple[str, pa.Table]]:
        """Yield (table name, table) of results of some types; raise ``BadInput``."""
        self.seen = self.read = 0
        self.reasons = Counter()
        reader = RecordReader()
        for path in self.paths:
            before, lost = self.seen, reader.lost.total()
            for rows in reader.read(path):
                self.seen += len(rows)
                for kind, own in self._choose(rows, kinds):
                    self.read += len(own)
                    name, build = _TABLES[kind]
                    yield name, build(_Results.of(own, kind, self.round_s))
            if self.seen == before and reader.lost.total() > lost:
                raise BadInput(f"the results cannot be read: {path.name} holds no JSON object")
        self.seen += reader.lost.total()
        self.reasons += reader.lost

    def _choose(self, rows: pa.Table, kinds: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
        """Yield the complete results of each type; count the others by the first missing field."""
        kept = _bits(pc.is_in(rows["type"], pa.array(kinds, pa.string())))
        self._add("other_kind", ~kept)
        for name, reason in (
            ("prb_id", "no_probe"),
            ("timestamp", "no_time"),
            ("result", "no_result"),
        ):
            there = _bits(pc.is_valid(rows[name]))
            self._add(reason, kept & ~there)
            kept = kept & there
        for kind in kinds:
            chosen = kept & _bits(pc.equal(rows["type"], kind))
            if chosen.any():
                yield kind, rows if chosen.all() else rows.filter(pa.array(chosen))

    def _add(self, reason: str, which: NDArray[np.bool_]) -> None:
        if number := int(which.sum()):
            self.reasons[reason] += number


def _bits(column: Any) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), bool)


def _lengths(lists: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(pc.list_value_length(lists), 0).to_numpy(), np.int64)


def _count(kept: NDArray[np.bool_], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of each run are kept, from the lengths of the runs."""
    return np.diff(_starts(kept)[_starts(lengths)])


def _drop(column: pa.Array, late: pa.Array) -> pa.Array:
    """Return a column of replies with null for the late ones."""
    return pc.if_else(late, None, column) if pc.any(late).as_py() else column


def _reals(column: pa.Array) -> NDArray[np.float32]:
    values = np.array(pc.fill_null(column, np.float32(np.nan)).to_numpy(), np.float32)
    values[np.isinf(values)] = np.nan
    return values


def _number(addresses: pa.Array, ends: Any) -> tuple[pa.DictionaryArray, NDArray[np.int64]]:
    """Return addresses and codes of destinations, of one dictionary."""
    both = pa.concat_arrays([addresses, ends.combine_chunks()]).dictionary_encode()
    numbers = pc.fill_null(both.indices, -1).to_numpy().astype(np.int64)
    return both[: len(addresses)], numbers[len(addresses) :]


def _common(rows: pa.Table, kind: str, round_s: int) -> pa.Table:
    """Return the columns common to all types of results."""
    at = rows["timestamp"].to_numpy()
    proto = pc.utf8_lower(pc.fill_null(rows["proto"], ""))
    columns = {
        "round": pa.array(at // round_s),
        "vantage": pc.binary_join_element_wise("atlas", rows["prb_id"].cast(pa.string()), "-"),
        "target": pc.coalesce(rows["dst_name"], rows["dst_addr"], ""),
        "at": pa.array(at * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
        "probe": pc.binary_join_element_wise(kind, proto, "-"),
        "source": pc.coalesce(rows["src_addr"], rows["from"], ""),
        "destination": pc.fill_null(rows["dst_addr"], ""),
        "flow": pc.fill_null(rows["paris_id"], 0),
        "sent": pc.fill_null(rows["sent"], 0),
    }
    return pa.table(columns)


def _samples(found: _Results) -> pa.Table:
    rtts = found.element_rtts
    answered = ~np.isnan(rtts)
    offsets = _starts(answered)[_starts(found.per_result)]
    values = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rtts[answered]))
    sent = np.maximum(found.common["sent"].to_numpy(), found.per_result)
    status = _status(found, pa.array(np.diff(offsets) > 0))
    extra = {"sent": pa.array(sent), "values": values, "status": status}
    return fill_table("samples", found.common, extra)


def _paths(found: _Results) -> pa.Table:
    offsets = _starts(found.per_element)[_starts(found.per_result)]
    ttls = np.repeat(found.ttls, found.per_element)
    rtts = pa.array(found.rtts, mask=np.isnan(found.rtts))
    flat = pa.StructArray.from_arrays([pa.array(ttls), found.addresses, rtts], fields=list(HOP))
    reached = _reached(found.ends, found.addresses, offsets)
    extra = {
        "hops": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat),
        "reached": reached,
        "status": _status(found, reached),
    }
    return fill_table("paths", found.common, extra)


def _status(found: _Results, succeeded: pa.Array) -> pa.Array:
    """Return the status per result; an error status only where every packet had an error."""
    rows = np.repeat(np.arange(len(found.common)), found.per_result)
    wrong = np.bincount(rows[found.is_error], minlength=len(found.common)) == found.per_result
    wrong &= found.per_result > 0
    reason = pc.if_else(pa.array(found.ends >= 0), "UNREACHABLE", "NO_NAME")
    return pc.if_else(succeeded, "OK", pc.if_else(pa.array(wrong), reason, "TIMEOUT"))


_TABLES: dict[str, tuple[str, Callable[[_Results], pa.Table]]] = {
    "ping": ("samples", _samples),
    "traceroute": ("paths", _paths),
}


def _starts(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def _reached(
    ends: NDArray[np.int64], addresses: pa.DictionaryArray, offsets: NDArray[np.int64]
) -> pa.Array:
    """Return whether the destination is among the replies of each path."""
    rows = np.repeat(np.arange(len(ends)), np.diff(offsets))
    same = pc.fill_null(addresses.indices, -2).to_numpy() == ends[rows]
    return pa.array(np.bincount(rows[same], minlength=len(ends)) > 0)
