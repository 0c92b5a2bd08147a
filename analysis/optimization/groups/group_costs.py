"""Costs of points sorted by group, and the exact largest mean of a set over the groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

import numpy as np

from analysis.optimization.groups.group_kernels import Points
from analysis.optimization.model.costs import Costs, Ints, Matrix


@dataclass(frozen=True, eq=False)
class GroupCosts:
    """Points of positive weight by group: ``values`` (n_regions, n_points) int32, ``weights``
    (n_points,) int64, ``starts`` (n_groups + 1,) int64 and the groups' ``totals`` of weight.

    If ``is_robust``, a set costs what its worst remainder with one region less costs.
    """

    values: Matrix
    weights: Ints
    starts: Ints
    totals: Ints
    names: tuple[str, ...]
    is_robust: bool = False

    @property
    def points(self) -> int:
        """The number of points."""
        return int(self.weights.size)

    @property
    def owners(self) -> Ints:
        """The group of each point, (n_points,) int64."""
        return np.repeat(np.arange(self.totals.size), np.diff(self.starts))

    def compiled(self, *, is_robust: bool | None = None) -> Points:
        """Return the points for compiled loops; ``is_robust`` may differ there."""
        robust = self.is_robust if is_robust is None else is_robust
        turns = np.arange(self.totals.size)
        return Points(self.values, self.weights, self.starts, turns, robust)

    def means(self, members: Sequence[int]) -> list[Fraction]:
        """Return the exact mean cost of each group."""
        least = self.values[list(members)].min(axis=0).astype(np.int64)
        sums = np.add.reduceat(least * self.weights, self.starts[:-1])
        return [Fraction(int(s), int(t)) for s, t in zip(sums, self.totals, strict=True)]

    def exact(self, members: Sequence[int]) -> Fraction:
        """Return the exact cost of a set: the largest mean of its groups."""
        if not self.is_robust:
            return max(self.means(members))
        return max(max(self.means(rest)) for rest in combinations(members, len(members) - 1))

    def caps(self, cost: Fraction) -> Ints:
        """Return the largest sum of costs per group of a set that costs less, (n_groups,) int64."""
        return np.array([ceil(cost * int(total)) - 1 for total in self.totals], np.int64)


def group_costs(costs: Costs, groups: Sequence[str], *, is_robust: bool = False) -> GroupCosts:
    """Return the points of each group that has weight; ``groups`` names that of each client."""
    names, number = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    owner = np.repeat(number.reshape(-1), costs.counted.shape[1])
    order = np.argsort(owner, kind="stable")
    order = order[costs.weights[order] > 0]
    owner, weights = owner[order], costs.weights[order]
    kept, starts = np.unique(owner, return_index=True)
    values: Any = np.ascontiguousarray(costs.matrix[:, order])
    return GroupCosts(
        values,
        weights,
        np.append(starts, owner.size).astype(np.int64),
        np.add.reduceat(weights, starts),
        tuple(str(names[g]) for g in kept),
        is_robust,
    )
