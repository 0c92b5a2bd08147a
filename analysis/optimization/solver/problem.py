"""The integer k-region problem with its incumbents."""

from dataclasses import dataclass
from dataclasses import field as made
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import NO_ANSWER, Matrix
from analysis.optimization.solver.block_kernels import (
    Singles,
    block_lows,
    exact_gains,
    gather,
    shortened,
)
from analysis.optimization.solver.cost_kernels import Ints, two_nearest, weigh
from analysis.optimization.solver.search_kernels import (
    Field,
    Incumbents,
    Rules,
    answered_cost,
    as_ints,
    empty_incumbents,
    record,
)

# Fractional bits of dual levels: ten bits lose less than a thousandth of a unit per point.
MAX_SHIFT = 10
SUM_BITS = 61
# Levels of this many bits need half the memory, which is worth up to six fractional bits.
LEVEL_BITS = 31
MIN_SHIFT = 4
# Costs in approximate steps have this many bits, which halves the memory that a step reads.
ROUGH_BITS = 16


@dataclass(frozen=True, eq=False)
class RoughCosts:
    """Costs (n_regions, n_points) uint16 and ``lows``, in units of 2**shift."""

    values: NDArray[np.uint16]
    lows: NDArray[np.int32]
    shift: int


@dataclass(eq=False)
class Problem:
    """A problem with the best sets found so far."""

    field: Field
    limits: Limits
    size: int
    places: int
    cutoff: int = 0
    incumbents: Incumbents = made(init=False)
    rules: Rules = made(init=False)
    worst: int = made(init=False)
    guide: tuple[int, ...] = made(init=False)
    tried: set[tuple[int, ...]] = made(init=False, default_factory=set)
    # The original index of each point, if points were rearranged.
    order: Ints | None = None
    # The last set of ``best_costs``, and these.
    near: tuple[tuple[int, ...], Ints] | None = None

    def __post_init__(self) -> None:
        self.worst = self._largest()
        most = int(self.field.weights.sum()) * self.worst + 1
        self.cutoff = min(self.cutoff or most, most)
        self.incumbents = empty_incumbents(self.places, self.size, self.cutoff)
        # Used as the best set while none is found.
        self.guide = tuple(range(self.size))
        self.rules = rules_of(self.limits, self.field.values.shape[0])

    @property
    def points(self) -> int:
        """The number of client-rounds."""
        return int(self.field.weights.size)

    @property
    def found(self) -> bool:
        """Whether there is an incumbent."""
        return bool((self.incumbents.sets[0] >= 0).all())

    @property
    def best(self) -> tuple[int, ...]:
        """The incumbent, or a guide set without one."""
        return tuple(int(j) for j in self.incumbents.sets[0]) if self.found else self.guide

    @property
    def listed(self) -> list[tuple[int, ...]]:
        """All incumbents, best first."""
        sets = self.incumbents.sets
        return [tuple(int(j) for j in row) for row in sets[sets[:, 0] >= 0]]

    @property
    def worth(self) -> int:
        """The bound, in units of 1 / 2**shift, above which a box has no better set."""
        return (int(self.incumbents.costs[-1]) - 1) << self.field.shift

    @property
    def free(self) -> Ints:
        """Regions that may be chosen and need not be."""
        held = {*self.limits.inside, *self.limits.outside}
        return as_ints([j for j in range(self.field.values.shape[0]) if j not in held])

    @cached_property
    def single_weights(self) -> Singles:
        """The weights in float32, for approximate steps."""
        return self.field.weights.astype(np.float32)

    @cached_property
    def rough(self) -> RoughCosts:
        """Costs in 16 bits, for approximate steps."""
        shift = max(self.worst.bit_length() - ROUGH_BITS, 0)
        return RoughCosts(shortened(self.field.values, shift), self.lows >> shift, shift)

    @cached_property
    def lows(self) -> NDArray[np.int32]:
        """The least cost of each region in each block of points, (n_regions, n_blocks)."""
        return self._lows()

    @property
    def best_costs(self) -> Ints:
        """Each point's cost of the incumbent, (n_points,) int64."""
        if self.near is None or self.near[0] != self.best:
            self.near = (self.best, self.nearest(self.best)[0])
        return self.near[1]

    def _largest(self) -> int:
        return int(self.field.values.max())

    def _lows(self) -> NDArray[np.int32]:
        return block_lows(self.field.values)

    def savings(self, levels: Ints, rows: Ints) -> Ints:
        """Return the exact savings of some regions beneath levels, (n_rows,) int64."""
        field = self.field
        return exact_gains(field.values, field.weights, levels, rows, field.shift, self.lows)

    def arrange(self) -> None:
        """Sort points by their best and second-best chosen region, so that blocks are alike."""
        nearest = np.argsort(self.field.values[list(self.best)], axis=0, kind="stable")[:2]
        first, second, _ = self.nearest(self.best)
        order = np.lexsort((first + second, nearest[-1], nearest[0])).astype(np.int64)
        values = gather(self.field.values, order)
        is_same = self.field.exact is self.field.values
        exact = values if is_same else gather(self.field.exact, order)
        weights = self.field.weights[order]
        self.field = self.field._replace(values=values, weights=weights, exact=exact)
        self.order = order if self.order is None else self.order[order]
        self.near = None
        for name in ("lows", "rough", "single_weights"):
            self.__dict__.pop(name, None)

    def shorten(self, cutoff: int) -> None:
        """Lower the cut-off of free places of the incumbents; 0 does nothing."""
        costs = self.incumbents.costs
        costs[:] = np.minimum(costs, cutoff or costs[-1])
        self.incumbents.sets[costs >= (cutoff or np.iinfo(np.int64).max)] = -1

    def cost(self, chosen: Any) -> int:
        """Return the exact cost of a set."""
        members = as_ints(chosen)
        if self.field.lost >= 0:
            return int(answered_cost(self.field, members))
        return int(weigh(self.field.weights, self.nearest(members)[0]))

    def nearest(self, chosen: Any) -> tuple[Ints, Ints, Ints]:
        """Return each point's best and second-best cost and the index of the best, (n_points,)
        int64."""
        first, second = np.empty(self.points, np.int64), np.empty(self.points, np.int64)
        who = np.zeros(self.points, np.int64)
        two_nearest(self.field.values, as_ints(chosen), self.worst, (first, second, who))
        return first, second, who

    def offer(self, chosen: Any) -> None:
        """Record a set if it is feasible and below the cut-off."""
        members = tuple(sorted(int(j) for j in chosen))
        if members not in self.tried and self.limits.allow(members):
            self.tried.add(members)
            record(self.incumbents, np.int64(self.cost(members)), as_ints(members))


