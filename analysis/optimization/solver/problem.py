"""One whole-number problem: which k of these regions, under which limits, at what cost."""

from dataclasses import dataclass
from dataclasses import field as made
from typing import Any

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import NO_ANSWER, Matrix
from analysis.optimization.solver.cost_kernels import Ints, two_nearest, weigh
from analysis.optimization.solver.search_kernels import (
    Field,
    Podium,
    Rules,
    answered_cost,
    as_ints,
    as_podium,
    record,
)

# Fine units to one unit of cost: ten bits lose less than a thousandth of a unit per point.
MOST_SHIFT = 10
SUM_BITS = 61
# Levels that fit this many bits are kept in half the memory; it is worth up to six fine bits.
LEVEL_BITS = 31
LEAST_SHIFT = 4


@dataclass(eq=False)
class Problem:
    """A problem under solution, with the best sets found so far."""

    field: Field
    limits: Limits
    size: int
    places: int
    cutoff: int = 0
    podium: Podium = made(init=False)
    rules: Rules = made(init=False)
    worst: int = made(init=False)
    guide: tuple[int, ...] = made(init=False)
    tried: set[tuple[int, ...]] = made(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.worst = int(self.field.values.max())
        most = int(self.field.weights.sum()) * self.worst + 1
        self.cutoff = min(self.cutoff or most, most)
        self.podium = as_podium(self.places, self.size, self.cutoff)
        # Stands in for the best set where none is found, or none is good enough.
        self.guide = tuple(range(self.size))
        self.rules = rules_of(self.limits, self.field.values.shape[0])

    @property
    def points(self) -> int:
        """How many client-rounds there are."""
        return int(self.field.weights.size)

    @property
    def found(self) -> bool:
        """Whether any set stands on the podium."""
        return bool((self.podium.sets[0] >= 0).all())

    @property
    def best(self) -> tuple[int, ...]:
        """The best set so far, or the one that comes nearest."""
        return tuple(int(j) for j in self.podium.sets[0]) if self.found else self.guide

    @property
    def listed(self) -> list[tuple[int, ...]]:
        """All sets on the podium, best first."""
        sets = self.podium.sets
        return [tuple(int(j) for j in row) for row in sets[sets[:, 0] >= 0]]

    @property
    def worth(self) -> int:
        """The bound, in fine units, above which a box holds nothing new."""
        return (int(self.podium.costs[-1]) - 1) << self.field.shift

    @property
    def free(self) -> Ints:
        """Regions that may be chosen and need not be."""
        held = {*self.limits.inside, *self.limits.outside}
        return as_ints([j for j in range(self.field.values.shape[0]) if j not in held])

    def shorten(self, cutoff: int) -> None:
        """Ask for no set that costs so much, where the podium has places left; 0 asks nothing."""
        costs = self.podium.costs
        costs[:] = np.minimum(costs, cutoff or costs[-1])
        self.podium.sets[costs >= (cutoff or np.iinfo(np.int64).max)] = -1

    def cost(self, chosen: Any) -> int:
        """Weigh a set exactly."""
        members = as_ints(chosen)
        if self.field.lost >= 0:
            return int(answered_cost(self.field, members))
        return int(weigh(self.field.weights, self.nearest(members)[0]))

    def nearest(self, chosen: Any) -> tuple[Ints, Ints, Ints]:
        """Give each point's best and second-best cost, and which region is best."""
        first, second = np.empty(self.points, np.int64), np.empty(self.points, np.int64)
        who = np.zeros(self.points, np.int64)
        two_nearest(self.field.values, as_ints(chosen), self.worst, (first, second, who))
        return first, second, who

    def offer(self, chosen: Any) -> None:
        """Record a set, if it keeps to the limits and is good enough."""
        members = tuple(sorted(int(j) for j in chosen))
        if members not in self.tried and self.limits.allow(members):
            self.tried.add(members)
            record(self.podium, np.int64(self.cost(members)), as_ints(members))


def rules_of(limits: Limits, regions: int) -> Rules:
    """Give limits as arrays for the search."""
    groups = np.zeros((len(limits.groups), regions), np.int64)
    for row, members in zip(groups, limits.groups, strict=True):
        row[list(members)] = 1
    return Rules(
        as_ints(limits.provider),
        as_ints(limits.room),
        as_ints(limits.price),
        limits.purse,
        groups,
        as_ints(limits.needs),
    )


def field_of(matrix: Matrix, weights: Ints, lost: int | None = None) -> Field:
    """Give costs as the kernels take them; ``lost`` prices a point that nobody answered."""
    values = matrix
    if lost is not None:
        values = np.where(matrix == NO_ANSWER, np.int32(lost), matrix)
    worst = max(int(values.max()), 1)
    most = worst * max(int(weights.sum()), 1)
    room = max(LEVEL_BITS - worst.bit_length(), LEAST_SHIFT)
    shift = max(0, min(MOST_SHIFT, room, SUM_BITS - most.bit_length()))
    return Field(values, weights, matrix, -1 if lost is None else lost, shift, -1)
