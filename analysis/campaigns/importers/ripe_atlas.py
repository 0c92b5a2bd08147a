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

from analysis.campaigns.importers import ripe_atlas_scan as scan
from analysis.campaigns.importers.ripe_atlas_fallback import MARK, unmark
from analysis.campaigns.importers.ripe_atlas_files import Piece, Reading
from analysis.campaigns.importers.text_ids import number_texts
from core.errors import BadInput
from lake.campaigns import HOP, fill_table

# One round is a quarter of an hour, as in IMC'13.
ROUND_S = 900
_COLUMN = {name: number for number, name in enumerate(scan.FIELDS)}
_LOW_BITS = 0xFFFF_FFFF
# Types of results that are imported.
KINDS = ("ping", "traceroute")


class _Results(NamedTuple):
    """Results of one type: common columns, elements and replies.

    Elements and replies are flat; ``per_result`` (elements per result) and ``per_element``
    (replies per element) are their lengths, int64.
    """

    common: pa.Table
    elements: NDArray[np.int64]
    per_result: NDArray[np.int64]
    per_element: NDArray[np.int64]
    addresses: pa.DictionaryArray
    rtts: NDArray[np.float32]
    # Codes of the destinations in the dictionary of the addresses.
    ends: NDArray[np.int32]


class _Found(NamedTuple):
    """All results of a piece; ``names`` is the dictionary of the addresses."""

    records: NDArray[np.int64]
    elements: NDArray[np.int64]
    bits: NDArray[np.int64]
    addresses: NDArray[np.int32]
    ends: NDArray[np.int32]
    names: pa.Array
    coded: dict[str, Any]

    @classmethod
    def of(cls, piece: Piece) -> "_Found":
        """Return the results of a piece."""
        records, elements, replies = _rows(piece.buffers)
        # Address look-ups use the whole dictionary, so that it has only addresses.
        spans = [replies[:, scan.SPAN], records[:, _COLUMN["dst_addr"]]]
        (addresses, ends), names = _texts(piece, spans)
        numbers, texts = _texts(piece, [records[:, _COLUMN[n]] for n in scan.TEXTS])
        coded = dict(zip(scan.TEXTS, (_coded(n, texts) for n in numbers), strict=True))
        return cls(records, elements, replies[:, scan.REPLY_BITS], addresses, ends, names, coded)

    def results(self, kept: NDArray[np.bool_], kind: str, round_s: int) -> "_Results":
        """Return the results selected by ``kept``, all of one type, without late replies."""
        records, elements, bits, addresses, ends, names, coded = self
        per_result = np.maximum(records[:, scan.RESULT], 0)
        per_element = elements[:, scan.REPLIES]
        if not kept.all():
            of_elements = np.repeat(kept, per_result)
            of_replies = np.repeat(of_elements, per_element)
            records, per_result = records[kept], per_result[kept]
            elements, per_element = elements[of_elements], per_element[of_elements]
            addresses, bits, ends = addresses[of_replies], bits[of_replies], ends[kept]
            coded = {name: column.filter(pa.array(kept)) for name, column in coded.items()}
        late, rtts = bits & scan.LATE > 0, _reals(bits)
        rtts[late] = np.nan
        common = _common(records, coded, kind, round_s)
        own = _coded(np.where(late, np.int32(-1), addresses), names)
        return _Results(common, elements, per_result, per_element, own, rtts, ends)


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
        reading = Reading()
        for path in self.paths:
            before, lost = self.seen, reading.lost.total()
            for piece in reading.read(path):
                self.seen += int(piece.buffers.counts[scan.RECORDS])
                for kind, results in self._choose(piece, kinds):
                    self.read += len(results.common)
                    name, build = _TABLES[kind]
                    yield name, build(results)
            if self.seen == before and reading.lost.total() > lost:
                raise BadInput(f"the results cannot be read: {path.name} holds no JSON object")
        self.seen += reading.lost.total()
        self.reasons += reading.lost

    def _choose(self, piece: Piece, kinds: Sequence[str]) -> Iterator[tuple[str, _Results]]:
        """Yield the complete results of each type."""
        found = _Found.of(piece)
        right = pc.is_in(found.coded["type"].cast(pa.string()), pa.array(kinds, pa.string()))
        kept = self._find_complete(found.records, right)
        for kind in kinds:
            own = pc.fill_null(pc.equal(found.coded["type"], kind), False)
            chosen = kept & own.to_numpy(zero_copy_only=False)
            if chosen.any():
                yield kind, found.results(chosen, kind, self.round_s)

    def _find_complete(self, records: NDArray[np.int64], right: pa.Array) -> NDArray[np.bool_]:
        """Return a mask of complete records; count the others by the first missing field."""
        kept: NDArray[np.bool_] = right.to_numpy(zero_copy_only=False)
        self._count("other_kind", ~kept)
        for name, reason in (
            ("prb_id", "no_probe"),
            ("timestamp", "no_time"),
            ("result", "no_result"),
        ):
            there = records[:, _COLUMN[name]] != scan.MISSING
            self._count(reason, kept & ~there)
            kept = kept & there
        return kept

    def _count(self, reason: str, which: NDArray[np.bool_]) -> None:
        if number := int(which.sum()):
            self.reasons[reason] += number


