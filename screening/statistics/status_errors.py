"""Remove the errors of single verdicts from series of them, by a hidden Markov model.

A machine is good or bad, and changes with a probability per verdict; a verdict errs. How often it
errs depends on the machine: a rate of stalls near the threshold gives contrary verdicts hour after
hour. Each machine therefore has its own probabilities, from a grid, and how often each of the grid
occurs is estimated over all machines of the pool (empirical Bayes; Rabiner 1989 for the model).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from screening.statistics.persistence import Statuses

# Verdicts of shorter series stay as they are.
MIN_VERDICTS = 24
# Shares of bad verdicts on a good machine and of good ones on a bad machine, and changes per
# verdict. ``benchmarks.screening.nights`` has the figures.
_ERRORS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4)
_CHANGES = (0.001, 0.01, 1 / 30, 1 / 14, 1 / 7)
_GRID = np.array(list(product(_ERRORS, _ERRORS, _CHANGES)))
_ITERATIONS = 60
# Codes of verdicts; beyond the end of a series there is none.
_BAD, _GOOD, _NONE = 0, 1, 2
Floats = NDArray[np.float64]
Codes = NDArray[np.int8]


def remove_errors(series: Mapping[str, Statuses]) -> dict[str, list[tuple[float, bool]]]:
    """Return the most probable statuses of each machine, in the order of time (Viterbi 1967)."""
    found = {name: sorted(points) for name, points in series.items()}
    long = [name for name, points in found.items() if len(points) >= MIN_VERDICTS]
    if not long:
        return found
    tables = list(_build_tables(found, long))
    likelihood = np.concatenate([_find_likelihood(codes) for _, codes in tables])
    chosen = _GRID[_choose(likelihood)]
    first = 0
    for names, codes in tables:
        path = _find_path(codes, chosen[first : first + len(names)])
        first += len(names)
        for name, statuses in zip(names, path, strict=True):
            # Series are shorter than their table.
            pairs = zip(found[name], statuses, strict=False)
            found[name] = [(at, bool(status)) for (at, _), status in pairs]
    return found


def _build_tables(
    found: Mapping[str, Sequence[tuple[float, bool]]], names: Sequence[str]
) -> Iterator[tuple[list[str], Codes]]:
    """Codes (n_machines, n_verdicts) of series of similar length, so that few cells are empty."""
    sizes: dict[int, list[str]] = {}
    for name in names:
        sizes.setdefault(len(found[name]).bit_length(), []).append(name)
    for some in sizes.values():
        width = max(len(found[name]) for name in some)
        codes = np.full((len(some), width), _NONE, dtype=np.int8)
        for row, name in zip(codes, some, strict=True):
            row[: len(found[name])] = [status for _, status in found[name]]
        yield some, codes


def _find_likelihood(codes: Codes) -> Floats:
    """Logarithm of the likelihood (n_machines, n_grid) of the series: the forward algorithm."""
    missed, wrong, change = _GRID.T
    ones = np.ones(len(_GRID))
    # By code of the verdict.
    if_good = np.array([missed, 1 - missed, ones])
    if_bad = np.array([1 - wrong, wrong, ones])
    good = np.full((len(codes), len(_GRID)), 0.5)
    bad = good.copy()
    found = np.zeros_like(good)
    for code in codes.T:
        good, bad = good * (1 - change) + bad * change, bad * (1 - change) + good * change
        good *= if_good[code]
        bad *= if_bad[code]
        total = good + bad
        good /= total
        bad /= total
        found += np.log(total)
    return found


def _choose(likelihood: Floats) -> NDArray[np.int64]:
    """Index in the grid of the most probable one of each machine."""
    weights = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    shares = np.full(weights.shape[1], 1 / weights.shape[1])
    for _ in range(_ITERATIONS):
        each = weights * shares
        shares = (each / each.sum(axis=1, keepdims=True)).mean(axis=0)
    return np.asarray((weights * shares).argmax(axis=1))


def _find_path(codes: Codes, chosen: Floats) -> NDArray[np.bool_]:
    """Most probable statuses (n_machines, n_verdicts) for the probabilities (n_machines, 3)."""
    missed, wrong, change = chosen.T
    none = np.zeros(len(chosen))
    # By code of the verdict and by status, bad and good.
    emitted = np.array(
        [
            [np.log(1 - wrong), np.log(missed)],
            [np.log(wrong), np.log(1 - missed)],
            [none, none],
        ]
    )
    rows = np.arange(len(codes))
    score = np.zeros((2, len(codes)))
    switched = []
    for code in codes.T:
        kept, moved = score + np.log(1 - change), score[::-1] + np.log(change)
        switched.append(moved > kept)
        score = np.maximum(kept, moved) + emitted[code, :, rows].T
    path = np.empty(codes.shape, dtype=bool)
    status = (score[1] > score[0]).astype(np.int64)
    for at in range(codes.shape[1] - 1, -1, -1):
        path[:, at] = status
        status = np.where(switched[at][status, rows], 1 - status, status)
    return path
