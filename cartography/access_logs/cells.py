"""Counts of requests by cell, with at most a few pseudonyms of clients per cell.

A pseudonym is a keyed hash of an address. The key is random and lives as long as one import, so
that pseudonyms state only whether a cell has enough different clients.
"""

import importlib
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Cells of fewer distinct clients are suppressed.
MIN_CLIENTS = 10
_KERNELS = "cartography.access_logs.kernels"
_FIRST_SLOTS = 1 << 12
_SHIFT = np.uint64(32)
_FACTORS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


class Pseudonyms:
    """One import's keyed hash of addresses."""

    def __init__(self) -> None:
        self._key = np.frombuffer(secrets.token_bytes(16), np.uint64)

    def hash(self, halves: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return pseudonyms (n,) uint64 of addresses (2, n) uint64."""
        mixed = _mix(halves[0] ^ self._key[0])
        return _mix(mixed ^ halves[1] ^ self._key[1])


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    for factor in _FACTORS:
        values = (values ^ (values >> _SHIFT)) * factor
    return values ^ (values >> _SHIFT)


class Cells:
    """A table of counts by key, from 0; memory grows with the cells, not with the requests."""

    def __init__(self, most_clients: int = MIN_CLIENTS) -> None:
        self._most = most_clients
        self._used = 0
        self._allocate(_FIRST_SLOTS)

    def _allocate(self, size: int) -> None:
        self._slots = np.full(size, -1, np.int64)
        self._counts = np.zeros(size, np.int64)
        self._n_clients = np.zeros(size, np.int64)
        self._clients = np.zeros((size, self._most), np.uint64)

    def add(self, keys: NDArray[np.int64], hashes: NDArray[np.uint64]) -> None:
        """Count rows by key; ``hashes`` are the pseudonyms of their clients."""
        kernels: Any = importlib.import_module(_KERNELS)
        n_new = min(len(keys), int(len(np.unique(keys))))
        while 2 * (self._used + n_new) > len(self._slots):
            self._double_capacity()
        table = self._slots, self._counts, self._n_clients, self._clients
        self._used += kernels.add_cells(keys, hashes, *table)

    def _double_capacity(self) -> None:
        kernels: Any = importlib.import_module(_KERNELS)
        old = self._slots, self._counts, self._n_clients, self._clients
        kept = np.flatnonzero(old[0] >= 0)
        self._allocate(2 * len(old[0]))
        table = self._slots, self._counts, self._n_clients, self._clients
        kernels.add_cells(old[0][kept], np.zeros(len(kept), np.uint64), *table)
        places = {key: at for at, key in enumerate(self._slots.tolist()) if key >= 0}
        at = np.array([places[key] for key in old[0][kept].tolist()], np.int64)
        self._counts[at], self._n_clients[at] = old[1][kept], old[2][kept]
        self._clients[at] = old[3][kept]

    def rows(self) -> list[tuple[int, int, int]]:
        """Return (key, count, different clients up to the floor) of each cell, by key."""
        kept = np.flatnonzero(self._slots >= 0)
        columns = self._slots[kept], self._counts[kept], self._n_clients[kept]
        return sorted(zip(*(column.tolist() for column in columns), strict=True))
