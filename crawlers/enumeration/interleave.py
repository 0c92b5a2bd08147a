"""Interleave columns of work evenly, so that no zone is queried in a burst.

Each column (a zone with its names) is spread over the whole sequence from a random offset.
"""

import math
import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")
Integers = npt.NDArray[np.int64]
_BLOCK = 1 << 15


def order(lengths: Sequence[int], rng: random.Random) -> Iterator[tuple[Integers, Integers]]:
    """Every (column, place within it) of columns of these lengths, a block of them at a time.

    Item ``k`` of a column of ``n`` items comes after a share ``(u + k) / n`` of the sequence,
    where ``u`` is the column's random offset from 0 to 1.
    """
    sizes = np.array(lengths, np.int64)
    offsets = np.array([rng.random() for _ in lengths])
    n_blocks = math.ceil(int(sizes.sum()) / _BLOCK)
    begin = np.zeros_like(sizes)
    for block in range(1, n_blocks + 1):
        reached = np.ceil(block / n_blocks * sizes - offsets).astype(np.int64)
        end = np.clip(reached, begin, sizes) if block < n_blocks else sizes
        counts = end - begin
        columns = np.repeat(np.arange(len(sizes)), counts)
        places = np.arange(len(columns)) - np.repeat(counts.cumsum() - counts - begin, counts)
        shares = (offsets[columns] + places) / sizes[columns]
        sequence = np.argsort(shares, kind="stable")
        yield columns[sequence], places[sequence]
        begin = end


def spread(columns: Sequence[Sequence[T]], rng: random.Random) -> Iterator[T]:
    """All items of the columns."""
    for numbers, places in order([len(column) for column in columns], rng):
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            yield columns[number][place]
