"""A proof is believed only if it holds: wrong ones of every kind are found out."""

import math
import time
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from analysis.optimization import (
    Constraints,
    Effort,
    Facts,
    Measure,
    Missing,
    Objective,
    Samples,
    Study,
    UnfinishedCheck,
    check,
)
from analysis.optimization.model.constraints import limit
from analysis.optimization.model.costs import cost
from analysis.optimization.solver.branch_and_bound import rough_dual
from analysis.optimization.solver.certificate import Box, Multipliers
from analysis.optimization.solver.problem import Problem, field_of
from analysis.optimization.solver.search_kernels import as_ints, explore
from tests.delays import within

CLIMB = Effort(plain_cells=0, runners_up=0)


def instance(seed=5, regions=12, clients=40, gaps=0.0):
    g = np.random.default_rng(seed)
    values = g.integers(10, 200, (regions, clients, 1)).astype(float)
    values[g.random(values.shape) < gaps] = np.nan
    names = tuple(f"r{j}" for j in range(regions))
    weights = g.integers(1, 20, clients).astype(float)
    return Samples(names, tuple(map(str, range(clients))), ("1",), values, weights)


QUESTIONS = [
    (instance(), Objective(), Constraints(), Effort()),
    (instance(), Objective(), Constraints(), CLIMB),
    (instance(), Objective(Measure.THROUGHPUT), Constraints(), CLIMB),
    (instance(gaps=0.2), Objective(missing=Missing.EXCLUDE), Constraints(), CLIMB),
    (instance(), Objective(percentile=90), Constraints(), CLIMB),
    (instance(regions=8), Objective(), Constraints(survive_loss=True), CLIMB),
    (instance(), Objective(), Constraints(survive_loss=True), Effort()),
    (instance(), Objective(), Constraints(after_loss_ms=150, after_loss_share=0.022), CLIMB),
    (instance(), Objective(), Constraints(after_loss_ms=110, after_loss_share=0.14), Effort()),
]
# Places of questions that are answered from remainders.
SURVIVING = (5, 6, 7, 8)


@pytest.fixture(params=range(len(QUESTIONS)))
def case(request):
    samples, objective, constraints, effort = QUESTIONS[request.param]
    answer = Study(samples, objective).recommend(3, constraints, effort)
    assert answer.proven
    return samples, answer, objective, constraints


def complaint(case, **changes):
    samples, answer, objective, constraints = case
    return check(samples, replace(answer, **changes), objective, constraints)


def with_proof(case, **changes):
    return complaint(case, proof=replace(case[1].proof, **changes))


def test_a_right_answer_holds(case):
    assert complaint(case) == []


def test_a_wrong_value_is_found_out(case):
    assert "value" in complaint(case, value=case[1].value * 1.01)[0]


def test_a_worse_set_is_not_the_best(case):
    samples, answer, objective, constraints = case
    study = Study(samples, objective)
    others = [r for r in samples.regions if r not in answer.regions]
    worst = (*answer.regions[:2], others[0])
    value = study.value_of(worst, survive_loss=constraints.survive_loss)
    if value == answer.value:
        pytest.skip("a tie")
    assert complaint(case, regions=worst, value=value) != []
    assert complaint(case, regions=worst, value=value, bound=value) != []


def test_a_bound_that_is_too_good_is_found_out(case):
    faster = case[2].measure is Measure.LATENCY
    assert complaint(case, bound=case[1].bound * (1.02 if faster else 0.98)) != []


def test_the_questions_after_a_loss_bind():
    for samples, objective, constraints, effort in QUESTIONS[7:]:
        free = Study(samples, objective).recommend(3, None, effort)
        kept = Study(samples, objective).recommend(3, constraints, effort)
        assert kept.value > free.value
        assert check(samples, replace(free, proof=kept.proof), objective, constraints) != []


@pytest.mark.parametrize("place", SURVIVING)
def test_boxes_of_single_sets_are_weighed(place):
    # A box that holds one set has no bound to lean on: what it holds must be looked at.
    samples, objective, constraints, effort = QUESTIONS[place]
    study = Study(samples, objective)
    answer = study.recommend(3, constraints, replace(effort, runners_up=3))
    worse = answer.runners_up[-1]
    everyone = frozenset(range(len(samples.regions)))
    boxes = tuple(
        Box(frozenset(s), everyone - frozenset(s), frozenset(), 0)
        for s in combinations(everyone, 3)
    )
    own = tuple(samples.regions.index(name) for name in worse.regions)
    costs = study.costs
    floor = math.ceil(Fraction(worse.value) * costs.scale * costs.total_weight - Fraction(1, 2))
    proof = replace(answer.proof, boxes=boxes, listed=(own,), floor=floor)
    found = replace(
        answer, regions=worse.regions, value=worse.value, bound=worse.value, proof=proof
    )
    assert "costs less" in check(samples, found, objective, constraints)[0]
    right = replace(answer, proof=replace(answer.proof, boxes=boxes))
    assert check(samples, right, objective, constraints) == []


