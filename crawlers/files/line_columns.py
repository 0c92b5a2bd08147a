"""Columns from results of the compiled loop, which states where each value is in its text.

No text is parsed, and no value becomes an object of Python: ``gathering`` writes the buffers of
Arrow arrays.
"""

from collections.abc import Iterable, Sequence
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
from lake import columns

Integers = npt.NDArray[np.int64]


def _numbers(values: npt.NDArray[Any], arrow_type: pa.DataType | None = None) -> pa.Array:
    """An array of the same numbers without a copy.

    ``pa.array`` loads pandas, which takes as long as some hundred thousand names.
    """
    kept = np.ascontiguousarray(values)
    found = arrow_type or pa.from_numpy_dtype(kept.dtype)
    return pa.Array.from_buffers(found, len(kept), [None, pa.py_buffer(kept)])


def _texts(values: Iterable[str]) -> pa.StringArray:
    """A short array of texts."""
    octets = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, octets)], dtype=np.int32)
    return pa.StringArray.from_buffers(
        len(octets), pa.py_buffer(offsets), pa.py_buffer(b"".join(octets))
    )


_TYPE_NAMES = _texts(TYPE_CODES)
_PLACE_OF_TYPE = np.zeros(max(TYPE_CODES.values()) + 1, np.int32)
_PLACE_OF_TYPE[list(TYPE_CODES.values())] = np.arange(len(TYPE_CODES))
# By number, as the loop has them.
_STATUSES = _texts([DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN])


@dataclass(slots=True)
class _Step:
    """Results of one step: text, rows, records, and which rows are still waiting."""

    text: bytes
    rows: Integers
    records: Integers
    is_waiting: npt.NDArray[np.bool_]


class WaitingLines:
    """Results of the loop that wait until they are next in the order of the list."""

    def __init__(self, types_per_name: int) -> None:
        self._types_per_name = types_per_name
        self._gather: Native | None = None
        self._steps: list[_Step] = []
        self._n_waiting = 0
        self._names = Lines(b"", b"", 0)
        self.octets = 0

    def __len__(self) -> int:
        return self._n_waiting

    def add(self, lines: Lines) -> None:
        """Add the lines of a step, with their records."""
        rows = np.frombuffer(lines.rows, np.int64).reshape(-1, m.RESULT_WORDS)
        records = np.frombuffer(lines.records, np.int64).reshape(-1, m.RECORD_WORDS)
        text = bytes(lines.text)
        self._steps.append(_Step(text, rows, records, np.ones(len(rows), np.bool_)))
        self._names = lines
        self._n_waiting += len(rows)
        self.octets += len(text)

    def tags(self) -> Integers:
        """Numbers of the questions that wait, in no order."""
        waiting = [step.rows[step.is_waiting, m.R_TAG] for step in self._steps]
        return np.concatenate([np.zeros(0, np.int64), *waiting])

    def pop(self, last_tag: int) -> dict[str, pa.Array]:
        """Columns of the questions up to a number, in the order of the list."""
        self._gather = self._gather or load_gather()
        tags = np.concatenate([step.rows[:, m.R_TAG] for step in self._steps])
        is_waiting = np.concatenate([step.is_waiting for step in self._steps])
        is_chosen = is_waiting & (tags <= last_tag)
        order = np.flatnonzero(is_chosen)
        order = order[np.argsort(tags[order], kind="stable")]
        columns_ = _Columns(self._steps, order, self._types_per_name)
        columns_.fill(self._gather)
        found = columns_.arrays(self._names)
        self._note_written(is_waiting & ~is_chosen)
        self._n_waiting -= len(order)
        self.octets = sum(len(step.text) for step in self._steps)
        return found

    def _note_written(self, is_waiting: npt.NDArray[np.bool_]) -> None:
        """Keep the steps of which rows are still waiting."""
        ends = np.cumsum([len(step.rows) for step in self._steps])
        parts = np.split(is_waiting, ends[:-1])
        pairs = zip(self._steps, parts, strict=True)
        self._steps = [replace(step, is_waiting=part) for step, part in pairs if part.any()]


