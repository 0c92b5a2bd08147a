"""Verdicts of a pool in, the best N of K·N and the K that the next pool needs out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import BadInput
from screening.chances import find_beta_quantile, find_enough_chance
from screening.onboard.judging import BAD, GOOD, NETWORK_TEST, UNKNOWN

ORDER = {GOOD: 0, NETWORK_TEST: 1, UNKNOWN: 2, BAD: 3}
ASSURANCE = 0.95
LEVEL = 0.9
MOST_LAUNCHES = 100_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance to choose from; ``good_chance`` is the probability that it is good."""

    name: str
    verdict: str
    per_100s: float
    high: float
    p999_ms: float
    good_chance: float
    confirmed: bool | None = None  # what a network test said


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen, best first, and how many of them are expected to be bad."""

    chosen: tuple[Candidate, ...]
    spare: tuple[Candidate, ...]
    expected_bad: float
    missing: int


@dataclass(frozen=True, slots=True)
class LaunchFactor:
    """Instances to launch per good one; ``launches`` gives N good ones in 95 of 100 pools."""

    k: float
    low: float
    high: float
    launches: int
    wasted: float
    cost: float
    expected_cost: float


def choose_best(candidates: Sequence[Candidate], wanted: int) -> Choice:
    """The best ``wanted``: confirmed first, then by verdict, then by the rate's upper bound.

    Instances called bad are never chosen; ``missing`` says how many more are needed.
    """
    if wanted < 1:
        raise BadInput("choose at least one instance", field="wanted")
    fit = [c for c in candidates if c.verdict in (GOOD, NETWORK_TEST) and c.confirmed is not False]
    fit += [c for c in candidates if c.confirmed and c not in fit]
    ranked = sorted(fit, key=_rank)
    chosen = tuple(ranked[:wanted])
    expected = sum(0.0 if c.confirmed else 1 - c.good_chance for c in chosen)
    return Choice(chosen, tuple(ranked[wanted:]), expected, wanted - len(chosen))


def _rank(candidate: Candidate) -> tuple[bool, int, float, float, str]:
    place = ORDER[candidate.verdict]
    return (not candidate.confirmed, place, candidate.high, candidate.p999_ms, candidate.name)


def estimate_factor(called: int, launched: int, wanted: int, price: float = 0.0) -> LaunchFactor:
    """K from ``called`` good ones of ``launched``, for ``wanted`` ones at a price per launch.

    BadInput when nothing was called good, because K has no upper bound then.
    """
    if not 0 < called <= launched:
        raise BadInput("no instance was called good: launch more before K can be estimated")
    # Jeffreys' interval of the share that is called good.
    levels = (1 + LEVEL) / 2, (1 - LEVEL) / 2
    low, high = (1 / find_beta_quantile(q, called + 0.5, launched - called + 0.5) for q in levels)
    launches = find_launches(called, launched, wanted)
    k = launched / called
    return LaunchFactor(k, max(low, 1.0), high, launches, launches - wanted,
                        launches * price, k * wanted * price)  # fmt: skip


def find_launches(called: int, launched: int, wanted: int, assurance: float = ASSURANCE) -> int:
    """Fewest launches that give ``wanted`` with ``assurance``, the share itself being uncertain."""
    low, high = wanted, wanted
    while _find_success(high, called, launched, wanted) < assurance and high < MOST_LAUNCHES:
        low, high = high, 2 * high
    while low < high:
        middle = (low + high) // 2
        if _find_success(middle, called, launched, wanted) >= assurance:
            high = middle
        else:
            low = middle + 1
    return high


def _find_success(launches: int, called: int, launched: int, wanted: int) -> float:
    return find_enough_chance(wanted, launches, called + 0.5, launched - called + 0.5)


def compute_factor(good_share: float, false_negative: float) -> float:
    """The paper's K: 1 / ((1 - FN) · share of good ones)."""
    return float(1 / np.multiply(1 - false_negative, good_share))
