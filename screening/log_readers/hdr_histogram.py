"""Parse HdrHistogram interval logs (jHiccup) into one merged histogram per tag.

Formats V0, V1 and V2, compressed or not, as specified in HdrHistogram's documentation.
"""

import base64
import binascii
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.files import DamagedStream, TooLarge, decompress
from screening.log_readers.records import Log

COOKIES = {0x1C849308: 0, 0x1C849301: 1, 0x1C849303: 2}
COMPRESSED = {0x1C849309: 0, 0x1C849302: 1, 0x1C849304: 2}
HEADS = {0: struct.Struct(">iiqqq"), 1: struct.Struct(">iiiiqqd"), 2: struct.Struct(">iiiiqqd")}
WORD = 0xF0
# Bounds of what a histogram may hold, so that a hostile log cannot ask for more memory.
MOST_COUNTS = 1 << 22
MOST_BYTES = 1 << 25
# Numbers of one to nine bytes are taken apart all at once, in thirty times their size.
MOST_NUMBERS_BYTES = 1 << 21
NUMBERS_COST = 30
# What a whole log may unpack and count: a day of jHiccup has 3 million counts in 20 MB (V2).
MOST_BYTES_OF_ALL = 1 << 31
MOST_COUNTS_OF_ALL = 50_000_000
# So many of one value in one interval, and so many counts until they are added up.
MOST_SAMPLES = 1 << 36
MERGED_FROM = 1_000_000
Whole = NDArray[np.int64]
MARKER = "[Histogram log format version"
# Some writers use the comma of their country inside numbers too: there are six parts then.
_POINT = r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]{1,2})?"
_COMMA = r"-?[0-9]+,[0-9]+"
LINE = re.compile(
    r"(?:Tag=(?P<tag>[^,]*),)?"
    rf"(?:{_POINT},(?P<length>{_POINT}),(?P<max>{_POINT})"
    rf"|{_COMMA},(?P<length_comma>{_COMMA}),(?P<max_comma>{_COMMA}))"
    r",(?P<payload>[A-Za-z0-9+/=]+)"
)
# Writers put the longest value of an interval beside it in milliseconds, which determines the unit.
UNITS = {6: "ns", 3: "us", 0: "ms"}


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

    def find_lowest(self, indexes: Whole) -> Whole:
        """Smallest values that indexes stand for; ValueError for what has no 63 bits."""
        half = 1 << self.half_shift
        buckets = (indexes >> self.half_shift) - 1
        if len(indexes) and int(buckets.max()) + self.unit_shift + self.half_shift >= 62:
            raise ValueError("a value beyond all bounds")
        high = ((indexes & (half - 1)) + half) << (np.maximum(buckets, 0) + self.unit_shift)
        return np.where(buckets < 0, indexes << self.unit_shift, high)

    def find_highest(self, value: int) -> int:
        """Largest value that is counted together with ``value``."""
        shift = max(value.bit_length() - 1 - self.half_shift, self.unit_shift)
        return (((value >> shift) + 1) << shift) - 1


# HdrHistogram's own reader adds intervals up in a histogram of three digits, by the smallest value
# of each count, and reports largest values; its published figures come about that way.
SUM = Geometry(1, 2**62, 3)


@dataclass(slots=True)
class Series:
    """Intervals of one tag, added up; ``longest`` is the largest of the column beside them."""

    parts: list[tuple[Whole, Whole]] = field(default_factory=list)
    size: int = 0
    seconds: list[float] = field(default_factory=list)
    longest: float = 0.0
    longest_value: int = 0

    def add(self, values: Whole, counts: Whole, length: float, longest: float) -> None:
        """One interval more."""
        self.parts.append((values, counts))
        self.size += len(values)
        self.seconds.append(length)
        if len(values) and longest > self.longest:
            self.longest, self.longest_value = longest, int(values[-1])
        if self.size > MERGED_FROM:
            self.parts = [self.merge()]
            self.size = len(self.parts[0][0])

    def merge(self) -> tuple[Whole, Whole]:
        """Ascending values and how often each was counted."""
        values = np.concatenate([part for part, _ in self.parts])
        counts = np.concatenate([part for _, part in self.parts])
        distinct, places = np.unique(values, return_inverse=True)
        sums = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(sums, places, counts)
        return distinct, sums


