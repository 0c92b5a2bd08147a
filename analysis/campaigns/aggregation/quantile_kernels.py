"""Compiled: figures of cells with many values, of which only those next to a quantile are sorted.

Values are counted by the upper bits of their order first: a quantile lies in one of these drawers.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop

# Drawers by the upper bits: 64 for each doubling of a value.
_DRAWER_BITS, _SIGN = 15, 1 << 31
_SHIFT = 32 - _DRAWER_BITS


@compile_loop
def drawer_of(bits: Any) -> Any:
    """The drawer of a value by the bits of its number, in the order of values."""
    order = ~bits if bits & _SIGN else bits | _SIGN
    return (order & 0xFFFF_FFFF) >> _SHIFT


@compile_loop
def fill_drawers(bits: Any, drawers: Any) -> Any:
    """(first, last) drawer that is used; each counts its values."""
    low, high = len(drawers), -1
    for i in range(len(bits)):
        drawer = drawer_of(np.int64(bits[i]))
        drawers[drawer] += 1
        low, high = min(low, drawer), max(high, drawer)
    return low, high


@compile_loop
def sort_few(values: Any) -> None:
    """Sort by steps that get smaller; what the compiler brings takes ten seconds to compile."""
    step = 1
    while step < len(values):
        step = 3 * step + 1
    while step > 1:
        step //= 3
        for i in range(step, len(values)):
            value, at = values[i], i
            while at >= step and values[at - step] > value:
                values[at] = values[at - step]
                at -= step
            values[at] = value


@compile_loop
def take_drawer(values: Any, bits: Any, drawer: Any, size: Any) -> Any:
    """The values of one drawer, in order."""
    found = np.empty(size, values.dtype)
    n = 0
    for i in range(len(values)):
        if drawer_of(np.int64(bits[i])) == drawer:
            found[n] = values[i]
            n += 1
    sort_few(found)
    return found


@compile_loop
def pick(values: Any, bits: Any, drawers: Any, span: Any, places: Any) -> Any:
    """The values at some places of the order, which are in order themselves."""
    found = np.empty(len(places))
    drawer, before, opened = span[0], 0, -1
    own = np.empty(0, values.dtype)
    for number in range(len(places)):
        while before + drawers[drawer] <= places[number]:
            before += drawers[drawer]
            drawer += 1
        if opened != drawer:
            own, opened = take_drawer(values, bits, drawer, drawers[drawer]), drawer
        found[number] = own[places[number] - before]
    return found


@compile_loop
def add_moments(values: Any) -> Any:
    """Mean and standard deviation."""
    total, squares = 0.0, 0.0
    for value in values:
        total += value
    mean = total / len(values)
    for value in values:
        squares += (value - mean) ** 2
    return mean, np.sqrt(squares / (len(values) - 1))


@compile_loop
def describe_large(values: Any, begins: Any, cells: Any, shares: Any, out: Any) -> None:
    """Mean, deviation, least, quantiles (linear between neighbours) and greatest of cells."""
    drawers = np.zeros(1 << _DRAWER_BITS, np.int64)
    places = np.empty(2 * len(shares) + 2, np.int64)
    for cell in cells:
        own = values[begins[cell] : begins[cell + 1]]
        bits, n = own.view(np.uint32), len(own)
        span = fill_drawers(bits, drawers)
        places[0], places[-1] = 0, n - 1
        for q in range(len(shares)):
            low = int(shares[q] * (n - 1))
            places[2 * q + 1], places[2 * q + 2] = low, min(low + 1, n - 1)
        found = pick(own, bits, drawers, span, places)
        out[cell, 0], out[cell, 1] = add_moments(own)
        out[cell, 2], out[cell, 3 + len(shares)] = found[0], found[-1]
        for q in range(len(shares)):
            rest = shares[q] * (n - 1) - places[2 * q + 1]
            out[cell, 3 + q] = found[2 * q + 1] * (1.0 - rest) + found[2 * q + 2] * rest
        drawers[span[0] : span[1] + 1] = 0
