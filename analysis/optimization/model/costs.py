"""Integer costs per region and point, for exact sums.

A point is one client in one round. Costs are minimised, for throughput too (highest value less
value). A point that no region answered has no weight; a client's weight is divided evenly among
its other points.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.objectives import Measure, Missing, Objective
from analysis.optimization.model.samples import Samples
from analysis.optimization.model.units import StreamedMatrix, Units
from core.errors import BadInput

Ints = NDArray[np.int64]
Matrix = NDArray[Any]

# A cell without an answer, above every cost.
NO_ANSWER = 2**31 - 1
# Costs stay below this, so that weights keep 36 bits of the 60 that exact sums have.
MAX_COST = 2**24
MAX_EXACT_COST = 2**30
MAX_SUM = 2**60
MAX_DECIMALS = 6
# From this many client-rounds on, or clients of one round, costs are computed from the samples
# where they are read.
STREAMED_POINTS, STREAMED_CLIENTS = 100_000, 400_000
# Weights that are no short decimals are rounded to this many steps of the largest.
WEIGHT_STEPS = 2**24


@dataclass(frozen=True, eq=False)
class Costs:
    """RobustProblem-number costs; ``matrix`` is region by point, with NO_ANSWER where none came.

    ``counted`` is client by round; points that do not count have no weight, and a cost that does
    not matter. ``gaps`` are missing answers at counted points. ``lost`` is the cost of a counted
    point that a failure leaves without an answer: the penalty, or without one what it would be.
    """

    matrix: Any
    weights: Ints
    scale: int
    top: int
    penalty: int | None
    rounding: float
    gaps: int
    counted: NDArray[np.bool_]
    lost: int
    highest: int = 0

    def filled(self) -> "Costs":
        """Return the same costs with all of them in memory."""
        return replace(self, matrix=self.matrix[:]) if self.is_streamed else self

    @property
    def is_streamed(self) -> bool:
        """Whether costs are computed from the samples where they are read."""
        return isinstance(self.matrix, StreamedMatrix)

    @property
    def left_out(self) -> int:
        """How many client-rounds do not count, because no region answered."""
        return int(self.counted.size - self.counted.sum())

    @property
    def total_weight(self) -> int:
        """The sum of all points' weights."""
        return int(self.weights.sum())

    def value_of(self, cost: float) -> float:
        """Return a cost of one point in the unit of the samples."""
        return (self.top - cost if self.top else cost) / self.scale

    def mean_of(self, total: int, weight: int) -> float:
        """Return a weighted sum of costs as a mean in the unit of the samples."""
        return self.value_of(total / weight)


def cost(samples: Samples, objective: Objective) -> Costs:
    """Convert samples to integer costs.

    Raise BadInput if the penalty is better than a value, or no region answered any weighted client.
    """
    scale, highest, exact = _measure(samples.values)
    if objective.missing is Missing.EXCLUDE:
        scale, highest = _refine(scale, highest)
    maximised = objective.measure is Measure.THROUGHPUT
    top = highest if maximised else 0
    weights, weight_error = point_weights(samples.weights, samples.counted, highest)
    rounding = (0.0 if exact else 0.5 / scale) + weight_error * highest / scale
    if _can_stream(samples, objective):
        return _streamed(samples, objective, (scale, top), (weights, rounding))
    matrix, gaps = _fill(samples, scale, top)
    worst = int(np.max(matrix, initial=0, where=matrix != NO_ANSWER))
    np.copyto(matrix, worst, where=~samples.counted.reshape(-1))
    priced = _penalty(objective, scale, top, worst if gaps else None)
    penalty = priced if objective.missing is Missing.PENALTY else None
    lost = max(priced, worst)
    if gaps and penalty is not None:
        np.copyto(matrix, penalty, where=matrix == NO_ANSWER)
    return Costs(matrix, weights, scale, top, penalty, rounding, gaps, samples.counted, lost)


def _can_stream(samples: Samples, objective: Objective) -> bool:
    """Whether there are so many client-rounds that a copy would be slow, or too large."""
    is_mean = objective.percentile is None and not objective.worst_group
    is_priced = objective.missing is Missing.PENALTY
    least = STREAMED_POINTS if len(samples.rounds) > 1 else STREAMED_CLIENTS
    is_large = samples.values[0].size >= least
    return is_mean and is_priced and is_large and samples.values.flags.c_contiguous


def _streamed(
    samples: Samples, objective: Objective, units: tuple[int, int], points: tuple[Ints, float]
) -> Costs:
    """Return costs that are computed where they are read."""
    (scale, top), (weights, rounding) = units, points
    values = samples.values.reshape(len(samples.regions), -1)
    highest, gaps = 0, 0
    counted = samples.counted.reshape(-1)
    for row in values:
        worst = np.fmin.reduce(row) if top else np.fmax.reduce(row)
        if worst == worst:
            found = round(float(worst) * scale)
            highest = max(highest, top - found if top else found)
        if row.dtype.kind == "f":
            gaps += int((np.isnan(row) & counted).sum())
    penalty = _penalty(objective, scale, top, highest if gaps else None)
    matrix = StreamedMatrix(values, Units(float(scale), top, penalty))
    highest, lost = max(highest, penalty if gaps else 0), max(penalty, highest)
    shape = samples.counted
    return Costs(matrix, weights, scale, top, penalty, rounding, gaps, shape, lost, highest)


