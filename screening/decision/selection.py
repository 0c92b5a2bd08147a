"""Select the best N of K·N instances by their verdicts, and the K that the next pool needs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import BadInput
from screening.agent_parts.verdict import BAD, GOOD, NETWORK_TEST, UNKNOWN
from screening.statistics.distributions import find_beta_quantile, find_enough_chance

ORDER = {GOOD: 0, NETWORK_TEST: 1, UNKNOWN: 2, BAD: 3}
# Causes of stalls: what a neighbour does to a machine, and what a machine does to itself.
NEIGHBOUR_CAUSE = "steal"
OWN_CAUSES = frozenset({"run delay", "quota"})
ASSURANCE = 0.95
LEVEL = 0.9
MOST_LAUNCHES = 100_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance to choose from; ``good_chance`` is the probability that it is good.

    ``sure`` and ``cause`` are the verdict's, ``label`` is the owner's label (or empty).
    """

    name: str
    verdict: str
    per_100s: float
    high: float
    p999_ms: float
    good_chance: float
    confirmed: bool | None = None  # result of a network test
    confirmed_surely: bool = False
    sure: bool = False
    cause: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Every candidate in one of five groups, and how many of the chosen are expected to be bad.

    ``chosen`` and ``spare`` are good, best first; ``terminate`` are surely slowed by neighbours,
    ``own_load`` by themselves; of ``measure_again`` too little is known to decide.
    """

    chosen: tuple[Candidate, ...]
    spare: tuple[Candidate, ...]
    terminate: tuple[Candidate, ...]
    measure_again: tuple[Candidate, ...]
    own_load: tuple[Candidate, ...]
    expected_bad: float
    missing: int


@dataclass(frozen=True, slots=True)
class LaunchFactor:
    """Instances to launch per good one; ``launches`` gives N good ones in 95 % of pools."""

    k: float
    low: float
    high: float
    launches: int
    wasted: float
    cost: float
    expected_cost: float


def choose_best(candidates: Sequence[Candidate], wanted: int) -> Choice:
    """Choose the best ``wanted``: confirmed first, then by the rate's upper bound.

    Only instances that are called good, or that network tests confirmed, are chosen; ``missing`` is
    how many more are needed. BadInput when none is wanted.
    """
    if wanted < 1:
        raise BadInput("choose at least one instance", field="wanted")
    ranked = sorted(candidates, key=_rank)
    fit = [c for c in ranked if _is_fit(c)]
    unfit = [c for c in ranked if not _is_fit(c)]
    chosen = tuple(fit[:wanted])
    expected = sum(0.0 if c.confirmed else 1 - c.good_chance for c in chosen)
    return Choice(
        chosen,
        tuple(fit[wanted:]),
        tuple(c for c in unfit if is_surely_disturbed(c)),
        tuple(c for c in unfit if not is_surely_disturbed(c) and not _is_own_load(c)),
        tuple(c for c in unfit if not is_surely_disturbed(c) and _is_own_load(c)),
        expected,
        wanted - len(chosen),
    )


def is_surely_disturbed(candidate: Candidate) -> bool:
    """Return whether an instance is bad beyond doubt and neighbours are the cause.

    A rate between the marks is bad beyond doubt where network tests confirm it (Algorithm 1).
    Neither network tests nor the owner's label may call the instance good.
    """
    if candidate.confirmed or GOOD in (candidate.label, candidate.verdict):
        return False
    by_sleeps = candidate.verdict == BAD and candidate.sure
    refuted = candidate.confirmed is False and candidate.confirmed_surely
    by_calls = candidate.verdict == NETWORK_TEST and refuted
    return candidate.cause == NEIGHBOUR_CAUSE and (by_sleeps or by_calls)


def _is_fit(candidate: Candidate) -> bool:
    if candidate.confirmed is None:
        return candidate.verdict == GOOD
    return candidate.confirmed


def _is_own_load(candidate: Candidate) -> bool:
    return candidate.cause in OWN_CAUSES and candidate.verdict in (BAD, NETWORK_TEST)


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
    return LaunchFactor(
        k, max(low, 1.0), high, launches, launches - wanted, launches * price, k * wanted * price
    )


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