def test_a_box_without_multipliers_is_listed(case):
    samples, answer, objective, constraints = case
    blank = Multipliers(np.zeros_like(answer.proof.multipliers[0].levels), ())
    whole = Box(frozenset(), frozenset(), frozenset(), 0)
    proof = replace(answer.proof, boxes=(whole,), multipliers=(blank,))
    assert complaint(case, proof=proof) == []
    proof = replace(proof, floor=2 * proof.floor, listed=())
    wrong = complaint(case, proof=proof)
    assert any("costs less" in text or "does not reach" in text for text in wrong)


def test_a_check_ends_at_its_deadline():
    samples = instance(regions=40)
    answer = Study(samples).recommend(8, None, Effort(runners_up=0))
    blank = Multipliers(np.zeros(40, np.int32), ())
    whole = Box(frozenset(), frozenset(), frozenset(), 0)
    slow = replace(answer, proof=replace(answer.proof, boxes=(whole,), multipliers=(blank,)))
    with within(5), pytest.raises(UnfinishedCheck):
        check(samples, slow, until=time.monotonic() + 0.1)


def test_a_missing_box_is_found_out(case):
    assert with_proof(case, boxes=case[1].proof.boxes[1:]) == ["the boxes do not hold every set"]


def test_a_box_twice_is_found_out(case):
    boxes = case[1].proof.boxes
    assert with_proof(case, boxes=(*boxes, boxes[0])) == ["two boxes hold the same set"]


def test_a_raised_floor_is_found_out(case):
    proof = case[1].proof
    assert with_proof(case, floor=proof.floor + max(proof.floor // 5, 2), listed=()) != []


def test_other_multipliers_never_make_a_wrong_answer_right(case):
    samples, answer, objective, constraints = case
    g = np.random.default_rng(1)
    others = [r for r in samples.regions if r not in answer.regions]
    worse = (*answer.regions[:2], others[1])
    value = Study(samples, objective).value_of(worse, survive_loss=constraints.survive_loss)
    if value == answer.value:
        pytest.skip("a tie")
    for _ in range(20):
        odd = tuple(
            Multipliers(m.levels * g.integers(0, 4) + g.integers(0, 1000), m.rates)
            for m in answer.proof.multipliers
        )
        proof = replace(answer.proof, multipliers=odd)
        assert complaint(case, regions=worse, value=value, bound=value, proof=proof) != []


def test_a_set_against_the_constraints_is_found_out():
    samples = instance()
    facts = {name: Facts("aws" if a < 9 else "azure") for a, name in enumerate(samples.regions)}
    free = Study(samples).recommend(3)
    bound = Constraints(per_provider=1, facts=facts)
    assert "a provider has too many" in check(samples, free, None, bound)
    assert check(samples, free, None, Constraints(exclude=frozenset({free.regions[0]}))) != []
    outside = next(r for r in samples.regions if r not in free.regions)
    assert check(samples, free, None, Constraints(include=frozenset({outside}))) != []


def test_an_answer_without_proof_is_not_believed():
    samples = instance()
    answer = Study(samples).recommend(2)
    assert check(samples, replace(answer, proof=None)) == ["there is no proof to check"]


def test_a_box_whose_own_regions_break_a_limit_gives_no_set():
    # Dividing a box may put two regions of one provider into it; what is left fits, they do not.
    samples = instance()
    costs = cost(samples, Objective())
    facts = {name: Facts("aws" if a < 2 else f"p{a}") for a, name in enumerate(samples.regions)}
    limits = limit(samples.regions, Constraints(per_provider=1, facts=facts))
    for inside, free in (((0, 1), range(2, 12)), ((0, 1, 2), ())):
        problem = Problem(field_of(costs.matrix, costs.weights), limits, 3, 1)
        box = as_ints(inside), as_ints(list(free))
        dual = rough_dual(problem)
        assert explore(problem.field, problem.rules, dual, box, problem.incumbents, 2**60)
        assert problem.listed == []


@pytest.mark.parametrize(
    "asked",
    [
        Constraints(survive_loss=True),
        Constraints(survive_loss=True, after_loss_ms=120, after_loss_share=0.05),
        Constraints(after_loss_ms=120, after_loss_share=0.02),
    ],
)
def test_without_time_the_gap_is_honest(asked):
    samples = instance(regions=40, clients=200)
    study = Study(samples)
    hasty = study.recommend(5, asked, Effort(time_limit_s=0.0, plain_cells=0))
    best = study.recommend(5, asked)
    assert best.proven
    assert not hasty.proven
    assert hasty.gap > 0 or hasty.value is None
    if hasty.value is not None:
        assert hasty.bound <= best.value <= hasty.value
        assert check(samples, hasty, None, asked) == []
