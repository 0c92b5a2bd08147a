"""Compiled loops: exact quantiles of large cells by a histogram, sorting only the bins needed.

Bins are the upper bits of the order-preserving integer form of a float32; an order statistic lies
in one bin, and only that bin is sorted.
"""

from typing import Any

import numpy as np

from core.jit import compile_loop

# Bins by the upper bits: 64 for each power of two.
_BIN_BITS, _SIGN = 15, 1 << 31
_SHIFT = 32 - _BIN_BITS


@compile_loop
def bin_of(bits: Any) -> Any:
    """Return the bin of a float32 given by its bits; bins are in the order of values."""
    order = ~bits if bits & _SIGN else bits | _SIGN
    return (order & 0xFFFF_FFFF) >> _SHIFT


@compile_loop
def fill_histogram(bits: Any, bins: Any) -> Any:
    """Count values by bin in ``bins`` (n_bins,) int64; return (first, last) used bin."""
    low, high = len(bins), -1
    for i in range(len(bits)):
        bin_ = bin_of(np.int64(bits[i]))
        bins[bin_] += 1
        low, high = min(low, bin_), max(high, bin_)
    return low, high


@compile_loop
def shell_sort(values: Any) -> None:
    """Shell sort in place; the sort of the compiler takes ten seconds to compile."""
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
def sort_bin(values: Any, bits: Any, bin_: Any, size: Any) -> Any:
    """Return the values of one bin, sorted."""
    found = np.empty(size, values.dtype)
    n = 0
    for i in range(len(values)):
        if bin_of(np.int64(bits[i])) == bin_:
            found[n] = values[i]
            n += 1
    shell_sort(found)
    return found


@compile_loop
def select_order_statistics(values: Any, bits: Any, bins: Any, span: Any, places: Any) -> Any:
    """Return the order statistics at the ascending ranks ``places``."""
    found = np.empty(len(places))
    bin_, before, opened = span[0], 0, -1
    own = np.empty(0, values.dtype)
    for number in range(len(places)):
        while before + bins[bin_] <= places[number]:
            before += bins[bin_]
            bin_ += 1
        if opened != bin_:
            own, opened = sort_bin(values, bits, bin_, bins[bin_]), bin_
        found[number] = own[places[number] - before]
    return found


@compile_loop
def compute_moments(values: Any) -> Any:
    """Return mean and sample standard deviation."""
    total, squares = 0.0, 0.0
    for value in values:
        total += value
    mean = total / len(values)
    for value in values:
        squares += (value - mean) ** 2
    return mean, np.sqrt(squares / (len(values) - 1))


@compile_loop
def describe_large(values: Any, begins: Any, cells: Any, shares: Any, out: Any) -> None:
    """Write mean, sd, minimum, quantiles (linear interpolation) and maximum of ``cells`` to ``out``
    (n_cells, 4 + n_shares) float64; ``begins`` are the offsets of the cells in ``values``."""
    bins = np.zeros(1 << _BIN_BITS, np.int64)
    places = np.empty(2 * len(shares) + 2, np.int64)
    for cell in cells:
        own = values[begins[cell] : begins[cell + 1]]
        bits, n = own.view(np.uint32), len(own)
        span = fill_histogram(bits, bins)
        places[0], places[-1] = 0, n - 1
        for q in range(len(shares)):
            low = int(shares[q] * (n - 1))
            places[2 * q + 1], places[2 * q + 2] = low, min(low + 1, n - 1)
        found = select_order_statistics(own, bits, bins, span, places)
        out[cell, 0], out[cell, 1] = compute_moments(own)
        out[cell, 2], out[cell, 3 + len(shares)] = found[0], found[-1]
        for q in range(len(shares)):
            rest = shares[q] * (n - 1) - places[2 * q + 1]
            out[cell, 3 + q] = found[2 * q + 1] * (1.0 - rest) + found[2 * q + 2] * rest
        bins[span[0] : span[1] + 1] = 0
