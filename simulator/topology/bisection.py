"""Bisection: the least capacity between two halves of the hosts.

A closed form where the wiring has one. Otherwise an interval: not below ``λ₂·N/4`` for the second
smallest eigenvalue of the Laplacian (Fiedler), not above the best cut that exchanging pairs finds
(Kernighan and Lin, 1970).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import eigsh

from simulator.topology.graph import Topology

_DENSE = 600


@dataclass(frozen=True, slots=True)
class Bisection:
    """Bounds in units of a host cable; equal where ``is_exact``."""

    low: float
    high: float
    method: str

    @property
    def is_exact(self) -> bool:
        return self.low == self.high


def bound_bisection(topology: Topology) -> Bisection:
    """Bounds of the bisection of a graph of switches with equally many hosts."""
    matrix = topology.adjacency if topology.relays_by_hosts else topology.switch_adjacency
    n = matrix.shape[0]
    values, vectors = _smallest(matrix)
    # An odd number of switches has no equal halves: (n² − 1)/4 pairs instead of n²/4.
    pairs = (n // 2) * ((n + 1) // 2)
    low = values[1] * pairs / n
    return Bisection(float(low), float(_exchange(matrix, vectors[:, 1])), "Fiedler, Kernighan–Lin")


def bollobas(n: int, r: int) -> float:
    """Almost sure lower bound of the bisection of a random ``r``-regular graph (Bollobás, 1988)."""
    return n * (r / 4 - math.sqrt(r * math.log(2)) / 2)


def _smallest(matrix: csr_matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    weights = np.asarray(matrix.sum(axis=1)).ravel()
    laplacian = diags(weights, dtype=float) - matrix
    if matrix.shape[0] <= _DENSE:
        values, vectors = np.linalg.eigh(laplacian.toarray())
        return values[:2], vectors[:, :2]
    # Largest eigenvalues of a shifted matrix: they converge where the smallest ones do not.
    shift = 2 * weights.max()
    first = np.random.default_rng(0).random(matrix.shape[0])
    values, vectors = eigsh(
        diags(np.full(matrix.shape[0], shift), dtype=float) - laplacian, k=2, which="LA", v0=first
    )
    order = np.argsort(-values)
    return shift - values[order], vectors[:, order]


def _exchange(matrix: csr_matrix, fiedler: NDArray[np.float64]) -> float:
    """The cut after exchanging the pair that gains most, until none gains."""
    n = matrix.shape[0]
    side = np.zeros(n)
    side[np.argsort(fiedler, kind="stable")[: n // 2]] = 1
    weights = np.asarray(matrix.sum(axis=1)).ravel()
    dense = matrix.toarray() if n <= 4 * _DENSE else None
    while dense is not None:
        to_ones = dense @ side
        gain = np.where(side == 1, weights - 2 * to_ones, 2 * to_ones - weights)
        ones, zeros = np.flatnonzero(side == 1), np.flatnonzero(side == 0)
        table = gain[ones][:, None] + gain[zeros][None] - 2 * dense[np.ix_(ones, zeros)]
        best = int(np.argmax(table))
        if table.flat[best] <= 0:
            break
        i, j = divmod(best, len(zeros))
        side[ones[i]], side[zeros[j]] = 0, 1
    return float(side @ (matrix @ (1 - side)))
