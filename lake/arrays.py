"""Arrow arrays of numbers and texts by their buffers.

``pa.array`` and ``empty_table`` load pandas, and methods that compute load ``pyarrow.compute``: a
fifth and a thirtieth of a second, which a short run of a command would notice.
"""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def numbers(values: npt.NDArray[Any], arrow_type: pa.DataType | None = None) -> pa.Array:
    """An array of the same numbers, without a copy where they are contiguous.

    ``arrow_type`` has elements of the same width; by default it is that of numpy.
    """
    kept = np.ascontiguousarray(values)
    found = arrow_type or pa.from_numpy_dtype(kept.dtype)
    return pa.Array.from_buffers(found, len(kept), [None, pa.py_buffer(kept)])


def optional_numbers(values: Sequence[float | None], dtype: npt.DTypeLike) -> pa.Array:
    """An array of numbers of a type of numpy, null where a value is ``None``."""
    known = np.array([value is not None for value in values], np.bool_)
    kept = np.array([value or 0 for value in values], dtype)
    validity = pa.py_buffer(np.packbits(known, bitorder="little"))
    arrow_type = pa.from_numpy_dtype(kept.dtype)
    return pa.Array.from_buffers(arrow_type, len(kept), [validity, pa.py_buffer(kept)])


def texts(values: Iterable[str | None]) -> pa.StringArray:
    """An array of texts, null where a value is ``None``."""
    builder = pa.lib.StringBuilder()
    builder.append_values(values)
    return builder.finish()


def choices(indices: npt.NDArray[np.int32], names: pa.StringArray) -> pa.DictionaryArray:
    """An array of names by their numbers in ``names``."""
    return pa.DictionaryArray.from_arrays(numbers(indices), names, safe=False)


def choices_of(values: Sequence[str]) -> pa.DictionaryArray:
    """An array of texts of which there are few different ones."""
    places: dict[str, int] = {}
    indices = [places.setdefault(value, len(places)) for value in values]
    return choices(np.array(indices, np.int32), texts(places))


def addresses_ipv6(octets: bytes | npt.NDArray[np.uint8]) -> pa.BinaryArray:
    """An array of IPv6 addresses, of which the octets follow each other."""
    n = len(octets) // 16
    ends = np.arange(n + 1, dtype=np.int32) * np.int32(16)
    return pa.BinaryArray.from_buffers(
        pa.binary(), n, [None, pa.py_buffer(ends), pa.py_buffer(octets)]
    )


def offsets(lists: Iterable[Sequence[Any]]) -> pa.Array:
    """Offsets of lists that follow each other."""
    return numbers(np.fromiter(accumulate(map(len, lists), initial=0), np.int32))
