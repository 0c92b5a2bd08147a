"""Solve a request; return the document of recommended sets, each certificate verified.

Command, API and pages show this document; nothing else solves for them.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np

from analysis.optimization import (
    Constraints,
    Draws,
    Effort,
    Measure,
    Recommendation,
    Study,
    Uncertainty,
    UnfinishedCheck,
    check,
    doubt,
    regret,
    route,
    shares_far,
    warm_up,
)
from analysis.optimization.uncertainty.bootstrap import INTERVAL, interval
from core.errors import NephoscopeError
from tasks.recommendations.costs import describe_front, describe_prices
from tasks.recommendations.domains import describe_domains, domain_sizes
from tasks.recommendations.impact import compute_impact
from tasks.recommendations.joint_budgets import describe_joint_budget
from tasks.recommendations.request import Question

# Called after each step: what is done, how many steps are done, how many there are.
Progress = Callable[[str, int, int], None]
# Of the time of a size, the part in which it is solved; its certificate is checked in the rest.
SOLVING_SHARE = 0.6
# Neighbouring sets that one answer lists at most.
MOST_NEIGHBOURS = 20


class BrokenProof(NephoscopeError):
    """A certificate that does not hold: the answer is not shown."""


def recommend(
    question: Question, on_step: Progress | None = None, study: Study | None = None
) -> dict[str, Any]:
    """Solve, verify and describe; raises BadInput on invalid requests, and BrokenProof.

    ``study`` spares making the samples ready again.
    """
    report = on_step or _silent
    load_loops()
    study = study or Study(question.samples, question.objective)
    sizes = sorted({*question.ks, *_size_of_current(question), *domain_sizes(question)})
    answers: dict[int, Recommendation] = {}
    begun = time.monotonic()
    for done, k in enumerate(sizes):
        report(f"k = {k}", done, len(sizes) + 1)
        # Sizes that are soon done leave their time to larger ones.
        part = _share_of_time(question, begun, len(sizes) - done)
        answers[k] = solve(study, question, k, part)
    report("doubt and consequences", len(sizes), len(sizes) + 1)
    asked = [answers[k] for k in question.ks]
    samples = question.samples
    return {
        "results": _results(study, question, asked),
        "n_clients": len(samples.clients),
        "n_rounds": len(samples.rounds),
        "n_regions": len(samples.regions),
        "missing": samples.missing,
        "left_out": study.costs.left_out,
        "objective": _objective(study),
        "constraints": _asked(question.constraints),
        "doubt": {"draws": question.draws, "seed": question.seed, "level": 0.95},
        "current": _current(study, question, answers),
        "domains": describe_domains(study, question, answers),
        "joint": describe_joint_budget(study, question, answers, solve),
        "front": describe_front(study, question),
        "prices": describe_prices(question),
        "carbon": _describe_carbon(question),
        "consequences": compute_impact(study, question, asked) if question.with_outlook else None,
    }


def _share_of_time(question: Question, begun: float, sizes: int) -> float | None:
    """Return the seconds of the next of so many sizes; None without a limit of them all."""
    if question.total_limit_s is None:
        return None
    return max(begun + question.total_limit_s - time.monotonic(), 0.0) / sizes


def solve(
    study: Study, question: Question, k: int, within_s: float | None = None
) -> Recommendation:
    """Give one recommendation; raises BadInput, and BrokenProof where its certificate does not
    hold.

    A certificate that takes longer to check than is left of ``within_s`` is not checked.
    """
    limit_s, until = question.time_limit_s, None
    if within_s is not None:
        limit_s = min(limit_s, SOLVING_SHARE * within_s)
        until = time.monotonic() + within_s
    effort = Effort(time_limit_s=limit_s, runners_up=question.runners_up, within=question.within)
    answer = study.recommend(k, question.constraints, effort)
    if answer.proof is None or answer.value is None:
        return answer
    try:
        faults = check(question.samples, answer, question.objective, question.constraints, until)
    except UnfinishedCheck:
        return answer
    if faults:
        raise BrokenProof(f"the certificate for k = {k} does not hold: {faults[0]}")
    return replace(answer, checked=True)


def _size_of_current(question: Question) -> set[int]:
    """The size of the deployment as it is, where there is a best of that size."""
    if not question.with_peer:
        return set()
    asked = question.constraints
    least = 2 if asked.survive_loss or asked.after_loss_ms is not None else 1
    return {len(question.current)} if len(question.current) >= least else set()


@lru_cache(maxsize=1)
def load_loops() -> None:
    """Load compiled loops once per process, so that ``seconds`` are those of the question."""
    for samples, answer, constraints in warm_up():
        check(samples, answer, None, constraints)


def _silent(step: str, done: int, of: int) -> None:
    """Report progress to no caller."""


def _results(
    study: Study, question: Question, answers: Sequence[Recommendation]
) -> list[dict[str, Any]]:
    doubts = _doubts(study, question, answers)
    return [_result(study, question, answer, doubts.get(answer.k)) for answer in answers]


def _doubts(
    study: Study, question: Question, answers: Sequence[Recommendation]
) -> dict[int, Uncertainty]:
    if not question.draws:
        return {}
    draws = Draws(question.draws, question.seed)
    return {d.k: d for d in doubt(study, answers, question.constraints, draws)}


def _result(
    study: Study, question: Question, answer: Recommendation, doubted: Uncertainty | None
) -> dict[str, Any]:
    neighbours = answer.runners_up[:MOST_NEIGHBOURS]
    return {
        "k": answer.k,
        "regions": answer.regions,
        "value": answer.value,
        "bound": answer.bound,
        "proven": answer.proven,
        "gap": answer.gap,
        "runner_up": asdict(answer.runner_up) if answer.runner_up else None,
        "seconds": round(answer.seconds, 6),
        "reason": answer.reason,
        "certificate": _certificate(answer),
        "runners_up": [asdict(other) for other in neighbours],
        "runners_up_proven": min(answer.runners_up_proven, len(neighbours)),
        "unanswered": answer.unanswered,
        "unanswered_share": answer.unanswered_share,
        "rounding": answer.rounding,
        "members": _members(study, question, answer),
        "static": _static(study, answer.regions),
        "after_loss": _after_loss(question, answer.regions),
        "countries": _countries(study, question, answer.regions),
        **_doubt(doubted),
    }


def _after_loss(question: Question, regions: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the share of weight above the limit after a loss, by the lost region."""
    limit_ms = question.constraints.after_loss_ms
    if limit_ms is None or len(regions) < 2:
        return None
    shares = shares_far(question.samples, regions, limit_ms)
    worst = max(shares, key=lambda name: shares[name])
    allowed = question.constraints.after_loss_share
    return {
        "limit_ms": limit_ms,
        "allowed_share": allowed,
        "share_above": shares,
        "worst_loss": worst,
        "worst_share": shares[worst],
        "kept": shares[worst] <= allowed + 1e-12,
    }


