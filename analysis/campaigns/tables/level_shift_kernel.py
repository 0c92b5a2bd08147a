"""Compiled loop: where the rounds of a series leave the level of those before them."""

from typing import Any

import numpy as np

from core.jit import compile_loop

# Rounds before a shift that it is compared with: five days at a round each ten minutes.
MAX_BEFORE = 720
# Smaller shifts are not reported, however certain they are.
MIN_SHIFT_MS, MIN_SHIFT_SHARE = 1.0, 0.01
# A shift is at least so many times the range from p10 to p90 of the level before: the course over
# a day is no shift. From SETTLED rounds on the level holds such a course.
SETTLED, SETTLED_RANGES, NEW_RANGES = 288, 1.25, 1.75
# A shift is abrupt: at least 75 % of it lies between the last rounds before it and its own.
RECENT, ABRUPT = 6, 0.75
# Neighbouring rounds of a level differ by sqrt(2 (1 - r)) of its range, r being their correlation.
# Below r = 0.3 the level has no course, so that fewer ranges and a smaller part suffice.
PLAIN_DIFFERENCES = 1.18
PLAIN_RANGES, PLAIN_ABRUPT, MIN_PLAIN = 1.25, 0.5, 96
# The level may have runs like the new one, as in the evening of each day: a shift is longer, by
# half and one round, than the longest of those that go halfway to it.
RECURRING = 1.5


@compile_loop
def find_runs(values: Any, needed: Any) -> Any:
    """Return where the level of a series shifts: (n_shifts, 2) int64 of first index, index found.

    ``values`` is (n,) float64 without NaN, in ms. ``needed`` is (n_before + 1, n_beyond + 1) int64:
    the length of a run that is beyond all but so many of so many values before it, 0 for none.
    """
    shifts = np.empty((len(values), 2), np.int64)
    n_shifts, longest = 0, np.max(needed)
    level = np.empty(MAX_BEFORE, np.float64)  # sorted
    size, first = 0, 0  # how many values it has, and the index of the oldest
    run_start, run_side = 0, 0
    for at in range(len(values)):
        value = values[at]
        middle = 0.5 * (level[(size - 1) // 2] + level[size // 2]) if size else value
        side = 1 if value > middle else -1 if value < middle else 0
        if side != run_side or side == 0:
            # The run before belongs to the level.
            size, first = _extend(level, size, values, first, (run_start, at))
            run_start, run_side = at, side
        elif at - run_start >= longest:
            size, first = _extend(level, size, values, first, (run_start, run_start + 1))
            run_start += 1
        found = _find_start(values, (run_start, at, side), level, size, needed)
        if found < 0:
            continue
        before = values[first : first + size]
        if not _is_shift(values, (found, at), before, middle, _find_range(level, size)):
            continue
        shifts[n_shifts, 0], shifts[n_shifts, 1] = found, at
        n_shifts += 1
        # The level begins again with the run.
        size, first = _extend(level, 0, values, found, (found, at + 1))
        run_start, run_side = at + 1, 0
    return shifts[:n_shifts]


@compile_loop
def _is_shift(values: Any, run: Any, level: Any, middle: Any, spread: Any) -> Any:
    """Return whether a run that is no chance is large, abrupt and new enough to be a shift.

    ``run`` is (first index, last index) in ``values``; ``level`` are the rounds before it (n,)
    float64 in their order, with the median ``middle`` and the range from p10 to p90 ``spread``.
    """
    found, at = run
    ranges, abrupt = _find_limits(level, spread)
    least = max(ranges * spread, MIN_SHIFT_MS, MIN_SHIFT_SHARE * middle)
    new = _find_median(values, found, at + 1)
    recent = _find_median(values, max(0, found - RECENT), found)
    if abs(new - middle) < least or abs(new - recent) < abrupt * abs(new - middle):
        return False
    earlier = _find_longest(level, 0.5 * (new + middle), 1 if new > middle else -1)
    return at - found >= RECURRING * earlier


@compile_loop
def _find_longest(values: Any, edge: Any, side: Any) -> Any:
    """Return the length of the longest run above an edge (``side`` 1), or below it (-1)."""
    longest = length = 0
    for value in values:
        length = length + 1 if side * (value - edge) > 0 else 0
        longest = max(longest, length)
    return longest


@compile_loop
def _find_range(ordered: Any, size: Any) -> Any:
    """Return the range from p10 to p90 of the first ``size`` sorted values."""
    return ordered[size - 1 - size // 10] - ordered[size // 10]


@compile_loop
def _find_limits(level: Any, spread: Any) -> Any:
    """Return (ranges, part between neighbouring rounds) that a shift from a level needs.

    ``level`` is (n,) float64 in the order of rounds, and ``spread`` its range from p10 to p90.
    """
    n = len(level)
    ranges = SETTLED_RANGES if n >= SETTLED else NEW_RANGES
    if n < MIN_PLAIN:
        return ranges, ABRUPT
    differences = np.sort(level[1:] - level[:-1])
    if _find_range(differences, n - 1) < PLAIN_DIFFERENCES * spread:
        return ranges, ABRUPT
    return PLAIN_RANGES, PLAIN_ABRUPT


@compile_loop
def _extend(level: Any, size: Any, values: Any, first: Any, added: Any) -> Any:
    """Add ``values[added[0]:added[1]]`` to the sorted level; the oldest leave a full one."""
    for at in range(added[0], added[1]):
        if size == MAX_BEFORE:
            gone = _count_below(level, size, values[first])
            for i in range(gone, size - 1):
                level[i] = level[i + 1]
            size -= 1
            first += 1
        place = _count_below(level, size, values[at])
        for i in range(size, place, -1):
            level[i] = level[i - 1]
        level[place] = values[at]
        size += 1
    return size, first


@compile_loop
def _find_start(values: Any, run: Any, level: Any, size: Any, needed: Any) -> Any:
    """Return the first index of the longest end of a run that is beyond the level, or -1.

    ``run`` is (first index, last index, 1 for above the level's median, -1 for below, or 0).
    """
    run_start, at, side = run
    edge, found = values[at], -1
    if side == 0 or size == 0:
        return found
    for start in range(at, run_start - 1, -1):
        edge = min(edge, values[start]) if side > 0 else max(edge, values[start])
        if side > 0:
            beyond = size - _count_below(level, size, edge)
        else:
            beyond = _count_below(level, size, np.nextafter(edge, np.inf))
        if beyond >= needed.shape[1]:
            break
        length = needed[size, beyond]
        if length and at - start + 1 >= length:
            found = start
    return found


@compile_loop
def _count_below(level: Any, size: Any, value: Any) -> Any:
    """Return how many of the first ``size`` sorted values are less than a value."""
    low, high = 0, size
    while low < high:
        at = (low + high) // 2
        if level[at] < value:
            low = at + 1
        else:
            high = at
    return low


@compile_loop
def _find_median(values: Any, start: Any, stop: Any) -> Any:
    """Return the median of ``values[start:stop]``, the upper one of an even number."""
    n = stop - start
    for at in range(start, stop):
        below = equal = 0
        for other in range(start, stop):
            below += values[other] < values[at]
            equal += values[other] == values[at]
        if below <= n // 2 < below + equal:
            return values[at]
    return values[start]
