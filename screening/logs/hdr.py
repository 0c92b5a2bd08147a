"""HdrHistogram interval logs (jHiccup) in, one merged histogram out.

Formats V0, V1 and V2, compressed or not, as HdrHistogram's own documentation lays them down.
"""

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from screening.logs.records import Log

COOKIES = {0x1C849308: 0, 0x1C849301: 1, 0x1C849303: 2}
COMPRESSED = {0x1C849309: 0, 0x1C849302: 1, 0x1C849304: 2}
HEADS = {0: struct.Struct(">iiqqq"), 1: struct.Struct(">iiiiqqd"), 2: struct.Struct(">iiiiqqd")}
WORD = 0xF0
# Bounds of what a histogram may hold, so that a hostile log cannot ask for more memory.
MOST_COUNTS = 1 << 22
MOST_BYTES = 1 << 25
LINE = re.compile(
    r"^(?:Tag=(?P<tag>[^,]*),)?(?P<start>[0-9.]+),(?P<length>[0-9.]+),(?P<max>[0-9.]+),"
    r"(?P<payload>[A-Za-z0-9+/=]+)$"
)


@dataclass(frozen=True, slots=True)
class Geometry:
    """How indexes and values of a histogram belong together."""

    lowest: int
    highest: int
    digits: int

    @property
    def unit_shift(self) -> int:
        """Power of two of the smallest difference."""
        return max(self.lowest, 1).bit_length() - 1

    @property
    def half_shift(self) -> int:
        """Power of two of half the sub-buckets."""
        largest: int = 2 * 10**self.digits
        return int(largest - 1).bit_length() - 1

    def find_lowest(self, index: int) -> int:
        """Smallest value that an index stands for."""
        half = 1 << self.half_shift
        bucket = (index >> self.half_shift) - 1
        if bucket < 0:
            return index << self.unit_shift
        return ((index & (half - 1)) + half) << (bucket + self.unit_shift)

    def find_highest(self, value: int) -> int:
        """Largest value that is counted together with ``value``."""
        shift = max(value.bit_length() - 1 - self.half_shift, self.unit_shift)
        return (((value >> shift) + 1) << shift) - 1


# HdrHistogram's own reader adds intervals up in a histogram of three digits, by the smallest value
# of each count, and reports largest values; its published figures come about that way.
SUM = Geometry(1, 2**62, 3)


def is_hdr(text: str) -> bool:
    """Whether some line among the first is one of an interval log."""
    return any(LINE.match(line) for line in text[:100_000].splitlines()[:50])


def read_hdr(text: str) -> list[Log]:
    """One log per tag; BadInput when no line can be read."""
    merged: dict[str, dict[int, int]] = {}
    spans: dict[str, list[float]] = {}
    rejected = []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.match(line.strip())
        if not found:
            rejected += [(number, "no interval")] if _is_content(line) else []
            continue
        try:
            values = decode_histogram(found["payload"])
        except BadInput as error:
            rejected.append((number, str(error)))
            continue
        tag = found["tag"] or ""
        total = merged.setdefault(tag, {})
        for value, count in values.items():
            total[value] = total.get(value, 0) + count
        spans.setdefault(tag, []).append(float(found["length"]))
    if not merged:
        raise BadInput(f"no interval of the log can be read: {rejected[0] if rejected else ''}")
    return [_make_log(tag, merged[tag], spans[tag], tuple(rejected)) for tag in merged]


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#", '"'))


def _make_log(
    tag: str, merged: dict[int, int], spans: list[float], rejected: tuple[tuple[int, str], ...]
) -> Log:
    pairs = sorted(merged.items())
    values = np.array([SUM.find_highest(value) for value, _ in pairs], dtype=np.float64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    maximum = float(values[-1]) if len(values) else 0.0
    # jHiccup and most users of the format record nanoseconds; the file itself does not say.
    return Log("hdrhistogram", tag or "all", "ns", len(spans), values, counts, maximum,
               sum(spans), rejected=rejected)  # fmt: skip


def decode_histogram(payload: str) -> dict[int, int]:
    """Counts by smallest equivalent value; BadInput for what is no histogram."""
    try:
        data = base64.b64decode(payload, validate=True)
        (cookie,) = struct.unpack_from(">I", data)
        if cookie & ~WORD in COMPRESSED:
            (length,) = struct.unpack_from(">i", data, 4)
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(data[8 : 8 + length], MOST_BYTES)
            if not unpacker.eof:
                raise ValueError("cut short, or too large")
            (cookie,) = struct.unpack_from(">I", data)
        version = COOKIES[cookie & ~WORD]
        return _decode_counts(version, (cookie & WORD) >> 4, data)
    except (binascii.Error, zlib.error, struct.error, KeyError, IndexError, ValueError) as error:
        raise BadInput(f"damaged histogram: {error!r}") from None


def _decode_counts(version: int, width: int, data: bytes) -> dict[int, int]:
    head = HEADS[version]
    fields = head.unpack_from(data)
    if version == 0:
        _, digits, lowest, highest, _ = fields
        length = len(data) - head.size
    else:
        _, length, _, digits, lowest, highest, _ = fields
    if not 0 <= digits <= 5 or not 1 <= lowest <= highest or length < 0:
        raise ValueError("bounds that cannot be")
    geometry = Geometry(lowest, highest, digits)
    body = data[head.size : head.size + length]
    if len(body) != length:
        raise ValueError("cut short")
    pairs = _read_zigzag(body) if version == 2 else _read_fixed(body, width)
    return {geometry.find_lowest(index): count for index, count in pairs}


def _read_fixed(body: bytes, width: int) -> Iterator[tuple[int, int]]:
    if width not in (2, 4, 8):
        raise ValueError(f"counts of {width} bytes")
    counts: NDArray[np.int64] = np.frombuffer(
        body[: len(body) // width * width], dtype=f">i{width}"
    ).astype(np.int64)
    if (counts < 0).any():
        raise ValueError("a negative count")
    for index in np.flatnonzero(counts):
        yield int(index), int(counts[index])


def _read_zigzag(body: bytes) -> Iterator[tuple[int, int]]:
    at = index = 0
    while at < len(body):
        number, at = _read_number(body, at)
        if number < 0:
            index -= number
        else:
            if number:
                yield index, number
            index += 1
        if index > MOST_COUNTS:
            raise ValueError("too many counts")


def _read_number(body: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = body[at]
        at += 1
        # The ninth byte holds eight bits, without a sign that more follow.
        number |= (byte if shift == 56 else byte & 0x7F) << shift
        if byte < 0x80 or shift == 56:
            return (number >> 1) ^ -(number & 1), at
        shift += 7
