"""The mean of a set over samples with holes: what counts, and that no failure makes it better."""

import numpy as np
import pytest

from analysis.impact import failures, latency_statistics
from analysis.impact.assignment import serve
from analysis.impact.places import Region
from analysis.optimization import Measure, Missing, Objective, Samples, Study, check, route
from analysis.optimization.verification.verification import measure
from core.errors import BadInput
from tests.analysis.optimization import brute_force

MATRICES = 1000
NAN = float("nan")


def holed_samples(g):
    """Some regions that answer seldom, and some clients that have no network for some rounds."""
    shape = regions, clients, rounds = g.integers(2, 7), g.integers(1, 7), g.integers(1, 6)
    values = g.integers(1, 400, shape).astype(float)
    if g.random() < 0.5:
        values = values * g.uniform(0.5, 2)
    values[g.random(shape) < g.uniform(0, 0.9, (regions, 1, 1))] = NAN
    values[:, g.random(shape[1:]) < g.choice([0, 0.2, 0.6])] = NAN
    values[0, 0, 0] = 100.0
    weights = g.integers(1, 9, clients) * float(g.choice([1.0, 0.37, np.pi]))
    return Samples(
        tuple(f"r{j}" for j in range(regions)),
        tuple(map(str, range(clients))),
        tuple(map(str, range(rounds))),
        values,
        weights,
    )


def some_failures(g, samples, regions):
    facts = {
        name: Region(provider=str(g.choice(["aws", "azure", ""])), zones=int(g.integers(1, 4)))
        for name in samples.regions
    }
    isps = {f"AS{n}": {name: float(g.choice([0, 0.3, 1.0])) for name in regions} for n in range(2)}
    return facts, isps


@pytest.mark.parametrize("part", range(4))
def test_no_failure_makes_the_figure_better(part):
    for seed in range(part * MATRICES // 4, (part + 1) * MATRICES // 4):
        g = np.random.default_rng(seed)
        samples = holed_samples(g)
        objective = Objective(Measure(g.choice(list(Measure))), missing=g.choice(list(Missing)))
        study = Study(samples, objective)
        k = int(g.integers(1, len(samples.regions) + 1))
        regions = tuple(g.choice(samples.regions, k, replace=False))
        found = failures.losses(serve(study, regions), *some_failures(g, samples, regions))
        nothing, whole = found[0].value, study.value_of(regions)
        assert found[0].kind == failures.NOTHING
        if nothing is None:
            # Nobody was ever answered by these regions.
            assert all(loss.value is None for loss in found), seed
            continue
        assert nothing == pytest.approx(whole, rel=1e-12), seed
        sign = 1 if objective.measure is Measure.LATENCY else -1
        for loss in found:
            if loss.value is not None:
                assert sign * loss.value >= sign * nothing - 1e-9, (seed, loss)
            if loss.kind == "region" and loss.value is not None:
                without = study.value_without(regions, loss.name)
                assert loss.value == pytest.approx(without, rel=1e-12), (seed, loss)


def test_no_set_is_better_than_one_that_holds_it():
    for seed in range(MATRICES):
        g = np.random.default_rng(seed)
        samples = holed_samples(g)
        percentile = [None, 50, 95][seed % 3]
        study = Study(samples, Objective(Measure(g.choice(list(Measure))), percentile))
        sign = 1 if study.objective.measure is Measure.LATENCY else -1
        regions = list(g.permutation(samples.regions))
        values = [sign * study.value_of(regions[:k]) for k in range(1, len(regions) + 1)]
        assert all(a >= b for a, b in zip(values, values[1:], strict=False)), seed


def test_every_figure_of_a_set_is_the_same_one():
    for seed in range(0, MATRICES, 5):
        g = np.random.default_rng(seed)
        samples = holed_samples(g)
        objective = Objective()
        study = Study(samples, objective)
        answer = study.recommend(min(2, len(samples.regions)))
        assert check(samples, answer, objective) == [], seed
        rows = brute_force.points(samples)
        places = [samples.regions.index(name) for name in answer.regions]
        penalty = brute_force.penalty_of(rows, objective)
        exact = float(brute_force.value(rows, places, objective, penalty))
        spread = latency_statistics.spread(serve(study, answer.regions))
        for figure in (answer.value, measure(samples, answer.regions, objective), spread.mean):
            assert figure == pytest.approx(exact, abs=max(2 * answer.rounding, 1e-9)), seed
        assert route(study, answer.regions).static >= answer.value - 1e-9
        assert spread.unanswered == pytest.approx(answer.unanswered_share, abs=1e-6)


def test_a_round_without_network_says_nothing_and_is_counted():
    # The second client is off in one round of two; both regions answer all else.
    values = np.array([[[20.0, 40.0], [100.0, NAN]], [[90.0, 90.0], [90.0, NAN]]])
    samples = Samples(("near", "far"), ("a", "b"), ("1", "2"), values)
    study = Study(samples)
    # Each client keeps its weight: (20 + 40) / 2 and 100.
    assert study.value_of(("near",)) == 65
    assert (study.costs.left_out, study.costs.gaps, samples.missing) == (1, 0, 2)
    answer = study.recommend(1)
    assert (answer.value, answer.unanswered, answer.unanswered_share) == (65, 0, 0)


def test_a_penalty_is_for_rounds_that_another_region_answered():
    values = np.array([[[20.0, NAN, NAN]], [[90.0, 90.0, NAN]]])
    study = Study(Samples(("holed", "steady"), ("a",), ("1", "2", "3"), values))
    assert study.value_of(("holed",)) == (20 + 90) / 2
    assert study.costs.left_out == 1
    losing = failures.losses(
        serve(study, ("holed", "steady")), dict.fromkeys(("holed", "steady"), Region()), {}
    )
    figures = {(loss.kind, loss.name): loss.value for loss in losing}
    assert figures[failures.NOTHING, ""] == 55
    assert figures["region", "steady"] == 55
    assert figures["region", "holed"] == 90
    # Before, the last round cost 90 in every set: it made the best pair look worse than it is.
    excluded = Study(study.samples, Objective(missing=Missing.EXCLUDE))
    assert excluded.value_of(("holed",)) == 20
    assert excluded.value_without(("holed", "steady"), "steady") == 55


def test_what_nobody_answered_is_no_figure():
    values = np.full((2, 1, 2), NAN)
    with pytest.raises(BadInput, match="no region answered"):
        Study(Samples(("a", "b"), ("c",), ("1", "2"), values))
