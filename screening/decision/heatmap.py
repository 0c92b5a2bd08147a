"""Pairwise p99.9 in (rows call, columns answer), node or network out, with permutation tests.

A network's delay is the same in both directions, so swapping the directions of a pair changes
nothing; a bad node delays all of its callers, so its column is high and its row is not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from screening.decision.ground_truth import LIMIT_MS

FEWEST_NODES = 4
# Permutations at a time: 100 tables of 100 nodes have 8 MB.
BATCH = 100
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NodeTest:
    """``property_of`` is ``node``, ``path`` (both directions alike) or ``nothing``."""

    property_of: str
    column_variance: float
    row_variance: float
    p_destination: float
    p_source: float
    p_asymmetry: float
    bad: tuple[int, ...]
    nodes: int
    alpha: float


def build_matrix(cells: Sequence[tuple[str, str, float]]) -> tuple[list[str], Floats]:
    """Names and a square table of (caller, server, p99.9 in ms), NaN where nothing was measured."""
    names = sorted({name for caller, server, _ in cells for name in (caller, server)})
    at = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    for caller, server, value in cells:
        matrix[at[caller], at[server]] = value
    return names, matrix


def check_nodes(
    p999_ms: Floats, alpha: float = 0.01, permutations: int = 2000, seed: int = 0
) -> NodeTest:
    """Test whether tails belong to nodes; BadInput for a table that is too small or not square.

    Nodes without a pair that was measured in both directions are left out of the tests.
    """
    nodes = len(p999_ms)
    if p999_ms.shape != (nodes, nodes) or nodes < FEWEST_NODES:
        raise BadInput(f"the heat map is a square of {FEWEST_NODES} nodes or more")
    logs = np.log(np.where(np.eye(nodes, dtype=bool), np.nan, p999_ms))
    mutual = (~np.isnan(logs) & ~np.isnan(logs.T)).any(axis=0)
    if mutual.sum() < FEWEST_NODES:
        raise BadInput(f"fewer than {FEWEST_NODES} machines called each other in both directions")
    logs = logs[np.ix_(mutual, mutual)]
    rng = np.random.default_rng(seed)
    by_row = logs - np.nanmean(logs, axis=1, keepdims=True)
    by_column = (logs - np.nanmean(logs, axis=0, keepdims=True)).T
    p_destination = _test_columns(by_row, permutations, rng)
    p_source = _test_columns(by_column, permutations, rng)
    p_asymmetry = _test_asymmetry(logs, permutations, rng)
    answered = np.flatnonzero(~np.isnan(p999_ms).all(axis=0))
    medians_ms = np.nanmedian(p999_ms[:, answered], axis=0)
    return NodeTest(
        _conclude(p_destination, p_source, p_asymmetry, alpha),
        _vary(logs, 0),
        _vary(logs, 1),
        p_destination,
        p_source,
        p_asymmetry,
        tuple(int(at) for at in answered[medians_ms >= LIMIT_MS]),
        int(mutual.sum()),
        alpha,
    )


def _conclude(p_destination: float, p_source: float, p_asymmetry: float, alpha: float) -> str:
    # Each of the tests may err, so that each gets its share of the error rate.
    if p_destination <= alpha / 2 and p_asymmetry <= alpha / 2:
        return "node"
    return "path" if min(p_destination, p_source) <= alpha / 2 else "nothing"


def _vary(logs: Floats, axis: int) -> float:
    return float(np.var(np.nanmean(logs, axis=axis)))


def _vary_all(tables: Floats, axis: int) -> Floats:
    return np.asarray(np.var(np.nanmean(tables, axis=axis), axis=-1))


def _find_p(observed: float, drawn: Iterable[Floats]) -> float:
    values = np.concatenate(list(drawn))
    return (1 + int((values >= observed - 1e-12).sum())) / (len(values) + 1)


def _split(permutations: int) -> list[int]:
    return [min(BATCH, permutations - at) for at in range(0, permutations, BATCH)]


def _test_columns(centred: Floats, permutations: int, rng: np.random.Generator) -> float:
    """Test whether delays depend on the server: permute values within each row."""

    def permute(size: int) -> Floats:
        permuted = np.repeat(centred[None], size, axis=0)
        for row, values in enumerate(centred):
            known = np.flatnonzero(~np.isnan(values))
            permuted[:, row, known] = rng.permuted(np.tile(values[known], (size, 1)), axis=1)
        return _vary_all(permuted, 1)

    return _find_p(_vary(centred, 0), map(permute, _split(permutations)))


def _test_asymmetry(logs: Floats, permutations: int, rng: np.random.Generator) -> float:
    """Do columns differ more than rows?  Directions of pairs are swapped at random."""
    both = np.where(np.isnan(logs) | np.isnan(logs.T), np.nan, logs)

    def swap(size: int) -> Floats:
        upper = np.triu(rng.random((size, *both.shape)) < 0.5, 1)
        swapped = np.where(upper | upper.transpose(0, 2, 1), both.T, both)
        return _vary_all(swapped, 1) - _vary_all(swapped, 2)

    return _find_p(_vary(both, 0) - _vary(both, 1), map(swap, _split(permutations)))
