"""Whole numbers in given proportions."""

import random
from collections.abc import Sequence


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Split ``total`` in proportion to ``weights`` by largest remainder; sums exactly."""
    whole = sum(weights)
    if not whole or total <= 0:
        return [0] * len(weights)
    exact = [total * w / whole for w in weights]
    parts = [int(x) for x in exact]
    order = sorted(range(len(weights)), key=lambda i: (parts[i] - exact[i], i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def split_heavy(total: int, parts: int, rng: random.Random) -> list[int]:
    """Split ``total`` into ``parts`` whole numbers of at least one, heavy-tailed."""
    if parts <= 0:
        return []
    if total < parts:
        raise ValueError(f"cannot split {total} into {parts} parts of at least one")
    weights = [rng.paretovariate(1.1) for _ in range(parts)]
    extra = apportion(total - parts, weights)
    return [1 + e for e in extra]


def draw_counts(n: int, per_mille: Sequence[int], rng: random.Random) -> list[int]:
    """``n`` values of 1, 2, 3 … with exact shares, in random order."""
    counts = apportion(n, per_mille)
    values = [value for value, c in enumerate(counts, 1) for _ in range(c)]
    rng.shuffle(values)
    return values
