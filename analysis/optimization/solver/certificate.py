"""The certificate of optimality: boxes of sets, each with dual multipliers.

It is checked independently by ``optimization.verification``."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """RobustProblem numbers that bound every set's cost from below.

    A set costs at least the sum of w * level, less what its regions save beneath the levels: all
    in units of 1 / 2**shift. ``rates`` add, per unit of price over the ceiling and per member that
    a group lacks, what an allowed set never pays.
    """

    levels: Ints
    rates: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """All sets with ``inside`` and without ``outside``, bounded from the partial set ``base``.

    In a robust problem, the sets are bounded without the region ``lost``.
    """

    inside: frozenset[int]
    outside: frozenset[int]
    base: frozenset[int]
    multipliers: int
    lost: int | None = None


@dataclass(frozen=True, eq=False)
class Proof:
    """Boxes that cover every allowed set; no set that is not listed costs less than ``floor``.

    ``listed`` are the sets that cost as much or less. ``lost`` is the price of a point without an
    answer where such points are excluded. ``level`` is the threshold of a percentile objective.
    """

    size: int
    shift: int
    floor: int
    listed: tuple[tuple[int, ...], ...]
    boxes: tuple[Box, ...]
    multipliers: tuple[Multipliers, ...]
    lost: int | None = None
    level: int | None = None
    robust: bool = False


@dataclass(frozen=True, eq=False)
class GroupMultipliers:
    """Dual levels (n_copies, n_points) float32 and shares of groups (n_copies, n_groups) of sum 1.

    Points are those of positive weight, by the name of their group and then as in the samples.
    There is one copy, or in a robust problem one per region of the base that may be lost.
    """

    levels: NDArray[np.float32]
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class GroupBox:
    """All sets with ``inside`` and without ``outside``, bounded from the partial set ``base``, or
    listed one by one where there are no multipliers."""

    inside: frozenset[int]
    outside: frozenset[int]
    base: tuple[int, ...]
    multipliers: int | None


@dataclass(frozen=True, eq=False)
class GroupProof:
    """Boxes that cover every allowed set; none has a set with a largest group mean below
    ``floor``, in units of cost."""

    size: int
    floor: float
    boxes: tuple[GroupBox, ...]
    multipliers: tuple[GroupMultipliers, ...]
    robust: bool = False


def in_original_order(multipliers: Multipliers, order: Ints | None) -> Multipliers:
    """Return multipliers of rearranged points in the order of the samples."""
    if order is None:
        return multipliers
    levels = np.empty_like(multipliers.levels)
    levels[order] = multipliers.levels
    return Multipliers(levels, multipliers.rates)


def whole_rates(rates: Any) -> tuple[int, ...]:
    """Return rates as whole numbers."""
    return () if rates is None else tuple(int(rate) for rate in np.rint(rates))


@dataclass(eq=False)
class ProofLog:
    """Boxes and multipliers recorded during the search."""

    boxes: list[Box] = field(default_factory=list)
    multipliers: list[Multipliers] = field(default_factory=list)
    # The index of multipliers by the identity of their levels.
    shared: dict[int, int] = field(default_factory=dict)

    def share_multipliers(self, levels: Any, rates: Any) -> int:
        """Record multipliers without a copy of levels (int32), which nothing may change later."""
        if levels.dtype != np.int32:
            return self.add_multipliers(levels, rates)
        if id(levels) not in self.shared:
            self.shared[id(levels)] = len(self.multipliers)
            self.multipliers.append(Multipliers(levels, whole_rates(rates)))
        return self.shared[id(levels)]

    def add_multipliers(self, levels: Any, rates: Any) -> int:
        """Copy multipliers; return their index."""
        small = np.int32 if levels.max(initial=0) < 2**31 else np.int64
        self.multipliers.append(Multipliers(levels.astype(small), whole_rates(rates)))
        return len(self.multipliers) - 1

    def add_box(
        self, inside: frozenset[int], outside: frozenset[int], base: frozenset[int], number: int
    ) -> None:
        """Record a box without unlisted sets below the floor."""
        self.boxes.append(Box(inside, outside, base, number))