def _countries(
    study: Study, question: Question, regions: tuple[str, ...]
) -> list[dict[str, Any]] | None:
    """Return each country's mean, the worst first; None unless the worst country is optimised.

    ``after_loss`` is the mean after the loss that is worst for the country, where sets are to
    survive one.
    """
    if not study.objective.worst_group or not regions:
        return None
    means = study.group_means(regions)
    robust = question.constraints.survive_loss and len(regions) > 1
    rests = [study.group_means([r for r in regions if r != lost]) for lost in regions * robust]
    faster = study.objective.measure is Measure.LATENCY
    pick, sign = (max, -1) if faster else (min, 1)
    after = {name: pick(rest[name] for rest in rests) if rests else None for name in means}
    counts = Counter(study.samples.groups)
    rows = [
        {"country": name, "value": value, "after_loss": after[name], "clients": counts[name]}
        for name, value in means.items()
    ]
    shown = "after_loss" if robust else "value"
    return sorted(rows, key=lambda row: (sign * row[shown], row["country"]))


def _certificate(answer: Recommendation) -> dict[str, Any] | None:
    if answer.proof is None or answer.value is None:
        return None
    return {"checked": answer.checked, "nodes": answer.nodes}


def _members(study: Study, question: Question, answer: Recommendation) -> list[dict[str, Any]]:
    """What the value would be without each chosen region, by the plain mean or percentile."""
    here, found = study.value_of(answer.regions) if answer.regions else None, []
    sign = 1 if study.objective.measure is Measure.LATENCY else -1
    for name in answer.regions:
        value = study.value_without(answer.regions, name)
        worth = None if value is None or here is None else sign * (value - here)
        found.append({"region": name, "value_without": value, "worth": worth})
    return found


