"""Compiled loops: count rows of samples by key and scatter their values.

``codes`` is a tuple of (n_rows,) integer arrays: vantage point, place, round, end; ``rows`` is a
``grid.Rows`` as tuple: cells, ends, values, sent.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop


@compile_loop
def add_digit(cells: Any, table: Any, indices: Any, size: Any) -> None:
    """Append one key of ``size`` values to the mixed-radix numbers ``cells``."""
    for row in range(len(cells)):
        cells[row] = cells[row] * size + table[indices[row]]


@compile_loop
def number_cells(cells: Any, numbers: Any, known: Any, found: Any) -> Any:
    """Replace cells by dense numbers in order of first occurrence; return how many there are.

    ``found`` receives the cells that were not known before.
    """
    before = known
    for row in range(len(cells)):
        number = numbers[cells[row]]
        if number < 0:
            number = known
            numbers[cells[row]] = number
            found[known - before] = cells[row]
            known += 1
        cells[row] = number
    return known


@compile_loop
def count_rows(codes: Any, rows: Any, metric_of: Any, shift: Any, counts: Any) -> None:
    """Add rows to ``counts`` (n_vantages, n_places, shift + n_ends) int64: values and packets sent
    of each metric, then from ``shift`` on runs by end."""
    begin = 0
    for row in range(len(codes[0])):
        vantage, place, end = codes[0][row], codes[1][row], codes[3][row]
        counts[vantage, place, shift + end] += 1
        metric = metric_of[end]
        if metric >= 0:
            for i in range(begin, rows[1][row]):
                counts[vantage, place, 2 * metric] += rows[2][i] == rows[2][i]
            counts[vantage, place, 2 * metric + 1] += rows[3][row]
        begin = rows[1][row]


@compile_loop
def pack_rows(codes: Any, rows: Any, chosen: Any, bits: Any, course: Any, out: Any) -> Any:
    """Write packed keys and values of the chosen ends to ``out``; return the number of values.

    A key is vantage point, place and round, the latter two of ``bits`` bits each. ``course``
    (n_places, n_rounds, 3) int64 counts values, packets sent, and rows.
    """
    begin, n = 0, 0
    for row in range(len(codes[0])):
        if chosen[codes[3][row]]:
            place, period = codes[1][row], codes[2][row]
            key = (np.int64(codes[0][row]) << bits[0] | place) << bits[1] | period
            before = n
            for i in range(begin, rows[1][row]):
                if rows[2][i] == rows[2][i]:
                    out[0][n], out[1][n] = key, rows[2][i]
                    n += 1
            course[place, period, 0] += n - before
            course[place, period, 1] += rows[3][row]
            course[place, period, 2] += 1
        begin = rows[1][row]
    return n


@compile_loop
def place_values(chunk: Any, ranks: Any, span: Any, nexts: Any, out: Any) -> None:
    """Scatter values of the vantage points ``span[0]`` to ``span[1]`` to their cells.

    ``chunk`` is (keys, values, bits); ``ranks`` are positions of vantage points, places and
    rounds in sorted order; ``span[2]`` is the number of places; ``out`` is (values, rounds).
    """
    keys, values, bits = chunk
    places, rounds = (1 << bits[0]) - 1, (1 << bits[1]) - 1
    for i in range(len(keys)):
        key = np.int64(keys[i])
        vantage = ranks[0][key >> bits[0] + bits[1]]
        if span[0] <= vantage < span[1]:
            cell = (vantage - span[0]) * span[2] + ranks[1][(key >> bits[1]) & places]
            at = nexts[cell]
            out[0][at], out[1][at] = values[i], ranks[2][key & rounds]
            nexts[cell] = at + 1


@compile_loop
def add_runs(values: Any, begins: Any, ends: Any, totals: Any) -> None:
    """Write the sum of each run of values to ``totals``."""
    for run in range(len(begins)):
        total = 0.0
        for i in range(begins[run], ends[run]):
            total += values[i]
        totals[run] = total
