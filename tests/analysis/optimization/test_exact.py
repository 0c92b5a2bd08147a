"""Small random instances of every kind: the product's choice equals the weighing of every set."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.optimization import (
    Constraints,
    Effort,
    Facts,
    Measure,
    Missing,
    Objective,
    Presence,
    Samples,
    Study,
    check,
    warm_up,
)
from tests.analysis.optimization.brute_force import ranking

# Without the plain search, small instances go the way of large ones.
CLIMB = Effort(plain_cells=0)


@pytest.fixture(autouse=True, scope="module")
def compiled():
    """Compiling counts as time, of which a busy machine may take more than an answer may."""
    warm_up()


def some_samples(g, gaps=0.0):
    regions, clients, rounds = g.integers(3, 9), g.integers(1, 10), g.integers(1, 4)
    values = g.integers(1, 40, (regions, clients, rounds)).astype(float)
    if g.random() < 0.5:
        values = np.round(values * g.uniform(0.5, 2), 2)
    values[g.random(values.shape) < gaps] = np.nan
    if g.random() < 0.3:
        # Some clients hear nothing at all.
        values[:, : g.integers(0, clients)] = np.nan
    values[g.integers(regions), g.integers(clients), 0] = 7.5
    weights = g.integers(1, 9, clients).astype(float)
    if g.random() < 0.4:
        weights = np.round(weights * 0.37, 2)
    names = tuple(f"r{j}" for j in range(regions))
    return Samples(names, tuple("abcdefghij"[:clients]), tuple("xyz"[:rounds]), values, weights)


def some_facts(g, samples):
    return {
        name: Facts(
            provider=str(g.choice(["aws", "azure", "google"])),
            country=str(g.choice(["IE", "DE", "US", "JP"])),
            continent=str(g.choice(["EU", "NA", "AS"])),
            price=float(g.integers(0, 500)) / 100,
        )
        for name in samples.regions
    }


def some_constraints(g, samples, size):
    names = list(samples.regions)
    within = frozenset({str(g.choice(["EU", "AS", "US", "aws", names[0]]))})
    every = {
        "include": (0.25, frozenset({str(g.choice(names))})),
        "exclude": (0.25, frozenset({str(g.choice(names))})),
        "providers": (0.2, frozenset({"aws", "google"})),
        "per_provider": (0.35, int(g.integers(1, 3))),
        "countries": (0.15, frozenset({"IE", "US"})),
        "continents": (0.15, frozenset({"EU", "AS"})),
        "presence": (0.3, (Presence(within, int(g.integers(1, 3))),)),
        "price_ceiling": (0.35, float(g.integers(50, 300 * size)) / 100),
        "survive_loss": (0.2 if size > 1 else 0, True),
    }
    chosen = {kind: value for kind, (frequency, value) in every.items() if g.random() < frequency}
    return Constraints(facts=some_facts(g, samples), **chosen)


def some_objective(g, gaps, robust):
    missing = Missing.EXCLUDE if gaps and not robust and g.random() < 0.5 else Missing.PENALTY
    measure = Measure.THROUGHPUT if g.random() < 0.4 else Measure.LATENCY
    percentile = float(g.choice([50, 90, 95, 99])) if g.random() < 0.3 else None
    penalty = None
    if missing is Missing.PENALTY and g.random() < 0.3:
        penalty = 250.0 if measure is Measure.LATENCY else 0.0
    return Objective(measure, percentile, missing, penalty)


def some_question(seed):
    g = np.random.default_rng(seed)
    gaps = float(g.choice([0, 0.1, 0.4]))
    samples = some_samples(g, gaps)
    k = int(g.integers(1, min(5, len(samples.regions)) + 1))
    constraints = some_constraints(g, samples, k)
    objective = some_objective(g, gaps, constraints.survive_loss)
    if k > 1 and g.random() < 0.35 and plain_latency(objective):
        share = float(g.choice([0, 0.1, 0.3, 0.6]))
        limit_ms = float(g.integers(1, 45))
        constraints = replace(constraints, after_loss_ms=limit_ms, after_loss_share=share)
    return samples, k, objective, constraints


def plain_latency(objective):
    return (objective.measure, objective.percentile, objective.missing) == (
        Measure.LATENCY,
        None,
        Missing.PENALTY,
    )


def near(a, b):
    return float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-6)


def verify(seed, effort):
    samples, k, objective, constraints = some_question(seed)
    every = ranking(samples, k, objective, constraints)
    answer = Study(samples, objective).recommend(k, constraints, effort)
    if not every:
        assert answer.regions == (), seed
        assert answer.proven, seed
        assert answer.reason
        return False
    assert answer.proven, seed
    assert near(answer.value, every[0][0]), (seed, answer, every[:3])
    assert near(answer.bound, answer.value), seed
    own = tuple(samples.regions.index(name) for name in answer.regions)
    assert near(next(v for v, s in every if s == own), answer.value), seed
    for place in range(answer.runners_up_proven):
        if place < len(answer.runners_up):
            assert near(answer.runners_up[place].value, every[place + 1][0]), seed
    assert check(samples, answer, objective, constraints) == [], seed
    return True


@pytest.mark.parametrize("part", range(10))
def test_plain_search_equals_weighing_every_set(part):
    solved = [verify(seed, Effort()) for seed in range(part * 100, part * 100 + 100)]
    assert sum(solved) > 25


@pytest.mark.parametrize("part", range(10))
def test_climbing_and_dividing_equals_weighing_every_set(part):
    solved = [verify(seed, CLIMB) for seed in range(2000 + part * 100, 2100 + part * 100)]
    assert sum(solved) > 25


def test_a_start_from_smaller_problems_equals_weighing_every_set(monkeypatch):
    # Large problems start from their mean rounds, or from a sample of their clients.
    monkeypatch.setattr("analysis.optimization.solver.mean.MANY_POINTS", 1)
    monkeypatch.setattr("analysis.optimization.solver.warm_start.SAMPLE", 5)
    solved = [verify(seed, CLIMB) for seed in range(3000, 3150)]
    assert sum(solved) > 40


@pytest.fixture
def streamed(monkeypatch):
    """Small samples are not converted, and a few draws of them guide the search."""
    monkeypatch.setattr("analysis.optimization.model.costs.STREAMED_POINTS", 1)
    monkeypatch.setattr("analysis.optimization.model.costs.STREAMED_CLIENTS", 1)
    monkeypatch.setattr("analysis.optimization.solver.branch_and_bound.MANY_POINTS", 1)
    where = "analysis.optimization.solver.sampling.sampled_search"
    monkeypatch.setattr(f"{where}.DRAWS", 7)
    monkeypatch.setattr(f"{where}.RepeatedAscent.least_excluded", 1)


def test_samples_that_are_not_converted_equal_weighing_every_set(streamed):
    solved = [verify(seed, CLIMB) for seed in range(3400, 3550)]
    assert sum(solved) > 40


@pytest.mark.parametrize("measure", list(Measure))
def test_streamed_blocks_give_the_sums_of_all_points(monkeypatch, measure):
    from analysis.optimization.model.constraints import limit
    from analysis.optimization.model.costs import cost
    from analysis.optimization.solver.cost_kernels import gains, weigh
    from analysis.optimization.solver.sampling.streamed_problem import StreamedProblem

    values, weights, g = points_in_two_groups()
    values = values.reshape(9, 650, 2).astype(np.float32) / 100
    values[g.random(values.shape) < 0.1] = np.nan
    values[:, :40] = np.nan
    names, clients = tuple(f"r{j}" for j in range(9)), tuple(f"c{i}" for i in range(650))
    samples = Samples(names, clients, ("a", "b"), values, weights[:650] * 1.0)
    filled = cost(samples, Objective(measure=measure))
    monkeypatch.setattr("analysis.optimization.model.costs.STREAMED_POINTS", 1)
    costs = cost(samples, Objective(measure=measure))
    assert costs.is_streamed
    assert (costs.gaps, costs.lost, costs.penalty) == (filled.gaps, filled.lost, filled.penalty)
    heard = filled.weights > 0
    assert (costs.matrix[:][:, heard] == filled.matrix[:, heard]).all()
    assert (costs.matrix[[2, 0]] == costs.matrix[:][[2, 0]]).all()
    assert all((row == costs.matrix[j]).all() for j, row in enumerate(costs.matrix))
    problem = StreamedProblem(costs, limit(names, Constraints()), 3)
    rows, shift = np.arange(1, 9), problem.field.shift
    levels = g.integers(0, 1900 << shift, 1300).astype(np.int32)
    saved = gains(filled.matrix, filled.weights, levels.astype(np.int64), rows, shift)
    assert (problem.savings(levels, rows) == saved).all()
    least = filled.matrix[[1, 4, 6]].min(axis=0).astype(np.int64)
    assert problem.cost((6, 1, 4)) == weigh(filled.weights, least)


def test_repeated_steps_give_the_levels_of_an_ascent():
    from analysis.optimization.model.constraints import limit
    from analysis.optimization.model.units import Units
    from analysis.optimization.solver.certificate import ProofLog
    from analysis.optimization.solver.lagrangian_bound import Effort, Node
    from analysis.optimization.solver.large_ascent import LargeAscent
    from analysis.optimization.solver.problem import Problem, field_of
    from analysis.optimization.solver.sampling import recorded_steps as recorded
    from analysis.optimization.solver.search_kernels import Dual

    values, weights, _ = points_in_two_groups()
    names = tuple(f"r{j}" for j in range(9))
    # Costs beyond 16 bits are shortened in the steps.
    problem = Problem(field_of(values * 977, weights), limit(names, Constraints()), 3, 1)
    problem.offer((0, 1, 5))
    start = problem.nearest((0, 1, 5))[0] << problem.field.shift
    node = Node((0,), np.arange(1, 9), Dual(start, 0, np.zeros(9, np.int64)))
    ascent = LargeAscent(problem, node, ProofLog(), Effort(60, 2.0, float("inf"), 0.95))
    ascent.run()
    assert ascent.log.certified > 10
    box = recorded.BoxCosts(np.array([0]), np.arange(1, 9), problem.lows, problem.worst)
    shifts = (problem.field.shift, problem.rough.shift)
    steps, origin = recorded.steps_of(ascent.log), recorded.Origin(start, -1.0)
    levels = recorded.repeat_steps(
        problem.field.values, Units(1.0, 0, 0), origin, box, steps, shifts
    )
    assert levels == pytest.approx(node.dual.levels, rel=1e-4)
    assert np.mean(levels != start) > 0.5


def test_cuts_equal_weighing_every_set():
    from time import monotonic

    from analysis.optimization.model.constraints import limit
    from analysis.optimization.model.costs import cost
    from analysis.optimization.solver.benders import Cuts
    from analysis.optimization.solver.branch_and_bound import Tree
    from analysis.optimization.solver.problem import Problem, field_of

    solved = 0
    for seed in range(5000, 5200):
        samples, k, _, constraints = some_question(seed)
        if constraints.survive_loss or constraints.after_loss_ms:
            continue
        every = ranking(samples, k, Objective(), constraints)
        costs = cost(samples, Objective())
        field = field_of(costs.matrix, costs.weights)
        problem = Problem(field, limit(samples.regions, constraints), k, 1)
        outcome = Tree(problem, monotonic() + 60, Cuts(problem), plain_cells=0).run()
        assert outcome.proven
        assert problem.found == bool(every)
        if every:
            value = costs.mean_of(problem.cost(problem.best), costs.total_weight)
            assert near(value, every[0][0]), seed
            solved += 1
    assert solved > 80


def test_branching_on_losses_equals_weighing_every_set():
    # It is left for what no memory holds; here it answers what fits easily.
    from time import monotonic

    from analysis.optimization.failures.robust_search import RobustProblem, RobustTree
    from analysis.optimization.model.constraints import limit
    from analysis.optimization.model.costs import cost
    from analysis.optimization.solver.local_search import exchange_losses, start
    from analysis.optimization.solver.problem import field_of

    solved = 0
    for seed in range(6000, 6800):
        samples, k, _, constraints = some_question(seed)
        if not constraints.survive_loss or constraints.after_loss_ms or k < 2:
            continue
        every = ranking(samples, k, Objective(), constraints)
        costs = cost(samples, Objective())
        field = field_of(costs.matrix, costs.weights)
        whole = RobustProblem(field, limit(samples.regions, constraints), k, 1)
        if start(whole):
            exchange_losses(whole)
            losses = RobustTree(whole, monotonic() + 60)
            losses.run()
            bound, proven = losses.conclude()
            assert proven
            assert near(costs.mean_of(bound, costs.total_weight), every[0][0]), seed
            assert near(costs.mean_of(whole.cost(whole.best), costs.total_weight), every[0][0])
            solved += 1
    assert solved > 40


def test_sets_of_five_and_six_after_a_loss_equal_weighing_every_set():
    # From five regions on, remainders are bounded by the costs of smaller subsets.
    for seed in range(7000, 7040):
        g = np.random.default_rng(seed)
        shape = int(g.integers(7, 10)), int(g.integers(3, 9)), 1
        values = g.integers(1, 2000, shape) / float(g.choice([1, 10]))
        if seed == 7001:
            # No set can be better than one that costs nothing.
            values[:] = 0
        names = tuple(f"r{j}" for j in range(shape[0]))
        weights = g.integers(1, 2000, shape[1]).astype(float)
        samples = Samples(names, tuple("abcdefghij"[: shape[1]]), ("x",), values, weights)
        k = int(g.integers(5, 7))
        asked = replace(some_constraints(g, samples, k), survive_loss=True, countries=frozenset())
        objective = Objective(percentile=90.0 if seed % 5 == 0 else None)
        every = ranking(samples, k, objective, asked)
        answer = Study(samples, objective).recommend(k, asked, Effort(runners_up=2))
        assert (answer.value is None) == (not every), seed
        if every:
            assert answer.proven, seed
            assert near(answer.value, every[0][0]), seed
            assert check(samples, answer, objective, asked) == [], seed


def test_the_steps_of_large_problems_equal_weighing_every_set(monkeypatch):
    # Rearranged points, approximate steps and groups of regions, on problems that are small.
    where = "analysis.optimization.solver"
    monkeypatch.setattr(f"{where}.mean.MANY_POINTS", 1)
    monkeypatch.setattr(f"{where}.branch_and_bound.MANY_POINTS", 1)
    monkeypatch.setattr(f"{where}.branch_and_bound.LARGE_SEARCH_FACTOR", 0)
    monkeypatch.setattr(f"{where}.warm_start.SAMPLE", 5)
    # Most steps compute the savings of as many regions as are left to choose, and one more.
    monkeypatch.setattr(f"{where}.large_ascent.PRICED_PER_CHOICE", 1)
    monkeypatch.setattr(f"{where}.large_ascent.PRICED_MORE", 1)
    solved = [verify(seed, CLIMB) for seed in range(3200, 3350)]
    assert sum(solved) > 40


def points_in_two_groups():
    """Give costs, weights and a generator; two far groups of clients let blocks be skipped."""
    g = np.random.default_rng(5)
    here = np.arange(1300) < 700
    values = g.integers(1, 900, (9, 1300)).astype(np.int32)
    values[:4, here] += 1000
    values[4:, ~here] += 1000
    return values, g.integers(1, 50, 1300), g


def test_blocks_of_points_give_the_sums_of_all_points():
    from analysis.optimization.solver import block_kernels as blocks
    from analysis.optimization.solver.cost_kernels import gains

    values, weights, g = points_in_two_groups()
    rows, levels = np.arange(1, 9), g.integers(0, 900 << 3, 1300)
    lows = blocks.block_lows(values)
    saved = gains(values, weights, levels, rows, 3)
    assert (blocks.exact_gains(values, weights, levels, rows, 3, lows) == saved).all()
    singles = (weights.astype(np.float32), (levels / 8).astype(np.float32))
    rough = blocks.rough_gains(values, *singles, rows, (np.arange(lows.shape[1]), lows))
    assert rough * 8 == pytest.approx(saved, rel=1e-5)
    box = (np.array([0]), np.array([1, 2]))
    few, weight, _ = blocks.settle(values, weights, levels, box, 3)
    assert few.shape[1] < 1301
    for pair in ([0, 1], [0, 2]):
        cost = (values[pair].min(axis=0) * weights).sum()
        assert (few[pair].min(axis=0) * weight).sum() == cost


# Costs beyond 16 bits are shortened in approximate steps.
@pytest.mark.parametrize("factor", [1, 977])
def test_rearranged_blocks_equal_weighing_every_set(monkeypatch, factor):
    from itertools import combinations

    where = "analysis.optimization.solver"
    monkeypatch.setattr(f"{where}.mean.MANY_POINTS", 1)
    monkeypatch.setattr(f"{where}.branch_and_bound.MANY_POINTS", 1)
    values, weights, g = points_in_two_groups()
    mixed = g.permutation(1300)
    values, weights = values[:, mixed] * factor, weights[mixed]
    names, clients = tuple(f"r{j}" for j in range(9)), tuple(f"c{i}" for i in range(1300))
    samples = Samples(names, clients, ("x",), values[:, :, None].astype(float), weights * 1.0)
    best = min((values[list(s)].min(axis=0) * weights).sum() for s in combinations(range(9), 3))
    answer = Study(samples).recommend(3, None, CLIMB)
    assert answer.proven
    assert near(answer.value, best / weights.sum())
    assert check(samples, answer) == []