def _rows(
    buffers: scan.ScanBuffers,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    records, elements, replies = (int(buffers.counts[i]) for i in range(3))
    return buffers.records[:records], buffers.elements[:elements], buffers.replies[:replies]


def _texts(
    piece: Piece, columns: list[NDArray[np.int64]]
) -> tuple[list[NDArray[np.int32]], pa.Array]:
    numbers, texts = number_texts(piece.text, columns)
    if piece.rewritten:
        texts = pa.array([unmark(t) if MARK in t else t for t in texts.to_pylist()], pa.string())
    return numbers, texts


def _coded(numbers: NDArray[np.int32], texts: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, mask=numbers < 0), texts)


def _reals(bits: NDArray[np.int64]) -> NDArray[np.float32]:
    return (bits & _LOW_BITS).astype(np.uint32).view(np.float32)


def _integers(records: NDArray[np.int64], name: str, missing: int) -> NDArray[np.int64]:
    column = records[:, _COLUMN[name]]
    return np.where(column == scan.MISSING, missing, column)


def _common(records: NDArray[np.int64], coded: dict[str, Any], kind: str, round_s: int) -> pa.Table:
    """Return the columns common to all types of results."""
    text = {name: column.cast(pa.string()) for name, column in coded.items()}
    at = records[:, _COLUMN["timestamp"]]
    probes = pa.array(records[:, _COLUMN["prb_id"]]).cast(pa.string())
    proto = pc.utf8_lower(pc.fill_null(text["proto"], ""))
    columns = {
        "round": pa.array(at // round_s),
        "vantage": pc.binary_join_element_wise("atlas", probes, "-"),
        "target": pc.coalesce(text["dst_name"], text["dst_addr"], ""),
        "at": pa.array(at * 1_000_000).cast(pa.timestamp("us", tz="UTC")),
        "probe": pc.binary_join_element_wise(kind, proto, "-"),
        "source": pc.coalesce(text["src_addr"], text["from"], ""),
        "destination": pc.fill_null(text["dst_addr"], ""),
        "flow": pa.array(_integers(records, "paris_id", 0)),
        "sent": pa.array(_integers(records, "sent", 0)),
    }
    return pa.table(columns)


def _samples(found: _Results) -> pa.Table:
    rtts = _reals(found.elements[:, scan.ELEMENT_BITS])
    answered = ~np.isnan(rtts)
    offsets = _starts(answered)[_starts(found.per_result)]
    values = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rtts[answered]))
    sent = np.maximum(found.common["sent"].to_numpy(), found.per_result)
    status = _status(found, pa.array(np.diff(offsets) > 0))
    extra = {"sent": pa.array(sent), "values": values, "status": status}
    return fill_table("samples", found.common, extra)


def _paths(found: _Results) -> pa.Table:
    offsets = _starts(found.per_element)[_starts(found.per_result)]
    ttls = np.repeat(
        (found.elements[:, scan.HOP] & scan.MAX_HOP).astype(np.uint8), found.per_element
    )
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
    errors = (found.elements[:, scan.HOP] & scan.ERROR) > 0
    wrong = np.bincount(rows[errors], minlength=len(found.common)) == found.per_result
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
    ends: NDArray[np.int32], addresses: pa.DictionaryArray, offsets: NDArray[np.int64]
) -> pa.Array:
    """Return whether the destination is among the replies of each path."""
    rows = np.repeat(np.arange(len(ends)), np.diff(offsets))
    same = pc.fill_null(addresses.indices, -2).to_numpy() == ends[rows]
    return pa.array(np.bincount(rows[same], minlength=len(ends)) > 0)