def rules_of(limits: Limits, regions: int) -> Rules:
    """Return limits as arrays for the compiled search."""
    groups = np.zeros((len(limits.groups), regions), np.int64)
    for row, members in zip(groups, limits.groups, strict=True):
        row[list(members)] = 1
    return Rules(
        as_ints(limits.provider),
        as_ints(limits.capacity),
        as_ints(limits.price),
        limits.budget,
        groups,
        as_ints(limits.needs),
    )


def field_of(matrix: Matrix, weights: Ints, lost: int | None = None) -> Field:
    """Return costs for the kernels; ``lost`` is the price of a point without an answer."""
    values = matrix
    if lost is not None:
        values = np.where(matrix == NO_ANSWER, np.int32(lost), matrix)
    shift = shift_of(int(values.max()), weights)
    return Field(values, weights, matrix, -1 if lost is None else lost, shift, -1)


def shift_of(worst: int, weights: Ints) -> int:
    """Return the fractional bits of dual levels beneath costs up to ``worst``."""
    most = max(worst, 1) * max(int(weights.sum()), 1)
    capacity = max(LEVEL_BITS - max(worst, 1).bit_length(), MIN_SHIFT)
    return max(0, min(MAX_SHIFT, capacity, SUM_BITS - most.bit_length()))


def draw_by_weight(weights: Ints, count: int) -> tuple[Ints, Ints]:
    """Return points at even steps of the running sum of weights, and how often each was met."""
    reached = np.cumsum(weights)
    steps = (np.arange(count) + 0.5) * (float(reached[-1]) / count)
    places = np.minimum(np.searchsorted(reached, steps, side="right"), weights.size - 1)
    unique, counts = np.unique(places, return_counts=True)
    return unique.astype(np.int64), counts.astype(np.int64)
