"""Compiled loops: one vantage point's fixed region against the best region of each round.

``values`` is (n_regions, n_rounds) float64, NaN where missing; ``sign`` is 1 to minimise, -1 to
maximise."""

from typing import Any

import numpy as np

from core.jit import compile_loop


@compile_loop
def count_rounds(values: Any) -> Any:
    """Return (values per region (n_regions,) int64, their maximum, rounds with any value)."""
    counts = np.zeros(len(values), np.int64)
    rounds, most = 0, 0
    for period in range(values.shape[1]):
        is_known = False
        for region in range(len(values)):
            if values[region, period] == values[region, period]:
                counts[region] += 1
                most = max(most, counts[region])
                is_known = True
        rounds += is_known
    return counts, most, rounds


@compile_loop
def find_fixed(values: Any, sign: Any, counts: Any, least: Any) -> Any:
    """Return the region with the best mean among those with at least ``least`` values, or -1."""
    fixed, best = -1, np.inf
    for region in range(len(values)):
        if counts[region] < least or not counts[region]:
            continue
        total = 0.0
        for value in values[region]:
            if value == value:
                total += value
        mean = sign * total / counts[region]
        if mean < best:
            fixed, best = region, mean
    return fixed


@compile_loop
def find_winner(values: Any, sign: Any, fixed: Any) -> Any:
    """Return the best region of a round or -1; ties go to the fixed one, then to the first."""
    winner, best = -1, np.inf
    if values[fixed] == values[fixed]:
        winner, best = fixed, sign * values[fixed]
    for region in range(len(values)):
        if sign * values[region] < best:
            winner, best = region, sign * values[region]
    return winner


@compile_loop
def choose_fixed(values: Any, sign: Any, least_share: Any) -> Any:
    """Return (fixed region or -1, rounds, rounds with another winner, rounds without an answer of
    the fixed one, changes of the winner, distinct winners, mean of the fixed one, mean of the
    winners in the same rounds)."""
    counts, most, rounds = count_rounds(values)
    if not rounds:
        return -1, 0, 0, 0, 0, 0, 0.0, 0.0
    least = min(least_share * rounds, most)
    fixed = find_fixed(values, sign, counts, least)
    differs, unanswered, changes, before = 0, 0, 0, -1
    own, best, ever, seen = 0.0, 0.0, 0, np.zeros(len(values), np.bool_)
    for period in range(values.shape[1]):
        winner = find_winner(values[:, period], sign, fixed)
        if winner < 0:
            continue
        ever += not seen[winner]
        seen[winner] = True
        differs += winner != fixed
        changes += before >= 0 and winner != before
        before = winner
        value = values[fixed, period]
        if value == value:
            own += value
            best += values[winner, period]
        else:
            unanswered += 1
    answered = rounds - unanswered
    return (fixed, rounds, differs, unanswered, changes, ever, own / answered, best / answered)