class _Columns:
    """Buffers for the results at the places ``order`` in steps, and the arrays in them."""

    def __init__(self, steps: Sequence[_Step], order: Integers, types_per_name: int) -> None:
        self._n = n = len(order)
        self._words = np.zeros(m.N_WORDS, np.int64)
        self._words[g.N_ROWS], self._words[g.TYPES_PER_NAME] = n, types_per_name
        self._buffers: dict[int, npt.NDArray[Any]] = {}
        n_answers, n_authorities = self._set_places(steps, order)
        octets = sum(len(step.text) for step in steps)
        for region, dtype in (
            *((region, np.int64) for region in (g.NAME_IDS, g.RTTS, g.TIMES)),
            *((region, np.int32) for region in (g.TYPES, g.STATUSES, g.SERVERS)),
        ):
            self._reserve(region, n, dtype)
        for region in (g.NAME_OFFSETS, g.IPV4_OFFSETS, g.IPV6_OFFSETS):
            self._reserve_offsets(region, n)
        self._reserve(g.NAME_OCTETS, octets, np.uint8)
        self._reserve(g.IPV4_VALUES, n_answers, np.int32)
        self._reserve(g.IPV6_OCTETS, n_answers * g.ADDRESS_OCTETS, np.uint8)
        self._reserve_section(g.ANSWER_REGIONS, n_answers, octets)
        self._reserve_section(g.AUTHORITY_REGIONS, n_authorities, octets)

    def _set_places(self, steps: Sequence[_Step], order: Integers) -> tuple[int, int]:
        """State where each result is; return how many records its sections have."""
        counts = [len(step.rows) for step in steps]
        of_rows = [step.rows[:, [m.R_ANSWERS, m.R_AUTHORITIES]] for step in steps]
        firsts = [rows.sum(axis=1).cumsum() - rows.sum(axis=1) for rows in of_rows]
        places = np.empty((len(order), g.PLACE_WORDS), np.int64)
        places[:, 0] = np.repeat(np.arange(len(steps)), counts)[order]
        places[:, 1] = np.concatenate([np.arange(count) for count in counts])[order]
        places[:, 2] = np.concatenate(firsts)[order]
        texts = [np.frombuffer(step.text, np.uint8) for step in steps]
        table = [
            (text.ctypes.data, len(text), step.rows.ctypes.data, len(step.rows))
            + (step.records.ctypes.data, len(step.records))
            for step, text in zip(steps, texts, strict=True)
        ]
        self._set(g.STEPS, np.array(table, np.int64))
        self._set(g.PLACES, places)
        n_answers, n_authorities = np.concatenate(of_rows)[order].sum(axis=0)
        return int(n_answers), int(n_authorities)

    def _set(self, region: int, buffer: npt.NDArray[Any]) -> None:
        self._buffers[region] = buffer
        self._words[region] = buffer.ctypes.data
        self._words[m.LENGTHS + region] = buffer.nbytes

    def _reserve(self, region: int, n: int, dtype: type) -> None:
        # Memory that is not written to is not used, so that octets may be many too many.
        self._set(region, np.empty(n, dtype))

    def _reserve_offsets(self, region: int, n: int) -> None:
        self._reserve(region, n + 1, np.int32)
        self._buffers[region][0] = 0

    def _reserve_section(self, regions: int, n_records: int, octets: int) -> None:
        self._reserve_offsets(regions + g.LIST_OFFSETS, self._n)
        for region in (g.RECORD_NAME_OFFSETS, g.RECORD_DATA_OFFSETS):
            self._reserve_offsets(regions + region, n_records)
        self._reserve(regions + g.RECORD_TYPES, n_records, np.int32)
        self._reserve(regions + g.RECORD_TTLS, n_records, np.int64)
        for region in (g.RECORD_NAMES, g.RECORD_DATA):
            self._reserve(regions + region, octets, np.uint8)

    def fill(self, gather: Native) -> None:
        """Write all results to the buffers."""
        gather(self._words.ctypes.data)

    def arrays(self, names: Lines) -> dict[str, pa.Array]:
        """The columns; ``names`` are those of types and servers."""
        n, kept = self._n, self._buffers
        return {
            "name_id": _numbers(kept[g.NAME_IDS]),
            "name": self._strings(g.NAME_OFFSETS, g.NAME_OCTETS),
            "type": _texts(names.types).take(_numbers(kept[g.TYPES])),
            "status": _STATUSES.take(_numbers(kept[g.STATUSES])),
            "ipv4": self._ipv4_addresses(),
            "ipv6": self._ipv6_addresses(),
            "answers": self._records(g.ANSWER_REGIONS),
            "authorities": self._records(g.AUTHORITY_REGIONS),
            "resolver": _texts(names.servers).take(_numbers(kept[g.SERVERS])),
            "protocol": pa.repeat(_texts(["udp"])[0], n),
            "attempts": _numbers(np.ones(n, np.int32)),
            "rtt_ms": _numbers(kept[g.RTTS] / 1000),
            "at": _numbers(kept[g.TIMES], pa.timestamp("us", tz="UTC")),
            "subnet": pa.nulls(n, pa.string()),
            "scope": pa.nulls(n, pa.int16()),
        }

    def _strings(self, offsets: int, octets: int) -> pa.StringArray:
        ends = self._buffers[offsets]
        buffers = pa.py_buffer(ends), pa.py_buffer(self._buffers[octets][: ends[-1]])
        return pa.StringArray.from_buffers(len(ends) - 1, *buffers)

    def _records(self, regions: int) -> pa.ListArray:
        kept = self._buffers
        types = _PLACE_OF_TYPE[kept[regions + g.RECORD_TYPES]]
        arrays = [
            self._strings(regions + g.RECORD_NAME_OFFSETS, regions + g.RECORD_NAMES),
            _TYPE_NAMES.take(_numbers(types)),
            _numbers(kept[regions + g.RECORD_TTLS]),
            self._strings(regions + g.RECORD_DATA_OFFSETS, regions + g.RECORD_DATA),
        ]
        records = pa.StructArray.from_arrays(arrays, fields=list(columns.RECORD))
        return pa.ListArray.from_arrays(_numbers(kept[regions + g.LIST_OFFSETS]), records)

    def _ipv4_addresses(self) -> pa.ListArray:
        numbers = self._buffers[g.IPV4_VALUES][: self._words[g.N_IPV4]]
        offsets = _numbers(self._buffers[g.IPV4_OFFSETS])
        return pa.ListArray.from_arrays(offsets, _numbers(numbers.view(np.uint32)))

    def _ipv6_addresses(self) -> pa.ListArray:
        n = int(self._words[g.N_IPV6])
        ends = np.arange(n + 1, dtype=np.int32) * g.ADDRESS_OCTETS
        octets = self._buffers[g.IPV6_OCTETS][: n * g.ADDRESS_OCTETS]
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(octets)]
        addresses = pa.BinaryArray.from_buffers(pa.binary(), n, buffers)
        return pa.ListArray.from_arrays(_numbers(self._buffers[g.IPV6_OFFSETS]), addresses)