def _static(study: Study, regions: tuple[str, ...]) -> float | None:
    """What the set gives if each client keeps one region; only means over all clients have such a
    figure."""
    if (
        not regions
        or study.objective.worst_group
        or study.objective.percentile is not None
        or study.value_of(regions) is None
    ):
        return None
    return route(study, regions).static


def _doubt(found: Uncertainty | None) -> dict[str, Any]:
    if found is None:
        return {"interval": None, "wins": [], "wins_complete": False, "gain": None}
    gain = None
    if found.gain_low is not None:
        ends = [found.gain_low, found.gain_high]
        gain = {"interval": ends, "beyond_noise": found.beyond_noise}
    wins = [asdict(win) for win in found.wins[:MOST_NEIGHBOURS]]
    return {
        "interval": [found.low, found.high],
        "wins": wins,
        "wins_complete": found.complete,
        "gain": gain,
    }


def _objective(study: Study) -> dict[str, Any]:
    asked, costs = study.objective, study.costs
    penalty = None if costs.penalty is None else costs.value_of(costs.penalty)
    found = {**asdict(asked), "penalty": penalty if costs.gaps else asked.penalty}
    found["worst_country"] = found.pop("worst_group")
    return found


def _asked(constraints: Constraints) -> dict[str, Any]:
    """The constraints in words of JSON, without those that ask for nothing."""
    found: dict[str, Any] = {}
    for name, value in asdict(replace(constraints, facts={})).items():
        if name == "presence":
            value = [{**one, "within": sorted(one["within"])} for one in value]
        if value not in (None, False, {}, [], frozenset()):
            found[name] = sorted(value) if isinstance(value, frozenset) else value
    return found


def _describe_carbon(question: Question) -> list[dict[str, Any]] | None:
    """Return the carbon intensity of each region with date and source; None without a table."""
    known = question.known
    if not known.carbon:
        return None
    return [
        {
            **asdict(known.carbon[name]),
            "region": name,
            "as_of": known.carbon[name].as_of.isoformat(),
        }
        for name in known.samples.regions
        if name in known.carbon
    ]


def _current(
    study: Study, question: Question, answers: Mapping[int, Recommendation]
) -> dict[str, Any] | None:
    """The deployment as it is, beside the best of its size and each recommended set."""
    if not question.current:
        return None
    regions, best = question.current, answers.get(len(question.current))
    robust = question.constraints.survive_loss
    value = study.value_of(regions, survive_loss=robust)
    found: dict[str, Any] = {
        "regions": regions,
        "value": value,
        "static": _static(study, regions),
        "after_loss": _after_loss(question, regions),
        "best": best and {"regions": best.regions, "value": best.value, "proven": best.proven},
        "regret": None,
        "regret_interval": None,
        "saved": {k: _saved(study, value, answers[k].value) for k in question.ks},
    }
    if value is not None and best is not None and best.value is not None:
        found["regret"] = max(_saved(study, value, best.value) or 0.0, 0.0)
        if not robust:
            found["regret"] = regret(study, regions, best).lost
        found["regret_interval"] = _saving_interval(study, question, best.regions)
    return found


def _saved(study: Study, value: float | None, other: float | None) -> float | None:
    if value is None or other is None:
        return None
    return value - other if study.objective.measure is Measure.LATENCY else other - value


def _saving_interval(
    study: Study, question: Question, other: tuple[str, ...]
) -> list[float] | None:
    """What moving saves, in the same draws of clients and rounds for both."""
    if not question.draws:
        return None
    draws = Draws(question.draws, question.seed)
    robust = question.constraints.survive_loss
    here, there = (
        interval(study, s, draws, survive_loss=robust) for s in (question.current, other)
    )
    saved = here - there
    if study.objective.measure is Measure.THROUGHPUT:
        saved = -saved
    # Adding zero turns a negative zero into a plain one.
    return [float(v) + 0.0 for v in np.percentile(saved, INTERVAL)]
