"""Doubt, routing, regret and margins: what chance, habit and each region are worth."""

import numpy as np
import pytest

from analysis.optimization import (
    Constraints,
    Draws,
    Facts,
    Measure,
    Missing,
    Objective,
    Samples,
    Study,
    doubt,
    margins,
    regret,
    route,
    static_study,
)
from analysis.optimization.uncertainty.bootstrap import interval


def samples_of_noise(noise, clients=60, rounds=12, seed=2):
    g = np.random.default_rng(seed)
    base = g.uniform(20, 200, (5, clients, 1))
    values = base * np.exp(g.normal(0, noise, (5, clients, rounds)))
    names = tuple("abcde")
    return Samples(names, tuple(map(str, range(clients))), tuple(map(str, range(rounds))), values)


def test_it_works():
    study = Study(samples_of_noise(0.1))
    answers = study.curve(range(1, 6))
    found = doubt(study, answers)
    assert [d.k for d in found] == [1, 2, 3, 4, 5]
    for d, answer in zip(found, answers, strict=True):
        assert d.low < answer.value < d.high
        assert d.complete
        assert sum(win.share for win in d.wins) == pytest.approx(1)
    assert found[0].beyond_noise is None
    assert all(d.beyond_noise for d in found[1:3])


def test_intervals_shrink_with_the_number_of_clients():
    few, many = Study(samples_of_noise(0.1, 20)), Study(samples_of_noise(0.1, 500))
    wide, narrow = (doubt(s, [s.recommend(2)])[0] for s in (few, many))
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    g = np.random.default_rng(0)
    held = 0
    for seed in range(100):
        values = g.exponential(50, (1, 80, 1)) + 10
        study = Study(Samples(("a",), tuple(map(str, range(80))), ("1",), values))
        d = doubt(study, [study.recommend(1)], draws=Draws(200, seed))[0]
        held += d.low <= 60 <= d.high
    assert 86 <= held <= 99


def test_two_equal_regions_win_by_turns_and_a_useless_third_is_noise():
    g = np.random.default_rng(1)
    near, far = g.uniform(20, 30, (2, 100, 1)), np.full((1, 100, 1), 400.0)
    samples = Samples(
        ("one", "other", "far"), tuple(map(str, range(100))), ("1",), np.concatenate((near, far))
    )
    study = Study(samples)
    found = doubt(study, study.curve((1, 2, 3)))
    shares = {win.regions: win.share for win in found[0].wins}
    assert set(shares) == {("one",), ("other",)}
    assert min(shares.values()) > 0.01
    assert found[1].beyond_noise
    assert not found[2].beyond_noise
    assert found[2].gain_high == 0


def test_percentiles_and_throughput_have_doubt_too():
    for objective in (Objective(percentile=90), Objective(Measure.THROUGHPUT)):
        study = Study(samples_of_noise(0.2), objective)
        answer = study.recommend(2)
        d = doubt(study, [answer])[0]
        assert d.low <= answer.value <= d.high


def test_what_survives_a_loss_has_an_interval_of_its_own():
    study, limits = Study(samples_of_noise(0.2)), Constraints(survive_loss=True)
    answer = study.recommend(2, limits)
    robust = doubt(study, [answer], limits)[0]
    assert robust.low < answer.value < robust.high
    # Without a loss the same set is better, in each draw.
    plain = interval(study, answer.regions)
    after = interval(study, answer.regions, survive_loss=True)
    assert (plain <= after).all()
    alone = np.maximum(*(interval(study, (name,)) for name in answer.regions))
    assert after == pytest.approx(alone)


def test_the_same_seed_gives_the_same_draws():
    study = Study(samples_of_noise(0.2))
    answers = study.curve((1, 2))
    assert doubt(study, answers) == doubt(study, answers)
    assert doubt(study, answers) != doubt(study, answers, draws=Draws(200, 7))


def test_constraints_hold_for_the_winners():
    samples = samples_of_noise(0.3)
    facts = {name: Facts("x" if name in "ab" else name) for name in samples.regions}
    limits = Constraints(per_provider=1, facts=facts)
    study = Study(samples)
    d = doubt(study, [study.recommend(2, limits)], limits)[0]
    assert all(set(win.regions) != {"a", "b"} for win in d.wins)


def test_static_routing_never_beats_per_round_routing():
    study = Study(samples_of_noise(0.5))
    answer = study.recommend(3)
    routing = route(study, answer.regions)
    assert routing.per_round == pytest.approx(answer.value)
    assert routing.static > routing.per_round
    still = Study(samples_of_noise(0.0))
    calm = route(still, answer.regions)
    assert calm.static == pytest.approx(calm.per_round, abs=1e-4)


def test_static_routing_by_hand():
    nan = np.nan
    values = np.array([[[10.0, 30.0]], [[18.0, 18.0]], [[5.0, nan]]])
    samples = Samples(("a", "b", "c"), ("x",), ("1", "2"), values)
    study = Study(samples, Objective(penalty=100))
    routing = route(study, ("a", "b"))
    assert (routing.static, routing.regions, routing.per_round) == (18.0, ("b",), 14.0)
    assert route(study, ("a", "c")).static == 20.0
    dropped = Study(samples, Objective(missing=Missing.EXCLUDE))
    assert route(dropped, ("a", "c")).static == 5.0
    best = static_study(study).recommend(1)
    assert (best.regions, best.value) == (("b",), 18.0)


def test_regret_of_a_deployment():
    samples = samples_of_noise(0.2)
    study = Study(samples)
    best = study.recommend(2)
    assert regret(study, best.regions, best).lost == 0
    others = tuple(r for r in samples.regions if r not in best.regions)[:2]
    found = regret(study, others, best)
    assert found.lost == pytest.approx(study.value_of(others) - best.value)
    assert found.lost > 0
    fast = Study(samples, Objective(Measure.THROUGHPUT))
    assert regret(fast, ("a",), fast.recommend(2)).lost > 0


def test_margins_are_differences_of_values():
    study = Study(samples_of_noise(0.2))
    best = study.recommend(2)
    found = margins(study, best.regions)
    assert [m.chosen for m in found] == [True, True, False, False, False]
    for m in found:
        assert m.worth >= 0
        if m.chosen:
            alone = tuple(r for r in best.regions if r != m.region)
            assert m.worth == pytest.approx(study.value_of(alone) - best.value)
        else:
            more = study.value_of((*best.regions, m.region))
            assert m.worth == pytest.approx(best.value - more)
