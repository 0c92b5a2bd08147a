"""The best mapping of one account's labels to zones, by the Hungarian method, with its margins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linear_sum_assignment

from cartography.zones.vote_quality import Floats

_NEVER = -1e12
# Of two equally good mappings, the one with a zone that is already known.
_TIE = 1e-6


@dataclass(frozen=True, slots=True)
class Problem:
    """Own instances per label and prefix, and what is known of each prefix.

    ``logs`` has one column per zone, and a last one for an unseen zone; ``pairs`` are the numbers
    of pairs in a common shortest prefix, one instance of each label and one of another account's
    in each zone.
    """

    account: str
    labels: Sequence[str]
    zones: Sequence[str]
    votes: Floats
    logs: Floats
    pairs: Floats
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Zone of each label that has one; see ``merging.Alignment`` for the rest."""

    zones: Mapping[str, str]
    margins: Mapping[str, float]
    eliminated: tuple[str, ...]
    undetermined: tuple[str, ...]
    agreeing: int
    conflicting: int
    pairs_agree: bool


def assign(problem: Problem, sure: float) -> Assignment:
    """Zones of all labels; a label with a margin below ``sure`` has none."""
    rows = [i for i, label in enumerate(problem.labels) if label not in problem.fixed]
    taken = set(problem.fixed.values())
    columns = [j for j, zone in enumerate(problem.zones) if zone not in taken]
    chosen, margins = _solve(_scores(problem, rows, columns))
    zones, weak = dict(problem.fixed), []
    for row, column, margin in zip(rows, chosen, margins, strict=True):
        label = problem.labels[row]
        if margin < sure:
            weak.append(label)
        elif column < len(columns):
            zones[label] = problem.zones[columns[column]]
        else:
            zones[label] = f"{problem.account}:{label}"
    left = _eliminate(problem, zones, weak)
    named = {problem.labels[r]: float(m) for r, m in zip(rows, margins, strict=True)}
    undetermined = tuple(label for label in weak if label not in zones)
    return Assignment(zones, named, left, undetermined, *_pairs(problem, zones))


def _eliminate(problem: Problem, zones: dict[str, str], weak: Sequence[str]) -> tuple[str, ...]:
    """Where one label and one zone are left, they belong together."""
    free = [zone for zone in problem.zones if zone not in set(zones.values())]
    if len(weak) != 1 or len(free) != 1 or len(problem.zones) < 2:
        return ()
    zones[weak[0]] = free[0]
    return (weak[0],)


def _scores(problem: Problem, rows: Sequence[int], columns: Sequence[int]) -> Floats:
    """Log odds of every label for every zone, then for as many unknown zones as labels.

    Instances of one account in one prefix depend on each other, and a prefix may be shared by
    zones, so the tenth of them has less weight than the first.
    """
    weights = np.log2(1 + problem.votes[rows])
    known = weights @ problem.logs[:, list(columns)]
    fresh = weights @ problem.logs[:, -1:] - _TIE
    return np.hstack([known, np.repeat(fresh, len(rows), axis=1)])


def _solve(scores: Floats) -> tuple[list[int], list[float]]:
    """Column of each row in the best mapping, and what forbidding it costs."""
    if not len(scores):
        return [], []
    rows, columns = linear_sum_assignment(scores, maximize=True)
    best = scores[rows, columns].sum()
    known = scores.shape[1] - len(scores)
    margins = []
    for row, column in zip(rows, columns, strict=True):
        without = scores.copy()
        # Unknown zones are alike, so that one in place of another is no other mapping.
        without[row, column if column < known else slice(known, None)] = _NEVER
        margins.append(float(best - without[linear_sum_assignment(without, maximize=True)].sum()))
    return [int(c) for c in columns], margins


def _pairs(problem: Problem, zones: Mapping[str, str]) -> tuple[int, int, bool]:
    """Pairs in a common prefix that agree and that do not, and whether no mapping agrees more."""
    rows = [i for i, label in enumerate(problem.labels) if zones.get(label) in problem.zones]
    if not rows:
        return 0, 0, True
    pairs = problem.pairs[rows]
    own = [problem.zones.index(zones[problem.labels[i]]) for i in rows]
    agreeing = pairs[np.arange(len(rows)), own].sum()
    most = pairs[linear_sum_assignment(pairs, maximize=True)].sum()
    return int(agreeing), int(pairs.sum() - agreeing), bool(agreeing >= most)
