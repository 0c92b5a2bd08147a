"""Counts of round trips by bins of a hundredth, from which percentiles are read."""

import math
from collections.abc import Mapping

MIN_MS, MAX_MS = 0.1, 10_000.0
_RATIO = 1.01


def bin_of(rtt_ms: float) -> int:
    """Return the bin of a round trip; below the first limit is the first bin."""
    return max(0, math.floor(math.log(rtt_ms / MIN_MS) / math.log(_RATIO)))


def median(counts: Mapping[int, int]) -> float | None:
    """Return the median in ms, at most half a hundredth off; ``None`` without counts."""
    half = sum(counts.values()) / 2
    if not half:
        return None
    reached = 0.0
    for number, count in sorted(counts.items()):
        if reached + count >= half:
            part = (half - reached) / count
            return float(MIN_MS * _RATIO ** (number + part))
        reached += count
    return None