@dataclass(slots=True)
class Allowance:
    """What a whole log may still unpack and count."""

    unpacked: int = MOST_BYTES_OF_ALL
    counts: int = MOST_COUNTS_OF_ALL

    def consume(self, unpacked: int = 0, counts: int = 0) -> None:
        """BadInput when nothing is left."""
        self.unpacked -= unpacked
        self.counts -= counts
        if self.unpacked < 0 or self.counts < 0:
            raise TooMuch("the log holds more histograms than can be read at once: cut it")


class TooMuch(BadInput):
    """The log as a whole is too large: the next line cannot be read either."""


def is_hdr(text: str) -> bool:
    """Whether some line among the first is one of an interval log, or its head is."""
    head = text[:100_000]
    return MARKER in head or any(LINE.fullmatch(line.strip()) for line in head.splitlines())


def read_hdr(text: str) -> list[Log]:
    """One log per tag; BadInput when no line can be read."""
    merged: dict[str, Series] = {}
    rejected: list[tuple[int, str]] = []
    left = Allowance()
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line.strip())
        if not found:
            rejected += [(number, "no interval")] if _is_content(line) else []
            continue
        try:
            pairs = _decode(found["payload"], left)
            if len(pairs[1]) and int(pairs[1].max()) > MOST_SAMPLES:
                raise BadInput("damaged histogram: a count beyond all bounds")
            series = merged.setdefault(found["tag"] or "", Series())
            series.add(*pairs, _read_number_of(found, "length"), _read_number_of(found, "max"))
        except TooMuch:
            raise
        except BadInput as error:
            rejected.append((number, str(error)))
    if not merged:
        reason = "line {}: {}".format(*rejected[0]) if rejected else "it holds none"
        raise BadInput(f"no interval of the log can be read: {reason}")
    return [_build_log(tag, merged[tag], text, tuple(rejected)) for tag in merged]


def _read_number_of(found: re.Match[str], name: str) -> float:
    return float(found[name] or found[f"{name}_comma"].replace(",", "."))


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(("#", '"'))


def _build_log(tag: str, series: Series, text: str, rejected: tuple[tuple[int, str], ...]) -> Log:
    lowest, counts = series.merge() if series.parts else (np.zeros(0, dtype=np.int64),) * 2
    values = np.array(list(map(SUM.find_highest, lowest.tolist())), dtype=np.float64)
    maximum = float(values[-1]) if len(values) else 0.0
    unit, notes = _find_unit(series)
    if "jhiccup" not in text[:10_000].lower():
        notes = (*notes, "not from jHiccup: the verdict holds if these are delays of wake-ups")
    return Log(
        "hdrhistogram",
        tag or "all",
        unit,
        len(series.seconds),
        values,
        counts,
        maximum,
        sum(series.seconds),
        rejected=rejected,
        notes=notes,
    )


def _find_unit(series: Series) -> tuple[str, tuple[str, ...]]:
    if series.longest_value:
        # Both numbers were rounded, by a few percent at most unless they are tiny.
        power = math.log10(series.longest_value / series.longest)
        if abs(power - round(power)) < 0.05 and round(power) in UNITS:
            return UNITS[round(power)], ()
    return "ns", ("the log does not tell its unit: taken as nanoseconds, as jHiccup writes",)


