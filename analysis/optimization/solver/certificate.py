"""What a proof consists of: boxes of sets, each with multipliers that a second function checks."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Whole numbers that bound every set's cost from below.

    A set costs at least the sum of w * level, less what its regions save beneath the levels: all
    in units of 1 / 2**shift. ``rates`` add, per unit of price over the ceiling and per member that
    a group lacks, what an allowed set never pays.
    """

    levels: Ints
    rates: tuple[int, ...]


@dataclass(frozen=True)
class Box:
    """All sets with ``inside`` and without ``outside``; the bound counts from ``base`` on.

    ``lost`` is the region of the box without which its sets are bounded, where losses count.
    """

    inside: frozenset[int]
    outside: frozenset[int]
    base: frozenset[int]
    multipliers: int
    lost: int | None = None


@dataclass(frozen=True, eq=False)
class Proof:
    """Boxes that hold every allowed set; no set that is not listed costs less than ``floor``.

    ``listed`` are sets that do cost less, or as much. ``lost`` prices a point without an answer
    where such points are dropped. ``level`` is the threshold of a percentile, if it is about one.
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


@dataclass(eq=False)
class Ledger:
    """Boxes and multipliers as the search writes them down."""

    boxes: list[Box] = field(default_factory=list)
    multipliers: list[Multipliers] = field(default_factory=list)

    def keep(self, levels: Any, rates: Any) -> int:
        """Copy multipliers; give their number."""
        whole = () if rates is None else tuple(int(rate) for rate in np.rint(rates))
        small = np.int32 if levels.max(initial=0) < 2**31 else np.int64
        self.multipliers.append(Multipliers(levels.astype(small), whole))
        return len(self.multipliers) - 1

    def close(
        self, inside: frozenset[int], outside: frozenset[int], base: frozenset[int], number: int
    ) -> None:
        """Note that a box holds nothing below the floor that is not listed."""
        self.boxes.append(Box(inside, outside, base, number))
