"""Check the certificate of a largest group mean: boxes cover every set, and hold no better one.

Shares no code with the search. A box is closed by its multipliers, or all of its sets are read.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from analysis.optimization.model.constraints import Limits
from analysis.optimization.model.costs import Costs, Ints
from analysis.optimization.solver.certificate import GroupBox, GroupMultipliers, GroupProof
from analysis.optimization.verification.coverage import check_cover
from analysis.optimization.verification.deadlines import Deadline
from core.jit import compile_loop

# A cost that no set below the floor has may be raised: as far as the search raises it.
LIFT = 4
MAX_LIFTED = 2**30
# Rounding of a bound in float64 is below this share of its terms.
MARGIN = 1e-10
# Sets and partial sets that are read between looks at the clock, and sets returned at once.
BUDGET = 1_000_000
MAX_FOUND = 4096
# From this many free regions to choose on, sets that survive a loss are found by remainders.
MIN_LEFT = 3


class Table(NamedTuple):
    """Costs of candidates (n_rows, n_points), least costs of the candidates from each on, weights,
    ends of groups, and the largest sums that are sought."""

    costs: Ints
    suffix: Ints
    weights: Ints
    ends: Ints
    most: Ints


@compile_loop
def exceeds(table: Table, one: Ints, other: Ints) -> bool:
    """Return whether a group costs more than sought, by the lesser of two costs per point."""
    i = 0
    for g in range(table.ends.size):
        total = np.int64(0)
        while i < table.ends[g]:
            total += table.weights[i] * np.int64(one[i] if one[i] < other[i] else other[i])
            i += 1
        if total > table.most[g]:
            return True
    return False


@compile_loop
def read_sets(table: Table, places: Ints, stack: Ints, depth: int, found: Ints) -> tuple[int, int]:
    """Read sets in the order of their places; return the depth to continue at, -1 at the end, and
    how many sets below what is sought were written to ``found``."""
    size, count, rows = places.size, 0, table.costs.shape[0]
    for _ in range(BUDGET):
        if depth < 0 or count == found.shape[0]:
            break
        here = places[depth]
        is_over = here + size - depth > rows
        if is_over or exceeds(table, stack[depth], table.suffix[here]):
            depth -= 1
            if depth >= 0:
                places[depth] += 1
        elif depth == size - 1:
            if not exceeds(table, stack[depth], table.costs[here]):
                found[count] = places
                count += 1
            places[depth] += 1
        else:
            stack[depth + 1] = np.minimum(stack[depth], table.costs[here])
            depth += 1
            places[depth] = here + 1
    return depth, count


class GroupChecker:
    """Checks the boxes of one proof; ``groups`` (n_clients) names the group of each client."""

    def __init__(
        self,
        costs: Costs,
        groups: tuple[str, ...],
        limits: Limits,
        proof: GroupProof,
        deadline: Deadline,
    ) -> None:
        self.limits, self.proof, self.deadline = limits, proof, deadline
        owner = np.repeat(np.array(groups, dtype=str), costs.counted.shape[1])
        order = np.lexsort((np.arange(owner.size), owner))
        order = order[costs.weights[order] > 0]
        ends = np.flatnonzero(np.append(owner[order][1:] != owner[order][:-1], True)) + 1
        self.ends, self.starts = ends, np.append(0, ends[:-1])
        self.matrix: Any = np.ascontiguousarray(costs.matrix[:, order])
        self.weights = costs.weights[order]
        self.totals = np.add.reduceat(self.weights, self.starts)
        self.most = np.array(
            [ceil(Fraction(proof.floor) * int(total)) - 1 for total in self.totals], np.int64
        )
        self.counts = np.diff(np.append(0, ends))
        self.parts = self.weights / np.repeat(self.totals, self.counts)
        self.turns = self._hardest_first()

    def _hardest_first(self) -> list[int]:
        """Return groups by what a middling region costs them, so that sets are soon left."""
        means = np.add.reduceat(self.matrix * self.parts, self.starts, axis=1)
        return [int(g) for g in np.argsort(-np.median(means, axis=0), kind="stable")]

    def run(self) -> list[str]:
        """Return the errors of the boxes; raise UnfinishedCheck at the deadline."""
        proof = self.proof
        wrong = check_cover(proof.boxes, self.limits, proof.size, len(self.matrix), self.deadline)
        return wrong or [text for box in proof.boxes if (text := self._examine(box))]

    def _examine(self, box: GroupBox) -> str:
        self.deadline.check()
        if not set(box.base) <= box.inside:
            return "a box is bounded from regions that it has not"
        rows = self._rows(box)
        if rows is None or (box.multipliers is not None and self._is_closed(box, rows)):
            return ""
        members = next(iter(self._better(box, rows)), None)
        return "" if members is None else f"{members} has a lesser largest mean"

    def _rows(self, box: GroupBox) -> list[int] | None:
        """Return the regions that sets of a box may add; None if it has no allowed set."""
        limits, inside = self.limits, box.inside
        kinds = np.array([limits.provider[j] for j in inside], np.int64)
        used = np.bincount(kinds, minlength=len(limits.capacity))
        money = limits.budget - sum(limits.price[j] for j in inside)
        left = self.proof.size - len(inside)
        if left < 0 or money < 0 or (used > np.array(limits.capacity)).any():
            return None
        free = sorted(set(range(len(self.matrix))) - inside - box.outside)
        rows = [
            j
            for j in free
            if used[limits.provider[j]] < limits.capacity[limits.provider[j]]
            and limits.price[j] <= money
        ]
        cheapest = sum(sorted(limits.price[j] for j in rows)[:left])
        lacks = any(
            need > len(inside & set(group)) + min(left, len(set(rows) & set(group)))
            for group, need in zip(limits.groups, limits.needs, strict=True)
        )
        return None if len(rows) < left or cheapest > money or lacks else rows

    def _is_closed(self, box: GroupBox, rows: list[int]) -> bool:
        """Return whether the multipliers of a box leave no set below the floor."""
        multipliers = self.proof.multipliers[box.multipliers or 0]
        shares = multipliers.shares
        if (shares < 0).any() or abs(float(shares.sum()) - 1) > MARGIN:
            return False
        lifted = self._lift([*rows, *sorted(box.inside)])
        if lifted is None:
            return True
        sure, saved = self._savings(box, lifted, multipliers)
        forced = sorted(box.inside - set(box.base))
        left = self.proof.size - len(box.inside)
        chosen = sorted(
            [saved[j] for j in forced] + sorted((saved[j] for j in rows), reverse=True)[:left]
        )
        if self.proof.robust and not box.base:
            # Whatever set it is, the region that saves most may be lost.
            chosen = chosen[:-1]
        return sure * (1 - MARGIN) - sum(chosen) > self.proof.floor

    def _lift(self, every: list[int]) -> dict[int, Ints] | None:
        """Return costs by region, raised where no set below the floor has them; None if a group
        is above the floor at best."""
        least = self.matrix[every].min(axis=0).astype(np.int64)
        slack = self.most - np.add.reduceat(least * self.weights, self.starts)
        if (slack < 0).any():
            return None
        highest = least + np.repeat(slack, self.counts) // self.weights
        raised = np.minimum(LIFT * highest + 1, MAX_LIFTED)
        found = {}
        for j in every:
            own = self.matrix[j].astype(np.int64)
            found[j] = np.where(own > highest, np.maximum(own, raised), own)
        return found

    def _savings(
        self, box: GroupBox, lifted: dict[int, Ints], multipliers: GroupMultipliers
    ) -> tuple[float, dict[int, float]]:
        """Return what the base costs at least, and what each region may save of it."""
        worst = np.max(list(lifted.values()), axis=0)
        kept = [box.base]
        if self.proof.robust and box.base:
            kept = [tuple(j for j in box.base if j != lost) for lost in box.base]
        sure, saved = 0.0, dict.fromkeys(lifted, 0.0)
        for some, level, share in zip(kept, multipliers.levels, multipliers.shares, strict=True):
            ceiling = np.min([lifted[j] for j in some], axis=0) if some else worst
            levels = np.minimum(level.astype(np.float64), ceiling)
            weights = self.parts * np.repeat(share, self.counts)
            sure += float(weights @ levels)
            for j, own in lifted.items():
                saved[j] += float(weights @ np.maximum(levels - own, 0.0))
        return sure, saved

    def _better(self, box: GroupBox, rows: list[int]) -> Iterator[tuple[int, ...]]:
        """Yield the allowed sets of a box below the floor."""
        left = self.proof.size - len(box.inside)
        if self.proof.robust and left >= MIN_LEFT:
            every = sorted({*rows, *box.inside})
            good = {frozenset(s) for s in self._read((), every, self.proof.size - 1)}
            found = _extend(good, every)
        else:
            found = self._read(tuple(sorted(box.inside)), rows, left)
        for members in found:
            if box.inside <= set(members) and self.limits.allow(members) and self._is_less(members):
                yield members

    def _read(
        self, inside: tuple[int, ...], rows: list[int], left: int
    ) -> Iterator[tuple[int, ...]]:
        """Yield sets of the fixed regions and so many others that are below the floor unless a
        region is lost."""
        if not left:
            yield inside
            return
        means = self.matrix[rows] @ self.parts
        order = [rows[a] for a in np.argsort(means, kind="stable")]
        table, points = self._table(order)
        places: Any = np.zeros(left, np.int64)
        stack: Any = np.zeros((left, self.weights.size), np.int32)
        fixed = self.matrix[:, points][list(inside)]
        stack[0] = fixed.min(axis=0) if inside else self.matrix.max(axis=0)[points]
        buffer, depth = np.zeros((MAX_FOUND, left), np.int64), 0
        while depth >= 0:
            depth, count = read_sets(table, places, stack, depth, buffer)
            for row in buffer[:count].tolist():
                yield tuple(sorted((*inside, *(order[a] for a in row))))
            self.deadline.check()

    def _table(self, order: list[int]) -> tuple[Table, Ints]:
        """Return the costs of regions in an order, and the order of points that reading uses."""
        parts = [np.arange(self.starts[g], self.ends[g]) for g in self.turns]
        points = np.concatenate(parts)
        costs = np.ascontiguousarray(self.matrix[order][:, points])
        suffix = np.ascontiguousarray(np.minimum.accumulate(costs[::-1], axis=0)[::-1])
        ends = np.cumsum(self.counts[self.turns])
        table = Table(costs, suffix, self.weights[points], ends, self.most[self.turns])
        return table, points

    def _is_less(self, members: tuple[int, ...]) -> bool:
        """Return whether a set is below the floor, after any loss in a robust problem."""
        rests = combinations(members, len(members) - self.proof.robust)
        for rest in rests:
            least = self.matrix[list(rest)].min(axis=0).astype(np.int64)
            if (np.add.reduceat(least * self.weights, self.starts) > self.most).any():
                return False
        return True


def _extend(good: set[frozenset[int]], rows: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the sets with only good subsets of one region less."""
    partners: dict[int, set[frozenset[int]]] = {j: set() for j in rows}
    for one in good:
        partners[max(one)].add(one - {max(one)})
    for one in good:
        rest = one - {min(one)}
        for j in rows:
            if j > max(one) and rest in partners[j]:
                whole = one | {j}
                if all(whole - {lost} in good for lost in whole):
                    yield tuple(sorted(whole))
