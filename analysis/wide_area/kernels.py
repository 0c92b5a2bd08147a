"""Compiled loops: values sorted into their cells, and the figures of each cell.

Importing this module costs half a second, so only what summarises large inputs does.
"""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

# Figures beside the quantiles: mean, standard deviation, least before them, greatest after them.
FIXED_FIGURES = 4
P = ParamSpec("P")
R = TypeVar("R")


def compile_loop(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; the result is cached on disk."""
    return cast("Callable[P, R]", njit(cache=True, nogil=True)(function))


@compile_loop
def count_values(cells: Any, ends: Any, values: Any, counts: Any) -> None:
    """Add to each cell the values (not those that are no number) of its rows."""
    begin = 0
    for row in range(len(cells)):
        for i in range(begin, ends[row]):
            if values[i] == values[i]:
                counts[cells[row]] += 1
        begin = ends[row]


@compile_loop
def add_up(cells: Any, amounts: Any, totals: Any) -> None:
    """Add the amount of each row to its cell."""
    for row in range(len(cells)):
        totals[cells[row]] += amounts[row]


@compile_loop
def place_values(cells: Any, ends: Any, values: Any, span: Any, nexts: Any, out: Any) -> None:
    """Put the values of cells within ``span`` to where the next of their cell belongs."""
    begin = 0
    for row in range(len(cells)):
        cell = cells[row]
        if span[0] <= cell < span[1]:
            at = nexts[cell - span[0]]
            for i in range(begin, ends[row]):
                if values[i] == values[i]:
                    out[at] = values[i]
                    at += 1
            nexts[cell - span[0]] = at
        begin = ends[row]


@compile_loop
def sum_values(cells: Any, ends: Any, values: Any, totals: Any, counts: Any) -> None:
    """Add up the values of each cell."""
    begin = 0
    for row in range(len(cells)):
        for i in range(begin, ends[row]):
            if values[i] == values[i]:
                totals[cells[row]] += values[i]
                counts[cells[row]] += 1
        begin = ends[row]


@compile_loop
def figures(values: Any, begins: Any, shares: Any, out: Any) -> None:
    """Mean, deviation, least, quantiles (linear between neighbours) and greatest of each cell."""
    for cell in range(len(begins) - 1):
        own = values[begins[cell] : begins[cell + 1]]
        n = len(own)
        if n == 0:
            out[cell, :] = np.nan
            continue
        own.sort()
        total = 0.0
        for i in range(n):
            total += own[i]
        mean = total / n
        squares = 0.0
        for i in range(n):
            squares += (own[i] - mean) ** 2
        out[cell, 0] = mean
        out[cell, 1] = np.sqrt(squares / (n - 1)) if n > 1 else np.nan
        out[cell, 2] = own[0]
        for q in range(len(shares)):
            place = shares[q] * (n - 1)
            low = int(place)
            high = min(low + 1, n - 1)
            rest = place - low
            out[cell, 3 + q] = own[low] * (1.0 - rest) + own[high] * rest
        out[cell, 3 + len(shares)] = own[n - 1]
