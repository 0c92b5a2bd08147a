"""The worst country's mean: equal to the weighing of every set, with certificates that hold."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.optimization import (
    Constraints,
    Effort,
    Measure,
    Missing,
    Objective,
    Samples,
    Study,
    check,
    doubt,
)
from analysis.optimization.groups import worst_group
from core.errors import BadInput
from tests.analysis.optimization.brute_force import worst_group_ranking
from tests.analysis.optimization.test_exact import near, some_constraints, some_samples

LISTINGS = ("FEW_SETS", "MANY_SETS", "MOST_SETS")


def some_question(seed, robust):
    g = np.random.default_rng(seed)
    samples = some_samples(g, float(g.choice([0, 0.1, 0.4])))
    names = g.choice(["DE", "US", "JP", "BR"], len(samples.clients))
    samples = replace(samples, groups=tuple(map(str, names)))
    k = int(g.integers(1 + robust, min(5, len(samples.regions)) + 1))
    asked = replace(some_constraints(g, samples, k), survive_loss=robust)
    measure = Measure.THROUGHPUT if g.random() < 0.3 else Measure.LATENCY
    return samples, k, Objective(measure, worst_group=True), asked


def verify(question):
    samples, k, objective, constraints = question
    every = worst_group_ranking(samples, k, objective, constraints)
    answer = Study(samples, objective).recommend(k, constraints)
    assert answer.proven
    assert bool(answer.regions) == bool(every)
    if every:
        assert near(answer.value, every[0][0]), (answer, every[:3])
        assert check(samples, answer, objective, constraints) == []
    return answer


@pytest.mark.parametrize("lists_sets", [True, False])
@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), robust=st.booleans())
def test_the_least_worst_country_is_that_of_all_sets(lists_sets, seed, robust):
    # Without listings, small problems go the way of large ones: bounds and boxes.
    with pytest.MonkeyPatch.context() as patch:
        for name in () if lists_sets else LISTINGS:
            patch.setattr(worst_group, name, 0)
        verify(some_question(seed, robust))


def large_question(k, robust):
    g = np.random.default_rng(3)
    values = g.integers(5, 300, (12, 60, 1)).astype(float)
    groups = tuple(f"g{i % 9}" for i in range(60))
    names = tuple(f"r{j}" for j in range(12)), tuple(f"c{i}" for i in range(60))
    weights = g.integers(1, 50, 60).astype(float)
    samples = Samples(*names, ("x",), values, weights, groups)
    return samples, k, Objective(worst_group=True), Constraints(survive_loss=robust)


@pytest.mark.parametrize("robust", [False, True])
def test_boxes_that_are_closed_by_bounds_are_checked(robust, monkeypatch):
    samples, k, objective, constraints = large_question(4, robust)
    best = Study(samples, objective).recommend(k, constraints)
    for name, most in zip(LISTINGS, (8, 8, 8), strict=True):
        monkeypatch.setattr(worst_group, name, most)
    answer = Study(samples, objective).recommend(k, constraints)
    assert answer.value == best.value
    assert any(box.multipliers is not None for box in answer.proof.boxes)
    assert check(samples, answer, objective, constraints) == []

    proof = answer.proof
    wrong = [
        replace(proof, boxes=proof.boxes[1:]),
        replace(proof, boxes=(*proof.boxes, proof.boxes[0])),
        replace(proof, floor=proof.floor * 1.01),
        replace(proof, floor=proof.floor * 0.99),
    ]
    for one in wrong:
        assert check(samples, replace(answer, proof=one), objective, constraints) != []
    other = replace(answer, regions=answer.runners_up[0].regions)
    assert check(samples, other, objective, constraints) != []


def test_multipliers_that_do_not_bound_are_no_proof(monkeypatch):
    for name in LISTINGS:
        monkeypatch.setattr(worst_group, name, 8)
    samples, k, objective, constraints = large_question(4, robust=False)
    answer = Study(samples, objective).recommend(k, constraints)
    proof = answer.proof
    doubled = tuple(replace(m, shares=m.shares * 2) for m in proof.multipliers)
    # Boxes whose multipliers say nothing are read set by set, and still hold no better one.
    assert (
        check(samples, replace(answer, proof=replace(proof, multipliers=doubled)), objective) == []
    )
    worse = replace(answer, regions=answer.runners_up[0].regions, value=answer.runners_up[0].value)
    raised = replace(proof, floor=proof.floor * worse.value / answer.value, multipliers=doubled)
    assert "lesser" in check(samples, replace(worse, proof=raised), objective)[0]


def test_out_of_time_gives_a_set_and_a_bound_below_it():
    samples, k, objective, constraints = large_question(4, robust=False)
    answer = Study(samples, objective).recommend(k, constraints, Effort(time_limit_s=0.0))
    assert not answer.proven
    assert answer.bound <= answer.value
    assert answer.proof is None


def test_the_interval_holds_the_worst_country_of_each_resample():
    samples, k, objective, constraints = large_question(3, robust=False)
    study = Study(samples, objective)
    answer = study.recommend(k, constraints)
    found = doubt(study, [answer], constraints)[0]
    assert found.low <= answer.value <= found.high * 1.2
    mean = Study(samples).value_of(answer.regions)
    assert found.low > mean


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"percentile": 95.0}, "without a percentile"),
        ({"missing": Missing.EXCLUDE}, "penalty for the worst country"),
    ],
)
def test_what_has_no_worst_country_is_refused(change, words):
    with pytest.raises(BadInput, match=words):
        Objective(worst_group=True, **change)


def test_clients_without_countries_are_refused():
    samples = replace(large_question(3, robust=False)[0], groups=())
    with pytest.raises(BadInput, match="countries of the clients are unknown"):
        Study(samples, Objective(worst_group=True))
