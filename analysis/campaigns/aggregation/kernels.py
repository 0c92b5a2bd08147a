"""Compiled loops: scatter values to cells and compute the statistics of each cell.

Rows are given as ``cells`` (n_rows,) int64 and ``ends`` (n_rows,) int64, the end offset of the
values of each row in ``values`` (n_values,) float32.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop

# Statistics besides the quantiles: mean, standard deviation and minimum before, maximum after them.
FIXED_FIGURES = 4


@compile_loop
def tally(cells: Any, ends: Any, values: Any, sent: Any, tallies: Any) -> None:
    """Add the number of values (NaN excluded) and packets sent to ``tallies`` (n_cells, 2)
    int64."""
    begin = 0
    for row in range(len(cells)):
        n = 0
        for i in range(begin, ends[row]):
            n += values[i] == values[i]
        tallies[cells[row], 0] += n
        tallies[cells[row], 1] += sent[row]
        begin = ends[row]


@compile_loop
def place_values(cells: Any, ends: Any, values: Any, span: Any, nexts: Any, out: Any) -> None:
    """Scatter the values of cells within ``span`` to ``out``; ``nexts`` are the write positions."""
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
def average_periods(
    values: Any, periods: Any, begins: Any, what: Any, totals: Any, counts: Any
) -> None:
    """Sums and numbers of values by owner, group and period.

    Each owner has as many runs as there are places; ``what`` is (the first owner, the group of each
    place).
    """
    first, groups = what
    for owner in range(len(totals)):
        for place in range(len(groups)):
            run, group = (first + owner) * len(groups) + place, groups[place]
            for i in range(begins[run], begins[run + 1]):
                totals[owner, group, periods[i]] += values[i]
                counts[owner, group, periods[i]] += 1


@compile_loop
def scatter_periods(
    values: Any, periods: Any, begins: Any, groups: Any, nexts: Any, out: Any
) -> None:
    """Scatter values of runs to ``out`` by group and period; ``nexts`` are the write positions."""
    for run in range(len(begins) - 1):
        group = groups[run % len(groups)]
        for i in range(begins[run], begins[run + 1]):
            out[nexts[group, periods[i]]] = values[i]
            nexts[group, periods[i]] += 1


@compile_loop
def copy_runs(values: Any, begins: Any, cells: Any, out: Any) -> None:
    """Copy the run of each cell to the beginning of a row of ``out``."""
    for row in range(len(cells)):
        begin = begins[cells[row]]
        for i in range(begins[cells[row] + 1] - begin):
            out[row, i] = values[begin + i]


@compile_loop
def describe_rows(rows: Any, lengths: Any, shares: Any, cells: Any, out: Any) -> None:
    """Write mean, sd, minimum, quantiles (linear interpolation) and maximum of sorted rows to
    ``out`` (n_cells, FIXED_FIGURES + n_shares) float64."""
    for row in range(len(rows)):
        own, n, cell = rows[row], lengths[row], cells[row]
        total, squares = 0.0, 0.0
        for i in range(n):
            total += own[i]
        mean = total / n
        for i in range(n):
            squares += (own[i] - mean) ** 2
        out[cell, 0] = mean
        out[cell, 1] = np.sqrt(squares / (n - 1)) if n > 1 else np.nan
        out[cell, 2] = own[0]
        for q in range(len(shares)):
            place = shares[q] * (n - 1)
            low = int(place)
            rest = place - low
            out[cell, 3 + q] = own[low] * (1.0 - rest) + own[min(low + 1, n - 1)] * rest
        out[cell, 3 + len(shares)] = own[n - 1]
