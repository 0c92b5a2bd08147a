"""Columns from results of the compiled loop, which states where each value is in its text.

No text is parsed, and no value becomes an object of Python: ``gathering`` writes the buffers of
Arrow arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.native.object_code import Native
from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.compiled.loading import load_gather
from crawlers.dns.message import TYPE_CODES
from crawlers.engine.config import Lines
from crawlers.files import gathering as g
from crawlers.files.columns import ENCODED_RECORD
from lake.arrays import addresses_ipv6, choices, numbers, texts

Integers = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]


_TYPE_NAMES = texts(TYPE_CODES)
_PLACE_OF_TYPE = np.zeros(max(TYPE_CODES.values()) + 1, np.int32)
_PLACE_OF_TYPE[list(TYPE_CODES.values())] = np.arange(len(TYPE_CODES))
# By number, as the loop has them.
_STATUSES = texts([DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN])
_PROTOCOLS = texts(["udp"])
# Memory is reserved in pieces of so many octets, for several steps where these are short.
_PIECE_OCTETS = 1 << 20


def _order(tags: Integers) -> Integers:
    """Places of different numbers in ascending order; hardly any is absent between them."""
    first = int(tags.min())
    span = int(tags.max()) - first + 1
    if span > 2 * len(tags):
        return np.argsort(tags, kind="stable")
    places = np.full(span, m.NOTHING)
    places[tags - first] = np.arange(len(tags))
    return places if span == len(tags) else places[places != m.NOTHING]


@dataclass(slots=True)
class _Piece:
    """Memory for results of steps: octets in use, and steps that are not written yet."""

    memory: Octets
    used: int = 0
    n_steps: int = 0


@dataclass(slots=True)
class _Step:
    """Results of one step: text, rows, records, and which rows are still waiting.

    The three are in one piece of memory.
    """

    text: Octets
    rows: Integers
    records: Integers
    is_waiting: npt.NDArray[np.bool_]
    piece: _Piece


class WaitingLines:
    """Results of the loop that wait until they are next in the order of the list."""

    def __init__(self, types_per_name: int) -> None:
        self._types_per_name = types_per_name
        self._gather: Native | None = None
        self._steps: list[_Step] = []
        self._n_waiting = 0
        self._names = Lines(b"", b"", 0)
        # Memory is used again, since the kernel clears what is new.
        self._free: list[_Piece] = []
        self._piece = _Piece(np.empty(0, np.uint8))
        self._columns = _Columns()
        self._last_tag, self.is_sorted = -1, True
        self.octets = 0

    def __len__(self) -> int:
        return self._n_waiting

    def add(self, lines: Lines) -> None:
        """Add the lines of a step, with their records."""
        parts = [np.frombuffer(p, np.uint8) for p in (lines.rows, lines.records, lines.text)]
        ends = np.cumsum([len(part) for part in parts])
        piece = self._reserve(int(ends[-1]))
        memory = piece.memory[piece.used :]
        np.concatenate(parts, out=memory[: ends[-1]])
        octets, of_records, text, _ = np.split(memory, ends)
        rows = octets.view(np.int64).reshape(-1, m.RESULT_WORDS)
        records = of_records.view(np.int64).reshape(-1, m.RECORD_WORDS)
        self._steps.append(_Step(text, rows, records, np.ones(len(rows), np.bool_), piece))
        piece.used += (int(ends[-1]) + 7) // 8 * 8
        piece.n_steps += 1
        self._names = lines
        self._n_waiting += len(rows)
        self.octets += len(text)

    def _reserve(self, octets: int) -> _Piece:
        """A piece of memory with space for so many octets."""
        if self._piece.used + octets > len(self._piece.memory):
            is_usual = octets <= _PIECE_OCTETS and self._free
            size = max(octets, _PIECE_OCTETS)
            self._piece = self._free.pop() if is_usual else _Piece(np.empty(size, np.uint8))
        return self._piece

    def tags(self) -> Integers:
        """Numbers of the questions that wait, in no order."""
        waiting = [step.rows[step.is_waiting, m.R_TAG] for step in self._steps]
        return np.concatenate([np.zeros(0, np.int64), *waiting])

    def collect(self, last_tag: int) -> None:
        """Write the questions up to a number to the columns, in the order of the list."""
        self._gather = self._gather or load_gather()
        tags = np.concatenate([step.rows[:, m.R_TAG] for step in self._steps])
        is_waiting = np.concatenate([step.is_waiting for step in self._steps])
        is_chosen = is_waiting & (tags <= last_tag)
        places = np.flatnonzero(is_chosen)
        if not len(places):
            return
        order = places[_order(tags[places])]
        self._columns.append(self._gather, self._steps, order, self._types_per_name)
        self.is_sorted &= int(tags[order[0]]) > self._last_tag
        self._last_tag = max(self._last_tag, int(tags[order[-1]]))
        self._note_written(is_waiting & ~is_chosen)
        self._n_waiting -= len(order)
        self.octets = sum(len(step.text) for step in self._steps)

    @property
    def n_collected(self) -> int:
        """Rows of the columns."""
        return self._columns.n_rows

    @property
    def octets_collected(self) -> int:
        """Octets of all texts in the columns."""
        return self._columns.octets

    def tags_collected(self) -> Integers:
        """Numbers of the questions in the columns."""
        return self._columns.tags()

    def pop(self) -> dict[str, pa.Array]:
        """The columns of what was collected; good until the next call of ``collect``.

        Their rows are in the order of the list where ``is_sorted``.
        """
        found = self._columns.arrays(self._names)
        self._columns.clear()
        self._last_tag, self.is_sorted = -1, True
        return found

    def _note_written(self, is_waiting: npt.NDArray[np.bool_]) -> None:
        """Keep the steps of which rows are still waiting."""
        ends = np.cumsum([len(step.rows) for step in self._steps])
        parts = np.split(is_waiting, ends[:-1])
        steps, self._steps = self._steps, []
        for step, part in zip(steps, parts, strict=True):
            if part.any():
                self._steps.append(replace(step, is_waiting=part))
            else:
                self._release(step.piece)

    def _release(self, piece: _Piece) -> None:
        piece.n_steps -= 1
        if not piece.n_steps:
            piece.used = 0
            # A larger one would not be used again.
            if piece is not self._piece and len(piece.memory) == _PIECE_OCTETS:
                self._free.append(piece)


class _Columns:
    """Buffers for results, and the arrays in them."""

    def __init__(self) -> None:
        self._words = np.zeros(m.N_WORDS, np.int64)
        self._buffers: dict[int, npt.NDArray[Any]] = {}

    @property
    def n_rows(self) -> int:
        """Results that were written."""
        return int(self._words[g.N_WRITTEN])

    @property
    def octets(self) -> int:
        """Octets of all texts that were written."""
        ends = [s + end for s in (g.ANSWERS, g.AUTHORITIES) for end in (g.NAME_END, g.DATA_END)]
        return int(self._words[[g.N_OCTETS, *ends]].sum())

    def tags(self) -> Integers:
        """Numbers of the questions: those of a name follow each other in the order of types."""
        ids, types = (self._buffers[r][: self.n_rows] for r in (g.NAME_IDS, g.TYPES))
        found: Integers = ids * self._words[g.TYPES_PER_NAME] + types
        return found

    def clear(self) -> None:
        """Forget all results; the arrays that were made last are good until the next are added."""
        self._words[: g.STEPS] = 0

    def append(
        self, gather: Native, steps: Sequence[_Step], order: Integers, types_per_name: int
    ) -> None:
        """Write the results at the places ``order`` of all rows of the steps."""
        self._words[g.N_ROWS], self._words[g.TYPES_PER_NAME] = len(order), types_per_name
        self._set_places(steps, order)
        self._reserve_all(len(order), steps)
        gather(self._words.ctypes.data)

    def _reserve_all(self, n: int, steps: Sequence[_Step]) -> None:
        """Let there be memory for more results, and for all records and octets of the steps."""
        n_records = sum(len(step.records) for step in steps)
        octets = sum(len(step.text) for step in steps)
        words, rows = self._words, self.n_rows
        for region in (g.NAME_IDS, g.RTTS, g.TIMES):
            self._reserve(region, rows, n, np.int64)
        for region in (g.TYPES, g.STATUSES, g.SERVERS):
            self._reserve(region, rows, n, np.int32)
        for region in (g.NAME_OFFSETS, g.IPV4_OFFSETS, g.IPV6_OFFSETS):
            self._reserve(region, rows + 1, n, np.int32)
        self._reserve(g.NAME_OCTETS, words[g.N_OCTETS], octets, np.uint8)
        self._reserve(g.IPV4_VALUES, words[g.N_IPV4], n_records, np.int32)
        more = n_records * g.ADDRESS_OCTETS
        self._reserve(g.IPV6_OCTETS, words[g.N_IPV6] * g.ADDRESS_OCTETS, more, np.uint8)
        for regions, section in (
            (g.ANSWER_REGIONS, g.ANSWERS),
            (g.AUTHORITY_REGIONS, g.AUTHORITIES),
        ):
            used = words[section + g.N_RECORDS]
            self._reserve(regions + g.LIST_OFFSETS, rows + 1, n, np.int32)
            self._reserve(regions + g.RECORD_NAME_OFFSETS, used + 1, n_records, np.int32)
            self._reserve(regions + g.RECORD_DATA_OFFSETS, used + 1, n_records, np.int32)
            self._reserve(regions + g.RECORD_TYPES, used, n_records, np.int32)
            self._reserve(regions + g.RECORD_TTLS, used, n_records, np.int64)
            names, data = words[section + g.NAME_END], words[section + g.DATA_END]
            self._reserve(regions + g.RECORD_NAMES, names, octets, np.uint8)
            self._reserve(regions + g.RECORD_DATA, data, octets, np.uint8)

    def _set_places(self, steps: Sequence[_Step], order: Integers) -> None:
        """State where each result is."""
        counts = [len(step.rows) for step in steps]
        places = np.empty((len(order), g.PLACE_WORDS), np.int64)
        places[:, 0] = np.repeat(np.arange(len(steps)), counts)[order]
        places[:, 1] = np.concatenate([np.arange(count) for count in counts])[order]
        table = [
            (part.ctypes.data, len(part))
            for step in steps
            for part in (step.text, step.rows, step.records)
        ]
        self._set(g.STEPS, np.array(table, np.int64))
        self._set(g.PLACES, places)

    def _set(self, region: int, buffer: npt.NDArray[Any]) -> None:
        self._buffers[region] = buffer
        self._words[region] = buffer.ctypes.data
        self._words[m.LENGTHS + region] = buffer.nbytes

    def _reserve(self, region: int, used: int, more: int, dtype: type) -> None:
        """Let a region have space for more elements than those in use, which stay."""
        found = self._buffers.get(region)
        if found is None or len(found) < used + more:
            grown: npt.NDArray[Any] = np.empty(2 * (used + more), dtype)
            # The first offset of an array is zero, and is not written. Memory beyond those in use
            # is not touched, so that there is none behind it.
            grown[:used] = 0 if found is None else found[:used]
            self._set(region, grown)

    def arrays(self, names: Lines) -> dict[str, pa.Array]:
        """The columns; ``names`` are those of types and servers."""
        n, kept = self.n_rows, self._buffers
        return {
            "name_id": numbers(kept[g.NAME_IDS][:n]),
            "name": self._strings(g.NAME_OFFSETS, g.NAME_OCTETS, n),
            "type": choices(kept[g.TYPES][:n], texts(names.types)),
            "status": choices(kept[g.STATUSES][:n], _STATUSES),
            "ipv4": self._ipv4_addresses(),
            "ipv6": self._ipv6_addresses(),
            "answers": self._records(g.ANSWER_REGIONS),
            "authorities": self._records(g.AUTHORITY_REGIONS),
            "resolver": choices(kept[g.SERVERS][:n], texts(names.servers)),
            "protocol": choices(np.zeros(n, np.int32), _PROTOCOLS),
            "attempts": numbers(np.ones(n, np.int32)),
            "rtt_ms": numbers(kept[g.RTTS][:n] / 1000),
            "at": numbers(kept[g.TIMES][:n], pa.timestamp("us", tz="UTC")),
            "subnet": pa.nulls(n, pa.string()),
            "scope": pa.nulls(n, pa.int16()),
        }

    def _strings(self, offsets: int, octets: int, n: int) -> pa.StringArray:
        ends = self._buffers[offsets][: n + 1]
        buffers = pa.py_buffer(ends), pa.py_buffer(self._buffers[octets][: ends[-1]])
        return pa.StringArray.from_buffers(n, *buffers)

    def _records(self, regions: int) -> pa.ListArray:
        kept, n = self._buffers, int(self._buffers[regions + g.LIST_OFFSETS][self.n_rows])
        types = _PLACE_OF_TYPE[kept[regions + g.RECORD_TYPES][:n]]
        arrays = [
            self._strings(regions + g.RECORD_NAME_OFFSETS, regions + g.RECORD_NAMES, n),
            choices(types, _TYPE_NAMES),
            numbers(kept[regions + g.RECORD_TTLS][:n]),
            self._strings(regions + g.RECORD_DATA_OFFSETS, regions + g.RECORD_DATA, n),
        ]
        records = pa.StructArray.from_arrays(arrays, fields=list(ENCODED_RECORD))
        return pa.ListArray.from_arrays(
            numbers(kept[regions + g.LIST_OFFSETS][: self.n_rows + 1]), records
        )

    def _ipv4_addresses(self) -> pa.ListArray:
        values = self._buffers[g.IPV4_VALUES][: self._words[g.N_IPV4]]
        offsets = numbers(self._buffers[g.IPV4_OFFSETS][: self.n_rows + 1])
        return pa.ListArray.from_arrays(offsets, numbers(values.view(np.uint32)))

    def _ipv6_addresses(self) -> pa.ListArray:
        octets = self._buffers[g.IPV6_OCTETS][: self._words[g.N_IPV6] * g.ADDRESS_OCTETS]
        offsets = numbers(self._buffers[g.IPV6_OFFSETS][: self.n_rows + 1])
        return pa.ListArray.from_arrays(offsets, addresses_ipv6(octets))
