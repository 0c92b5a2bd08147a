"""Log-linear histogram of durations in nanoseconds, with its slots and percentiles.

Below 128 ns a slot is one nanosecond; above, every octave has 64 slots, so that a slot is at most
1.6 % wide. The native sampler and the site count in the same slots.
"""

from __future__ import annotations

# 2**40 ns are 18 minutes, nine times the longest run.
SLOTS = 2240


def find_slot(value_ns: int) -> int:
    """Slot that counts a duration."""
    shift = value_ns.bit_length() - 7
    if shift <= 0:
        return max(value_ns, 0)
    return min((shift << 6) + (value_ns >> shift), SLOTS - 1)


def find_bounds_ns(slot: int) -> tuple[int, int]:
    """Shortest and longest duration that a slot counts."""
    shift = max(0, (slot >> 6) - 1)
    low = (slot - (shift << 6)) << shift
    return low, low + (1 << shift) - 1


def find_percentile_us(histogram: dict[int, int], share: float, max_ns: int) -> float:
    """Duration that ``share`` of all counts do not exceed, by nearest rank, middle of its slot."""
    rank = max(1, -int(-sum(histogram.values()) * share // 1))
    seen = 0
    for slot in sorted(histogram):
        seen += histogram[slot]
        if seen >= rank:
            low, high = find_bounds_ns(slot)
            return round(min((low + high) / 2, max_ns) / 1000, 3)
    return 0.0
