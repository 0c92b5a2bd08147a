"""Columns of text as numbers: what is unset stays unknown, and what is not a number is marked."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# More than ten terabytes in one connection are no measurement: Zeek takes sizes of TCP from
# sequence numbers, which anyone can send. A block's sum still fits into 64 bits.
MAX_COUNT = 10**13
_DIGITS = len(str(MAX_COUNT)) - 1
HOUR_S = 3600
DAY_S = 86_400
_EPOCH = r"^[0-9]{1,11}(\.[0-9]{0,9})?$"
_MILLIS = r"^[0-9]{12,14}$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z?$"
# Until the year 2100; later ones are damage.
_LAST_S = 4_102_444_800

Mask = NDArray[np.bool_]


def read_counts(column: pa.ChunkedArray, most: int = MAX_COUNT) -> tuple[pa.Array, Mask]:
    """Whole numbers from 0 to ``most``, null where unset; and which rows hold something else."""
    text = column.combine_chunks()
    digits = min(_DIGITS, len(str(most)))
    fits = pc.and_(pc.ascii_is_decimal(text), pc.less_equal(pc.binary_length(text), digits))
    good = pc.fill_null(fits, False)
    numbers = pc.if_else(good, text, pa.scalar(None, pa.string())).cast(pa.int64())
    good = pc.fill_null(pc.less_equal(numbers, most), False)
    numbers = pc.if_else(good, numbers, pa.scalar(None, pa.int64()))
    bad = pc.and_(pc.is_valid(text), pc.invert(good))
    return numbers, _mask(bad)


def read_hours(column: pa.ChunkedArray) -> pa.Array:
    """Hours since the epoch of times as Zeek writes them; null where they are unset or masked."""
    text = column.combine_chunks()
    seconds = _seconds(text)
    within = pc.and_(pc.greater_equal(seconds, 0), pc.less(seconds, _LAST_S))
    seconds = pc.if_else(within, seconds, pa.scalar(None, pa.int64()))
    return pc.divide(seconds, HOUR_S).cast(pa.int32())


def _seconds(text: pa.Array) -> pa.Array:
    """Ten digits and a dot are the rule since 2001; all else takes the long way."""
    head = pc.utf8_slice_codeunits(text, 0, 10)
    usual = pc.and_(
        pc.and_(pc.ascii_is_decimal(head), pc.equal(pc.binary_length(head), 10)),
        pc.equal(pc.utf8_slice_codeunits(text, 10, 11), "."),
    )
    usual = pc.fill_null(usual, False)
    found = pc.if_else(usual, head, pa.scalar(None, pa.string())).cast(pa.int64())
    if found.null_count == text.null_count:
        return found
    return pc.coalesce(found, _slow_seconds(text))


def _slow_seconds(text: pa.Array) -> pa.Array:
    nothing = pa.scalar(None, pa.string())
    epoch = pc.if_else(pc.match_substring_regex(text, _EPOCH), text, nothing).cast(pa.float64())
    millis = pc.if_else(pc.match_substring_regex(text, _MILLIS), text, nothing).cast(pa.int64())
    iso = pc.if_else(pc.match_substring_regex(text, _ISO), text, nothing)
    stamp = pc.replace_substring(pc.utf8_slice_codeunits(iso, 0, 19), " ", "T")
    parsed = pc.strptime(stamp, "%Y-%m-%dT%H:%M:%S", "s", error_is_null=True).cast(pa.int64())
    return pc.coalesce(pc.floor(epoch).cast(pa.int64()), pc.divide(millis, 1000), parsed)


def add_known(first: pa.Array, second: pa.Array) -> pa.Array:
    """The sum where at least one of both is known."""
    total = pc.add(pc.fill_null(first, 0), pc.fill_null(second, 0))
    known = pc.or_(pc.is_valid(first), pc.is_valid(second))
    return pc.if_else(known, total, pa.scalar(None, pa.int64()))


def _mask(array: pa.Array) -> Mask:
    mask: Mask = array.to_numpy(zero_copy_only=False).astype(bool)
    return mask
