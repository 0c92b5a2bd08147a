"""A pool whose truth is known in, the mark that separates it best out, with its errors.

False positive: called good but bad, as a share of the bad; false negative: good but not called so,
as a share of the good. With the network test, good ones between the marks are found after all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from core.errors import BadInput

HIGH_FACTOR = 5.0
MOST_FALSE_POSITIVE = 0.1
FOLDS, REPEATS = 5, 20

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Point:
    """Errors at one mark; ``bad_among_called`` is what a user of the called ones meets."""

    low: float
    false_positive: float
    false_negative: float
    effective_false_negative: float
    called: int
    bad_among_called: float
    false_positive_interval: tuple[float, float]
    false_negative_interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The sweep, the mark chosen on all instances, and its errors on instances not used for it."""

    points: tuple[Point, ...]
    chosen: Point
    good: int
    bad: int
    held_out: Point
    mark_interval: tuple[float, float]


def sweep(per_100s: Floats, good: Flags, marks: Floats | None = None) -> tuple[Point, ...]:
    """Errors at every mark, 0 to 100 per 100 s unless told otherwise."""
    marks = np.arange(101.0) if marks is None else marks
    return tuple(measure(per_100s, good, float(mark)) for mark in marks)


def measure(per_100s: Floats, good: Flags, low: float) -> Point:
    """Errors at one mark."""
    called = per_100s <= low
    rescued = ~called & (per_100s <= HIGH_FACTOR * low)
    counts = (int((called & ~good).sum()), int((~called & good).sum()),
              int((~called & ~rescued & good).sum()))  # fmt: skip
    return _make_point(low, counts, int(good.sum()), int((~good).sum()), int(called.sum()))


def _make_point(
    low: float, counts: tuple[int, int, int], good: int, bad: int, called: int
) -> Point:
    wrong, missed, lost = counts
    return Point(
        low, wrong / max(bad, 1), missed / max(good, 1), lost / max(good, 1), called,
        wrong / max(called, 1), find_interval(wrong, bad), find_interval(missed, good),
    )  # fmt: skip


def find_interval(part: int, whole: int, level: float = 0.9) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share."""
    if not whole:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = float(stats.beta.ppf(tail, part, whole - part + 1)) if part else 0.0
    high = float(stats.beta.ppf(1 - tail, part + 1, whole - part)) if part < whole else 1.0
    return low, high


def choose(points: tuple[Point, ...], most: float = MOST_FALSE_POSITIVE) -> Point:
    """Fewest false negatives among marks whose false positives stay within ``most``.

    Where several marks miss equally few, the lowest is taken: it errs on the safe side.
    """
    fit = [point for point in points if point.false_positive <= most] or [points[0]]
    return min(fit, key=lambda point: (point.false_negative, point.low))


def calibrate(per_100s: Floats, good: Flags, seed: int = 0) -> Calibration:
    """Sweep, choose and cross-validate; BadInput without five of both kinds."""
    if min(good.sum(), (~good).sum()) < FOLDS:
        raise BadInput(f"calibration needs at least {FOLDS} good and {FOLDS} bad instances")
    points = sweep(per_100s, good)
    rng, marks, held = np.random.default_rng(seed), [], []
    for _ in range(REPEATS):
        folds = _deal(good, rng)
        for fold in range(FOLDS):
            train, test = folds != fold, folds == fold
            point = choose(sweep(per_100s[train], good[train]))
            marks.append(point.low)
            held.append(measure(per_100s[test], good[test], point.low))
    low, high = np.quantile(marks, [0.05, 0.95])
    held_out = _average(held, float(np.median(marks)), int(good.sum()), int((~good).sum()))
    return Calibration(points, choose(points), int(good.sum()), int((~good).sum()), held_out,
                       (float(low), float(high)))  # fmt: skip


def _deal(good: Flags, rng: np.random.Generator) -> NDArray[np.int64]:
    folds = np.empty(len(good), dtype=np.int64)
    for kind in (good, ~good):
        folds[kind] = rng.permutation(np.arange(kind.sum()) % FOLDS)
    return folds


def _average(held: list[Point], low: float, good: int, bad: int) -> Point:
    wrong = np.mean([point.false_positive for point in held])
    missed = np.mean([point.false_negative for point in held])
    lost = np.mean([point.effective_false_negative for point in held])
    called = sum(point.called for point in held) // REPEATS
    counts = (round(wrong * bad), round(missed * good), round(lost * good))
    point = _make_point(low, counts, good, bad, called)
    return Point(low, float(wrong), float(missed), float(lost), called, point.bad_among_called,
                 point.false_positive_interval, point.false_negative_interval)  # fmt: skip
