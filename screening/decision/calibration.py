"""Calibrate the threshold on a pool of known truth, with its error rates.

False positive: called good but bad, as a share of the bad; false negative: good but not called so,
as a share of the good. With the network test, good ones between the marks are found after all.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from core.errors import BadInput

HIGH_FACTOR = 5.0
MOST_FALSE_POSITIVE = 0.1
FOLDS, REPEATS = 5, 20

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
MARKS = np.arange(101.0)


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


class Errors(NamedTuple):
    """Numbers at every mark: bad but called, good but not called, discarded, called."""

    wrong: Counts
    missed: Counts
    lost: Counts
    called: Counts
    good: int
    bad: int


def count_errors(per_100s: Floats, good: Flags, marks: Floats) -> Errors:
    """Errors at every mark, all marks at once."""
    fine, poor = np.sort(per_100s[good]), np.sort(per_100s[~good])
    kept = np.searchsorted(fine, marks, side="right")
    later = np.searchsorted(fine, HIGH_FACTOR * marks, side="right")
    wrong = np.searchsorted(poor, marks, side="right")
    return Errors(wrong, len(fine) - kept, len(fine) - later, kept + wrong, len(fine), len(poor))


def compute_curve(per_100s: Floats, good: Flags, marks: Floats = MARKS) -> tuple[Point, ...]:
    """Errors at every mark, 0 to 100 per 100 s by default."""
    errors = count_errors(per_100s, good, marks)
    return tuple(_build_point(float(mark), errors, at) for at, mark in enumerate(marks))


def measure(per_100s: Floats, good: Flags, low: float) -> Point:
    """Errors at one mark."""
    return compute_curve(per_100s, good, np.array([low]))[0]


def _build_point(low: float, errors: Errors, at: int) -> Point:
    wrong, missed, lost, called = (int(column[at]) for column in errors[:4])
    return Point(
        low,
        wrong / max(errors.bad, 1),
        missed / max(errors.good, 1),
        lost / max(errors.good, 1),
        called,
        wrong / max(called, 1),
        find_interval(wrong, errors.bad),
        find_interval(missed, errors.good),
    )


def find_interval(part: int, whole: int, level: float = 0.9) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share."""
    if not whole:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = float(special.betaincinv(part, whole - part + 1, tail)) if part else 0.0
    high = float(special.betaincinv(part + 1, whole - part, 1 - tail)) if part < whole else 1.0
    return low, high


def choose(errors: Errors, most: float = MOST_FALSE_POSITIVE) -> int:
    """Index of the mark with fewest false negatives among those with few false positives.

    Where several marks miss equally few, the lowest is taken: it errs on the safe side.
    """
    fit = np.flatnonzero(errors.wrong <= most * errors.bad)
    return int(fit[errors.missed[fit].argmin()]) if len(fit) else 0


def calibrate(per_100s: Floats, good: Flags, seed: int = 0) -> Calibration:
    """Sweep, choose and cross-validate; BadInput without five of both kinds."""
    if min(good.sum(), (~good).sum()) < FOLDS:
        raise BadInput(f"calibration needs at least {FOLDS} good and {FOLDS} bad instances")
    rng = np.random.default_rng(seed)
    marks, held = [], np.zeros(4)
    for _ in range(REPEATS):
        folds = _assign_folds(good, rng)
        for fold in range(FOLDS):
            train, test = folds != fold, folds == fold
            mark = MARKS[choose(count_errors(per_100s[train], good[train], MARKS))]
            errors = count_errors(per_100s[test], good[test], np.array([mark]))
            held += [column[0] for column in errors[:4]]
            marks.append(float(mark))
    points = compute_curve(per_100s, good)
    chosen = points[choose(count_errors(per_100s, good, MARKS))]
    low, high = np.quantile(marks, [0.05, 0.95])
    numbers = (held / REPEATS).round().astype(np.int64)[:, None]
    wrong, missed, lost, called = numbers
    errors = Errors(wrong, missed, lost, called, int(good.sum()), int((~good).sum()))
    return Calibration(
        points,
        chosen,
        errors.good,
        errors.bad,
        _build_point(float(np.median(marks)), errors, 0),
        (float(low), float(high)),
    )


def _assign_folds(good: Flags, rng: np.random.Generator) -> NDArray[np.int64]:
    folds = np.empty(len(good), dtype=np.int64)
    for kind in (good, ~good):
        folds[kind] = rng.permutation(np.arange(kind.sum()) % FOLDS)
    return folds
