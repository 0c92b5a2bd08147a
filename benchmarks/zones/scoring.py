"""Verdicts beside the truth: permutations recovered, coverage and error of each method."""

from typing import NamedTuple

from benchmarks.zones.worlds import Truth
from cartography.zones.inference import RegionResult


class Score(NamedTuple):
    """Shares of one; ``error`` is wrong among answered, ``wrong`` is wrong among all."""

    method: str
    targets: int
    coverage: float
    error: float
    wrong: float


def permutations(result: RegionResult, truth: Truth) -> tuple[int, int, int]:
    """Labels mapped to the right zone, to a wrong one, and left open."""
    names = _names(result, truth)
    right = wrong = left = 0
    for alignment in result.alignments:
        left += len(alignment.undetermined)
        for label, zone in alignment.zones.items():
            good = names.get(zone) == truth.labels[alignment.account, label]
            right, wrong = right + good, wrong + (not good)
    return right, wrong, left


def _names(result: RegionResult, truth: Truth) -> dict[str, int]:
    """Number of each common zone: the reference account's labels name them."""
    first = result.alignments[0]
    named = {zone: truth.labels[first.account, label] for label, zone in first.zones.items()}
    for alignment in result.alignments:
        for label, zone in alignment.zones.items():
            named.setdefault(zone, truth.labels[alignment.account, label])
    return named


def scores(result: RegionResult, truth: Truth) -> list[Score]:
    """Of proximity, latency and both together."""
    names = _names(result, truth)
    found = {
        "proximity": [v.proximity.zone for v in result.verdicts],
        "latency": [v.latency.zone for v in result.verdicts],
        "combined": [v.zone for v in result.verdicts],
    }
    true = [truth.zones[v.target] for v in result.verdicts]
    return [_score(m, [names[z] if z else None for z in zones], true) for m, zones in found.items()]


def _score(method: str, stated: list[int | None], true: list[int]) -> Score:
    answered = sum(s is not None for s in stated)
    wrong = sum(s is not None and s != t for s, t in zip(stated, true, strict=True))
    n = max(1, len(true))
    return Score(method, len(true), answered / n, wrong / max(1, answered), wrong / n)
