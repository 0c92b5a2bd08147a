"""Compiled loops: rows of samples counted by their keys, and their values put where they belong."""

from typing import Any

import numpy as np

from core.jit import compile_loop


@compile_loop
def add_digit(cells: Any, table: Any, indices: Any, size: Any) -> None:
    """One more key to the numbers of cells."""
    for row in range(len(cells)):
        cells[row] = cells[row] * size + table[indices[row]]


@compile_loop
def number_cells(cells: Any, numbers: Any, known: Any, found: Any) -> Any:
    """How many are known then; cells become numbers in the order in which they came.

    ``found`` are the cells of those that were not known.
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
def count_rows(codes: Any, rows: Any, metric_of: Any, shift: Any, amounts: Any) -> None:
    """Add rows to the amounts of their vantage point and place: values and what was sent, by the
    metric of their end, and from ``shift`` on runs by their end."""
    begin = 0
    for row in range(len(codes[0])):
        vantage, place, end = codes[0][row], codes[1][row], codes[3][row]
        amounts[vantage, place, shift + end] += 1
        metric = metric_of[end]
        if metric >= 0:
            for i in range(begin, rows[1][row]):
                amounts[vantage, place, 2 * metric] += rows[2][i] == rows[2][i]
            amounts[vantage, place, 2 * metric + 1] += rows[3][row]
        begin = rows[1][row]


@compile_loop
def pack_rows(codes: Any, rows: Any, chosen: Any, bits: Any, course: Any, out: Any) -> Any:
    """How many values rows of some ends have; ``out`` are the keys and the values.

    A key is vantage point, place and round, the latter two in so many bits. ``course`` counts
    values, what was sent, and rows, by place and round.
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
    """Values of vantage points within a span to where the next of their cell belongs.

    A chunk is (keys, values, bits); ``ranks`` are the places of vantage points, places and rounds
    in the order of their names; ``out`` is (values, rounds).
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
    """The sum of each run of values."""
    for run in range(len(begins)):
        total = 0.0
        for i in range(begins[run], ends[run]):
            total += values[i]
        totals[run] = total
