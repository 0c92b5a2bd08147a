"""Compiled: one vantage point's usual region, and how it compares with the best of each round."""

from typing import Any

import numpy as np

from core.jit import compile_loop


@compile_loop
def count_rounds(values: Any) -> Any:
    """Of values by region and round: how many each region has, the most of one, and rounds in which
    any has one."""
    counts = np.zeros(len(values), np.int64)
    rounds, most = 0, 0
    for period in range(values.shape[1]):
        heard = False
        for region in range(len(values)):
            if values[region, period] == values[region, period]:
                counts[region] += 1
                most = max(most, counts[region])
                heard = True
        rounds += heard
    return counts, most, rounds


@compile_loop
def find_fixed(values: Any, sign: Any, counts: Any, least: Any) -> Any:
    """The region with the best mean of those that have as many values as are asked for."""
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
    """The best region of a round, -1 if there is none; of equals the fixed one, then the first."""
    winner, best = -1, np.inf
    if values[fixed] == values[fixed]:
        winner, best = fixed, sign * values[fixed]
    for region in range(len(values)):
        if sign * values[region] < best:
            winner, best = region, sign * values[region]
    return winner


@compile_loop
def choose_fixed(values: Any, sign: Any, least_share: Any) -> Any:
    """(fixed region or -1, rounds, rounds that differ, rounds that it did not answer, changes,
    regions that were ever the best, its mean, the mean of the best in the same rounds)."""
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
