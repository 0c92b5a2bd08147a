"""Whole numbers in given proportions: largest remainder, with bounds where they are needed."""

from collections.abc import Sequence
from fractions import Fraction

Weight = int | float | Fraction


def apportion(total: int, weights: Sequence[Weight]) -> list[int]:
    """Split ``total`` in proportion to ``weights``; the parts sum to it exactly."""
    whole = sum(Fraction(w) for w in weights)
    if not whole or total <= 0:
        return [0] * len(weights)
    exact = [total * Fraction(w) / whole for w in weights]
    parts = [int(x) for x in exact]
    order = sorted(range(len(parts)), key=lambda i: (parts[i] - exact[i], i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def apportion_within(
    total: int, weights: Sequence[Weight], lower: Sequence[int], upper: Sequence[int]
) -> list[int]:
    """Apportion with bounds for each part; the total is clamped to the sums of the bounds."""
    parts = list(lower)
    left = min(total, sum(upper)) - sum(parts)
    while left > 0:
        room = [i for i in range(len(parts)) if parts[i] < upper[i]]
        more = apportion(left, [max(Fraction(weights[i]), Fraction(1, 10**6)) for i in room])
        for i, extra in zip(room, more, strict=True):
            parts[i] = min(upper[i], parts[i] + extra)
        left = min(total, sum(upper)) - sum(parts)
    return parts


def scaled(count: Weight, scale: Fraction) -> int:
    """Return a published count at a scale, rounded half up."""
    return int(Fraction(count) * scale + Fraction(1, 2))
