"""Columns of answers: from records to Arrow arrays, addresses as numbers, without a row object."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from socket import AF_INET6, inet_aton, inet_pton

import numpy as np
import pyarrow as pa

from core.records import Record

RECORD = pa.struct(
    [("name", pa.string()), ("type", pa.string()), ("ttl", pa.int64()), ("data", pa.string())]
)
IPV4 = pa.list_(pa.uint32())
# Not binary(16), which pandas cannot read in a list.
IPV6 = pa.list_(pa.binary())
ADDRESSES = pa.list_(pa.string())
Section = tuple[Record, ...]


def sections_column(sections: Sequence[Section]) -> pa.ListArray:
    """Lists of records; sections that repeat (a zone's name servers) are converted once."""
    numbers: dict[int, int] = {}
    number_of = numbers.setdefault
    # By identity: all sections live as long as the sequence that was given.
    indices = [number_of(id(section), len(numbers)) for section in sections]
    if 2 * len(numbers) > len(sections):
        return _record_lists(sections)
    once = {id(section): section for section in sections}
    return _record_lists([once[key] for key in numbers]).take(pa.array(indices, pa.int32()))


def _record_lists(sections: Sequence[Section]) -> pa.ListArray:
    offsets = pa.array(accumulate(map(len, sections), initial=0), pa.int32())
    columns = tuple(zip(*chain.from_iterable(sections), strict=True)) or ((),) * 4
    arrays = [pa.array(c, f.type) for c, f in zip(columns, RECORD, strict=True)]
    return pa.ListArray.from_arrays(
        offsets, pa.StructArray.from_arrays(arrays, fields=list(RECORD))
    )


def ipv4_column(sections: Sequence[Section]) -> pa.ListArray:
    """IPv4 addresses of each row as numbers, in the order of the answer."""
    found = [[inet_aton(r[3]) for r in section if r[1] == "A"] for section in sections]
    values = np.frombuffer(b"".join(chain.from_iterable(found)), ">u4").astype(np.uint32)
    return pa.ListArray.from_arrays(_offsets(found), pa.array(values))


def ipv6_column(sections: Sequence[Section]) -> pa.ListArray:
    """IPv6 addresses of each row as 16 bytes, in the order of the answer."""
    found = [[inet_pton(AF_INET6, r[3]) for r in s if r[1] == "AAAA"] for s in sections]
    values = pa.array(chain.from_iterable(found), pa.binary())
    return pa.ListArray.from_arrays(_offsets(found), values)


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


def _offsets(lists: Iterable[list[bytes]]) -> pa.Array:
    return pa.array(accumulate(map(len, lists), initial=0), pa.int32())


def times_column(times: Sequence[float]) -> pa.Array:
    """Seconds since the epoch as timestamps in UTC, to the microsecond."""
    micros = np.rint(np.array(times, np.float64) * 1e6).astype(np.int64)
    return pa.array(micros).cast(pa.timestamp("us", tz="UTC"))
