"""Costs of samples, computed where they are read: a matrix of them would need as much memory."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_inlined, compile_loop

Matrix = NDArray[Any]


class Units(NamedTuple):
    """How values become costs: ``scale`` costs per unit of value, ``top`` less the value if it is
    not 0, and ``lost`` where there is no value."""

    scale: float
    top: int
    lost: int


@compile_inlined
def whole(value: Any, units: Units) -> np.int32:
    """Return the cost of a value."""
    found = np.int32(np.rint(np.float64(value) * units.scale))
    if units.top:
        found = np.int32(units.top) - found
    # Only a missing value differs from itself.
    return found if value == value else np.int32(units.lost)


@compile_loop
def fill_row(values: Matrix, units: Units, found: NDArray[np.int32]) -> None:
    """Write the costs of values, (n_points,)."""
    for i in range(values.size):
        found[i] = whole(values[i], units)


class StreamedMatrix:
    """Costs (n_regions, n_points) int32 of ``values`` of the same shape, computed row by row."""

    def __init__(self, values: Matrix, units: Units) -> None:
        self.values, self.units = values, units
        self.shape = values.shape
        self.size = values.size

    def __getitem__(self, rows: Any) -> NDArray[np.int32]:
        """Return the costs of one region, of several, or of some points (regions, points)."""
        if isinstance(rows, tuple | int | np.integer):
            return self._costs(self.values[rows])
        places = np.arange(self.shape[0])[rows]
        found = np.empty((places.size, self.shape[1]), np.int32)
        for row, j in zip(found, places, strict=True):
            fill_row(self.values[j], self.units, row)
        return found

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[j] for j in range(self.shape[0]))

    def __len__(self) -> int:
        return len(self.values)

    def _costs(self, values: Matrix) -> NDArray[np.int32]:
        found = np.empty(values.shape, np.int32)
        fill_row(np.ascontiguousarray(values).reshape(-1), self.units, found.reshape(-1))
        return found
