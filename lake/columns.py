"""Columns of answers: from records to Arrow arrays, addresses as numbers, without a row object."""

from collections.abc import Sequence
from itertools import chain
from socket import AF_INET6, inet_aton, inet_pton

import numpy as np
import pyarrow as pa

from core.records import Record
from lake import arrays

RECORD = pa.struct(
    [("name", pa.string()), ("type", pa.string()), ("ttl", pa.int64()), ("data", pa.string())]
)
IPV4 = pa.list_(pa.uint32())
# Not binary(16), which pandas cannot read in a list.
IPV6 = pa.list_(pa.binary())
ADDRESSES = pa.list_(pa.string())
Section = tuple[Record, ...]
# Below this it takes longer to load what gathers repeated sections than to convert them all.
_FEW = 8_192


def sections_column(sections: Sequence[Section], record: pa.StructType = RECORD) -> pa.ListArray:
    """Lists of records; sections that repeat (a zone's name servers) are converted once.

    The types of records are a dictionary where ``record`` has them so.
    """
    numbers: dict[int, int] = {}
    number_of = numbers.setdefault
    # By identity: all sections live as long as the sequence that was given.
    indices = [number_of(id(section), len(numbers)) for section in sections]
    if len(sections) < _FEW or 2 * len(numbers) > len(sections):
        return _record_lists(sections, record)
    once = {id(section): section for section in sections}
    lists = _record_lists([once[key] for key in numbers], record)
    return lists.take(arrays.numbers(np.array(indices, np.int32)))


def _record_lists(sections: Sequence[Section], record: pa.StructType) -> pa.ListArray:
    names, types, ttls, data = tuple(zip(*chain.from_iterable(sections), strict=True)) or ((),) * 4
    write_types = arrays.texts if record.field("type").type == pa.string() else arrays.choices_of
    fields = [
        arrays.texts(names),
        write_types(types),
        arrays.numbers(np.array(ttls, np.int64)),
        arrays.texts(data),
    ]
    return pa.ListArray.from_arrays(
        arrays.offsets(sections), pa.StructArray.from_arrays(fields, fields=list(record))
    )


def ipv4_column(sections: Sequence[Section]) -> pa.ListArray:
    """IPv4 addresses of each row as numbers, in the order of the answer."""
    found = [[inet_aton(r[3]) for r in section if r[1] == "A"] for section in sections]
    values = np.frombuffer(b"".join(chain.from_iterable(found)), ">u4").astype(np.uint32)
    return pa.ListArray.from_arrays(arrays.offsets(found), arrays.numbers(values))


def ipv6_column(sections: Sequence[Section]) -> pa.ListArray:
    """IPv6 addresses of each row as 16 bytes, in the order of the answer."""
    found = [[inet_pton(AF_INET6, r[3]) for r in s if r[1] == "AAAA"] for s in sections]
    values = arrays.addresses_ipv6(b"".join(chain.from_iterable(found)))
    return pa.ListArray.from_arrays(arrays.offsets(found), values)


def addresses_of(answers: pa.ChunkedArray) -> pa.ListArray:
    """Addresses of each row of a column of answers as text, in the order of the answer."""
    return pa.ListArray.from_arrays(*_data_of(answers, "A", "AAAA"))


def _data_of(answers: pa.ChunkedArray, *types: str) -> tuple[pa.Array, pa.Array]:
    """Offsets by row, and data, of the records that have one of these types."""
    rows = answers.combine_chunks()
    records = rows.flatten()
    # Loading it takes as long as tens of thousands of names, and few readers need it.
    import pyarrow.compute as pc  # noqa: PLC0415

    is_wanted = pc.is_in(records.field("type"), pa.array(types))
    counts = np.cumsum(np.append(0, is_wanted.to_numpy(zero_copy_only=False)), dtype=np.int32)
    ends = rows.offsets.to_numpy()
    return pa.array(counts[ends - ends[0]]), records.field("data").filter(is_wanted)


def times_column(times: Sequence[float]) -> pa.Array:
    """Seconds since the epoch as timestamps in UTC, to the microsecond."""
    micros = np.rint(np.array(times, np.float64) * 1e6).astype(np.int64)
    return arrays.numbers(micros, pa.timestamp("us", tz="UTC"))
