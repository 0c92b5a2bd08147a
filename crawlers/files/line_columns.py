"""Columns from results of the compiled loop: rows of numbers state where each value is in the text.

No text is parsed: what is between two values is an element of the same Arrow array as the values,
and is left out when these are put in order.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.dns.message import TYPE_CODES
from crawlers.engine.config import Lines
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
_ADDRESS_OCTETS = 16


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
        batch = _join(self._steps)
        is_chosen = batch.is_waiting & (batch.rows[:, m.R_TAG] <= last_tag)
        order = np.flatnonzero(is_chosen)
        order = order[np.argsort(batch.rows[order, m.R_TAG], kind="stable")]
        found = _build_columns(batch, order, self._names)
        found["name_id"] = _numbers(batch.rows[order, m.R_TAG] // self._types_per_name)
        self._note_written(batch.is_waiting & ~is_chosen)
        self._n_waiting -= len(order)
        self.octets = sum(len(step.text) for step in self._steps)
        return found

    def _note_written(self, is_waiting: npt.NDArray[np.bool_]) -> None:
        """Keep the steps of which rows are still waiting."""
        ends = np.cumsum([len(step.rows) for step in self._steps])
        parts = np.split(is_waiting, ends[:-1])
        pairs = zip(self._steps, parts, strict=True)
        self._steps = [replace(step, is_waiting=part) for step, part in pairs if part.any()]


def _join(steps: list[_Step]) -> _Step:
    """All steps as one; offsets become those of the whole text."""
    rows = np.concatenate([step.rows for step in steps])
    records = np.concatenate([step.records for step in steps])
    starts = np.cumsum([0, *(len(step.text) for step in steps[:-1])])
    shift = np.repeat(starts, [len(step.rows) for step in steps])
    for column in (m.R_NAME, m.R_NAME_END):
        rows[:, column] += shift
    shift = np.repeat(starts, [len(step.records) for step in steps])
    for column in (m.A_NAME, m.A_NAME_END, m.A_DATA, m.A_DATA_END):
        records[:, column] += shift
    text = b"".join([step.text for step in steps])
    return _Step(text, rows, records, np.concatenate([step.is_waiting for step in steps]))


class _Fields(NamedTuple):
    """Values in the text, and what is between them, as elements of one array of strings.

    ``of_rows`` are the elements of the rows' names, ``of_records`` those of the records' owners,
    each followed by the record's data two elements later.
    """

    texts: pa.StringArray
    of_rows: Integers
    of_records: Integers


def _find_fields(batch: _Step, first: Integers, counts: Integers) -> _Fields:
    """``first`` and ``counts`` (rows,) are the first record of each row and their number."""
    n_rows, n_records = len(batch.rows), len(batch.records)
    # In the text a row's name is followed by its records' owners and data.
    of_rows = np.arange(n_rows) + 2 * first
    of_records = np.repeat(np.arange(n_rows), counts) + 1 + 2 * np.arange(n_records)
    offsets = np.empty(2 * (n_rows + 2 * n_records) + 1, np.int32)
    pairs = offsets[:-1].reshape(-1, 2)
    pairs[of_rows] = batch.rows[:, m.R_NAME : m.R_NAME_END + 1]
    pairs[of_records] = batch.records[:, m.A_NAME : m.A_NAME_END + 1]
    pairs[of_records + 1] = batch.records[:, m.A_DATA : m.A_DATA_END + 1]
    offsets[-1] = len(batch.text)
    buffers = pa.py_buffer(offsets), pa.py_buffer(batch.text)
    texts = pa.StringArray.from_buffers(len(offsets) - 1, *buffers)
    return _Fields(texts, 2 * of_rows, 2 * of_records)


def _build_columns(batch: _Step, order: Integers, names: Lines) -> dict[str, pa.Array]:
    n, counts = len(order), batch.rows[:, m.R_ANSWERS] + batch.rows[:, m.R_AUTHORITIES]
    first = np.cumsum(counts) - counts
    fields = _find_fields(batch, first, counts)
    rows = batch.rows[order].T.copy()
    n_answers = rows[m.R_ANSWERS]
    answers = _list_records(first[order], n_answers)
    authorities = _list_records(first[order] + n_answers, rows[m.R_AUTHORITIES])
    in_answers = batch.records[answers.records]
    return {
        "name": fields.texts.take(_numbers(fields.of_rows[order])),
        "type": _texts(names.types).take(_numbers(rows[m.R_TYPE])),
        "status": _STATUSES.take(_numbers(rows[m.R_STATUS])),
        "ipv4": _ipv4_addresses(answers, in_answers),
        "ipv6": _ipv6_addresses(answers, in_answers),
        "answers": _records_column(batch, fields, answers),
        "authorities": _records_column(batch, fields, authorities),
        "resolver": _texts(names.servers).take(_numbers(rows[m.R_SERVER])),
        "protocol": pa.repeat(_texts(["udp"])[0], n),
        "attempts": _numbers(np.ones(n, np.int32)),
        "rtt_ms": _numbers(rows[m.R_RTT] / 1000),
        "at": _numbers(rows[m.R_AT], pa.timestamp("us", tz="UTC")),
        "subnet": pa.nulls(n, pa.string()),
        "scope": pa.nulls(n, pa.int16()),
    }


class _Lists(NamedTuple):
    """Numbers of records in lists, and where each list begins and ends (one offset more)."""

    records: Integers
    offsets: npt.NDArray[np.int32]


def _list_records(first: Integers, counts: Integers) -> _Lists:
    offsets = np.append(0, np.cumsum(counts)).astype(np.int32)
    records = np.repeat(first - offsets[:-1], counts) + np.arange(offsets[-1])
    return _Lists(records, offsets)


def _records_column(batch: _Step, fields: _Fields, lists: _Lists) -> pa.ListArray:
    codes, places = batch.records[lists.records, m.A_TYPE], fields.of_records[lists.records]
    data = fields.texts.take(_numbers(places + 2))
    if (codes == TYPE_CODES["TXT"]).any():
        # The only escapes that the loop writes are those of quotation marks around strings.
        data = pc.replace_substring(data, "\\", "")
    arrays = [
        fields.texts.take(_numbers(places)),
        _TYPE_NAMES.take(_numbers(_PLACE_OF_TYPE[codes])),
        _numbers(batch.records[lists.records, m.A_TTL]),
        data,
    ]
    records = pa.StructArray.from_arrays(arrays, fields=list(columns.RECORD))
    return pa.ListArray.from_arrays(_numbers(lists.offsets), records)


def _ipv4_addresses(lists: _Lists, records: Integers) -> pa.ListArray:
    is_wanted = records[:, m.A_TYPE] == TYPE_CODES["A"]
    numbers = records[is_wanted, m.A_LOWER].astype(np.uint32)
    return pa.ListArray.from_arrays(_count_wanted(lists, is_wanted), _numbers(numbers))


def _ipv6_addresses(lists: _Lists, records: Integers) -> pa.ListArray:
    is_wanted = records[:, m.A_TYPE] == TYPE_CODES["AAAA"]
    halves = records[is_wanted, m.A_UPPER : m.A_LOWER + 1].astype(">i8")
    offsets = np.arange(len(halves) + 1, dtype=np.int32) * _ADDRESS_OCTETS
    octets = pa.py_buffer(halves.tobytes())
    addresses = pa.BinaryArray.from_buffers(
        pa.binary(), len(halves), [None, pa.py_buffer(offsets), octets]
    )
    return pa.ListArray.from_arrays(_count_wanted(lists, is_wanted), addresses)


def _count_wanted(lists: _Lists, is_wanted: npt.NDArray[np.bool_]) -> pa.Array:
    """Offsets of the lists when only the wanted records are left in them."""
    return _numbers(np.append(0, np.cumsum(is_wanted))[lists.offsets].astype(np.int32))