def decode_histogram(payload: str) -> dict[int, int]:
    """Counts by smallest equivalent value; BadInput for what is no histogram."""
    values, counts = _decode(payload, Allowance())
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _decode(payload: str, left: Allowance) -> tuple[Whole, Whole]:
    try:
        data = _unpack(base64.b64decode(payload, validate=True), left)
        (cookie,) = struct.unpack_from(">I", data)
        version = COOKIES[cookie & ~WORD]
        # Numbers of several bytes take so much more time than those of a fixed length.
        left.consume(unpacked=NUMBERS_COST * len(data) if version == 2 else 0)
        values, counts = _decode_counts(version, (cookie & WORD) >> 4, data)
    except (KeyError, struct.error):
        raise BadInput("damaged histogram: no known version of the format") from None
    except (binascii.Error, DamagedStream, TooLarge, IndexError, ValueError) as error:
        raise BadInput(f"damaged histogram: {error}") from None
    left.consume(counts=len(counts))
    return values, counts


def _unpack(data: bytes, left: Allowance) -> bytes:
    (cookie,) = struct.unpack_from(">I", data)
    if cookie & ~WORD not in COMPRESSED:
        return data
    (length,) = struct.unpack_from(">i", data, 4)
    data = decompress(data[8 : 8 + length], MOST_BYTES)
    left.consume(unpacked=len(data))
    return data


def _decode_counts(version: int, width: int, data: bytes) -> tuple[Whole, Whole]:
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
    indexes, counts = _read_zigzag(body) if version == 2 else _read_fixed(body, width)
    return geometry.find_lowest(indexes), counts


def _read_fixed(body: bytes, width: int) -> tuple[Whole, Whole]:
    if width not in (2, 4, 8):
        raise ValueError(f"counts of {width} bytes")
    counts: Whole = np.frombuffer(body[: len(body) // width * width], dtype=f">i{width}").astype(
        np.int64
    )
    if (counts < 0).any():
        raise ValueError("a negative count")
    indexes = np.flatnonzero(counts)
    return indexes, counts[indexes]


def _read_zigzag(body: bytes) -> tuple[Whole, Whole]:
    """Indexes and counts that are not zero; a negative number is a run of so many zeros."""
    if len(body) > MOST_NUMBERS_BYTES:
        raise ValueError("too many counts")
    numbers = _read_numbers(np.frombuffer(body, dtype=np.uint8))
    steps = np.where(numbers < 0, -numbers, 1)
    if (steps > MOST_COUNTS).any() or int(steps.sum()) > MOST_COUNTS:
        raise ValueError("too many counts")
    places = np.flatnonzero(numbers > 0)
    return (np.cumsum(steps) - steps)[places], numbers[places]


def _read_numbers(body: NDArray[np.uint8]) -> Whole:
    """ZigZag numbers of one to nine bytes, low bits first."""
    if not len(body):
        return np.zeros(0, dtype=np.int64)
    ends = _find_ends(body)
    lengths = np.diff(ends, prepend=-1)
    starts = ends - lengths + 1
    places = np.arange(len(body)) - np.repeat(starts, lengths)
    # The ninth byte holds eight bits, without a sign that more follow.
    bits = np.where(places == 8, body, body & 0x7F).astype(np.uint64)
    raw = np.add.reduceat(bits << (7 * places).astype(np.uint64), starts)
    return (raw >> np.uint64(1)).astype(np.int64) ^ -(raw & np.uint64(1)).astype(np.int64)


def _find_ends(body: NDArray[np.uint8]) -> Whole:
    ends = np.flatnonzero(body < 0x80)
    runs = np.diff(np.concatenate(([-1], ends, [len(body)])))
    if (runs[:-1] <= 8).all() and runs[-1] == 1:
        return ends
    return np.array(list(_walk_ends(body.tolist())), dtype=np.int64)


def _walk_ends(body: list[int]) -> Iterator[int]:
    """Ends of numbers one by one, where some have the ninth byte or the last is cut short."""
    first = 0
    for at, byte in enumerate(body):
        if byte < 0x80 or at - first == 8:
            yield at
            first = at + 1
    if first < len(body):
        raise ValueError("cut short")
