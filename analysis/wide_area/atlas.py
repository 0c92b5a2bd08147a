"""RIPE Atlas: ping and traceroute results as JSON, in an array or line by line, become tables.

Results that cannot be read are counted, never dropped in silence.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from core.errors import BadInput
from lake.measurements import HOP, fill_table

# The study's: one round is a quarter of an hour.
ROUND_S = 900
_BATCH_ROWS = 65_536
_TYPES = {
    **dict.fromkeys(("type", "dst_addr", "dst_name", "src_addr", "from", "proto"), "VARCHAR"),
    **dict.fromkeys(("prb_id", "timestamp"), "BIGINT"),
    **dict.fromkeys(("paris_id", "sent"), "INTEGER"),
    "result": [
        {
            "hop": "INTEGER",
            "rtt": "DOUBLE",
            "result": [{"from": "VARCHAR", "rtt": "DOUBLE", "late": "INTEGER"}],
        }
    ],
}
# A field of another type than it should have is lost, and the rest of the result stays.
_RESULTS = (
    f"SELECT unnest(json_transform(json, '{json.dumps(_TYPES)}')) "
    "FROM read_json_objects($files, maximum_object_size=$size)"
)
_MAX_OBJECT_BYTES = 1 << 26


@dataclass
class AtlasFiles:
    """Files of results; ``seen`` and ``read`` count what was in them and became a row."""

    paths: Sequence[Path]
    round_s: int = ROUND_S
    seen: int = 0
    read: int = 0

    @property
    def malformed(self) -> int:
        """Results of another kind, or without what makes them one."""
        return self.seen - self.read

    def traceroutes(self) -> Iterator[pa.Table]:
        """Tables of paths; raises ``BadInput`` for files that are no JSON."""
        for batch in self._rows("traceroute"):
            yield _paths(batch)

    def pings(self) -> Iterator[pa.Table]:
        """Tables of samples; raises ``BadInput`` for files that are no JSON."""
        for batch in self._rows("ping"):
            yield _samples(batch)

    def _rows(self, kind: str) -> Iterator[pa.Table]:
        self.seen = self.read = 0
        given = {"files": [str(p) for p in self.paths], "size": _MAX_OBJECT_BYTES}
        with duckdb.connect(":memory:") as connection:
            try:
                # What is more than reading is done on columns: the planner would read each
                # object once for each field that is asked for.
                for batch in connection.sql(_RESULTS, params=given).to_arrow_reader(_BATCH_ROWS):
                    kept = _common(pa.Table.from_batches([batch]), kind, self.round_s)
                    self.seen += batch.num_rows
                    self.read += kept.num_rows
                    yield kept
            except duckdb.Error as error:
                raise BadInput(f"the results cannot be read: {error}") from error


def _common(found: pa.Table, kind: str, round_s: int) -> pa.Table:
    """The results of a kind that say who measured and when, with what all kinds share."""
    whole = pc.fill_null(pc.equal(found["type"], kind), False)
    for name in ("prb_id", "timestamp", "result"):
        whole = pc.and_(whole, pc.is_valid(found[name]))
    kept = found if pc.all(whole).as_py() else found.filter(whole)
    vantage = pc.binary_join_element_wise("atlas", kept["prb_id"].cast(pa.string()), "-")
    proto = pc.utf8_lower(pc.fill_null(kept["proto"], ""))
    columns = {
        "round": pc.divide(kept["timestamp"], round_s),
        "vantage": vantage,
        "target": pc.coalesce(kept["dst_name"], kept["dst_addr"], ""),
        "at": pc.multiply(kept["timestamp"], 1_000_000).cast(pa.timestamp("us", tz="UTC")),
        "probe": pc.binary_join_element_wise(kind, proto, "-"),
        "source": pc.coalesce(kept["src_addr"], kept["from"], ""),
        "destination": pc.fill_null(kept["dst_addr"], ""),
        "flow": pc.fill_null(kept["paris_id"], 0),
        "sent": kept["sent"],
        "result": kept["result"],
    }
    return pa.table(columns)


def _samples(batch: pa.Table) -> pa.Table:
    result = batch["result"].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(result), 0).to_numpy()
    rtts = result.flatten().field("rtt")
    heard = np.asarray(pc.is_valid(rtts))
    before = np.concatenate([[0], np.cumsum(heard)])
    offsets = before[np.concatenate([[0], np.cumsum(lengths)])]
    values = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), rtts.drop_null().cast(pa.float32())
    )
    sent = np.maximum(pc.fill_null(batch["sent"], 0).to_numpy(), lengths)
    status = pc.if_else(pa.array(np.diff(offsets) > 0), "OK", "TIMEOUT")
    return fill_table(
        "samples", batch, {"sent": pa.array(sent), "values": values, "status": status}
    )


def _paths(batch: pa.Table) -> pa.Table:
    """Replies stand in one run; hops and paths are lengths in it."""
    result = batch["result"].combine_chunks()
    hops = result.flatten()
    replies = hops.field("result").flatten()
    per_hop = pc.fill_null(pc.list_value_length(hops.field("result")), 0).to_numpy()
    ends = np.concatenate([[0], np.cumsum(per_hop)])
    hops_of = pc.fill_null(pc.list_value_length(result), 0).to_numpy()
    offsets = ends[np.concatenate([[0], np.cumsum(hops_of)])]
    address, rtt = _answers(replies)
    ttl = np.repeat(pc.fill_null(hops.field("hop"), 0).to_numpy(), per_hop).astype(np.uint8)
    flat = pa.StructArray.from_arrays([pa.array(ttl), address, rtt], fields=list(HOP))
    listed = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)
    reached = _reached(batch["destination"].combine_chunks(), address, offsets)
    extra = {
        "hops": listed,
        "reached": reached,
        "status": pc.if_else(reached, "OK", "TIMEOUT"),
    }
    return fill_table("paths", batch, extra)


def _answers(replies: pa.StructArray) -> tuple[pa.DictionaryArray, pa.Array]:
    """Addresses and round trips; a late reply answers an earlier packet, so nobody answered."""
    address = replies.field("from").dictionary_encode()
    rtt = replies.field("rtt").cast(pa.float32())
    late = replies.field("late")
    if late.null_count < len(late):
        there = pc.is_null(late)
        indices = pc.if_else(there, address.indices, None)
        address = pa.DictionaryArray.from_arrays(indices, address.dictionary)
        rtt = pc.if_else(there, rtt, None)
    return address, rtt


def _reached(
    destination: pa.Array, address: pa.DictionaryArray, offsets: NDArray[np.int64]
) -> pa.Array:
    """Whether the destination itself is among the replies, by numbers instead of texts."""
    wanted = pc.fill_null(pc.index_in(destination, address.dictionary), -1).to_numpy()
    rows = np.repeat(np.arange(len(destination)), np.diff(offsets))
    same = pc.fill_null(address.indices, -2).to_numpy() == wanted[rows]
    return pa.array(np.bincount(rows[same], minlength=len(destination)) > 0)