def point_weights(
    weights: NDArray[Any], counted: NDArray[np.bool_], highest: int
) -> tuple[Ints, float]:
    """Return integer weights of points, (n_points,) int64, and the total error of clients' shares.

    Parts are exact where the least common multiple of the numbers of counted rounds is small.
    """
    rounds = counted.sum(axis=1)
    used = np.where(rounds > 0, weights, 0.0)
    if not used.any():
        raise BadInput("no region answered a client that has a weight", field="samples")
    parts, error = whole_weights(used, counted.shape[1] * highest)
    several = np.unique(rounds[parts > 0])
    if several.size > 1:
        common = math.lcm(*several.tolist())
        if common * int(parts.sum()) * highest <= MAX_SUM:
            parts = parts * (common // np.maximum(rounds, 1))
            parts //= np.gcd.reduce(parts)
        else:
            parts, _ = whole_weights(used / np.maximum(rounds, 1), counted.shape[1] * highest)
            clients = parts * rounds
            error = float(np.abs(clients / clients.sum() - used / used.sum()).sum())
    return (parts[:, None] * counted).reshape(-1), error


def whole_weights(weights: NDArray[Any], rest: int) -> tuple[Ints, float]:
    """Return weights as whole numbers, and how far their shares are off in sum."""
    most = max(MAX_SUM // max(rest, 1), 1)
    for factor in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000):
        scaled = weights * factor
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max() <= 1e-9 * scaled.max() and whole.sum() <= most:
            ints = whole.astype(np.int64)
            return ints // np.gcd.reduce(ints), 0.0
    factor = min(WEIGHT_STEPS / weights.max(), 0.5 * most / weights.sum())
    ints = np.rint(weights * factor).astype(np.int64)
    if not ints.any():
        raise BadInput("there are too many samples for exact sums", field="weights")
    return ints, float(np.abs(ints / ints.sum() - weights / weights.sum()).sum())


def _measure(values: Matrix) -> tuple[int, int, bool]:
    """Return the scale that makes values whole, the highest whole value, and whether it is
    exact."""
    tops = [float(np.fmax.reduce(plane, axis=None)) for plane in values]
    highest = max((top for top in tops if not np.isnan(top)), default=0.0)
    for decimals in range(MAX_DECIMALS + 1):
        scale = 10**decimals
        if highest * scale < MAX_EXACT_COST and _is_whole(values, scale):
            return scale, max(round(highest * scale), 1), True
    scale = 1
    while scale < 10**MAX_DECIMALS and highest * scale * 10 < MAX_COST:
        scale *= 10
    if highest * scale >= MAX_EXACT_COST:
        raise BadInput(f"a value of {highest:g} is too large; use a larger unit", field="values")
    return scale, max(round(highest * scale), 1), False


def _refine(scale: int, highest: int) -> tuple[int, int]:
    """Return a finer scale, as needed to separate ratios."""
    while highest * 10 < MAX_COST:
        scale, highest = scale * 10, highest * 10
    return scale, highest


def _is_whole(values: Matrix, scale: int) -> bool:
    # A rounded decimal differs by half a unit of its type; more means digits beyond the scale.
    step = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0
    for plane in values:
        scaled = plane.astype(np.float64) * scale
        off = np.abs(scaled - np.rint(scaled))
        if np.any(off > np.minimum(step * np.abs(scaled) + 1e-12, 0.01)):
            return False
    return True


def _fill(samples: Samples, scale: int, top: int) -> tuple[Matrix, int]:
    regions, points = len(samples.regions), len(samples.clients) * len(samples.rounds)
    matrix = np.empty((regions, points), np.int32)
    counted, gaps = samples.counted.reshape(-1), 0
    for row, plane in zip(matrix, samples.values, strict=True):
        flat = plane.reshape(-1)
        lost = np.isnan(flat) if flat.dtype.kind == "f" else np.zeros(points, bool)
        whole = np.rint(np.where(lost, 0, flat).astype(np.float64) * scale)
        row[:] = np.where(lost, NO_ANSWER, top - whole if top else whole)
        gaps += int((lost & counted).sum())
    return matrix, gaps


def _penalty(objective: Objective, scale: int, top: int, worst: int | None) -> int:
    """Return the cost of a counted point without an answer; ``worst`` is None where all
    answered."""
    if objective.penalty is None:
        return top if top else worst or 0
    if not np.isfinite(objective.penalty) or objective.penalty < 0:
        raise BadInput("a penalty is a number from 0 up", field="penalty")
    given = round(objective.penalty * scale)
    priced = top - given if top else given
    if worst is not None and not worst <= priced < MAX_EXACT_COST:
        edge = (top - worst if top else worst) / scale
        raise BadInput(f"the penalty must be no better than {edge:g}, measured", field="penalty")
    return max(priced, 0)
