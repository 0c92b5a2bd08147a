"""Generated regions with known truth: zone inference meets its bounds on many of them."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.zones.scoring import permutations, scores
from benchmarks.zones.worlds import World, generate
from cartography.zones.inference import infer_zones
from tests.examples import examples

PAPER = World(targets=400)


def judged(world, seed):
    observations, truth = generate(world, seed)
    (result,) = infer_zones(observations)
    return permutations(result, truth), {s.method: s for s in scores(result, truth)}


def test_it_works():
    (right, wrong, left), found = judged(PAPER, 1)

    assert (right, wrong, left) == (15, 0, 0)
    assert found["combined"].coverage >= 0.87
    assert found["combined"].error <= 0.027


@settings(max_examples=examples(8), deadline=None)
@given(seed=st.integers(0, 2**31), zones=st.integers(2, 6))
def test_permutations_are_recovered_exactly(seed, zones):
    world = World(zones=zones, accounts=(60 * zones, 30 * zones, 15 * zones), targets=0)

    (right, wrong, left), _ = judged(world, seed)
    assert (wrong, left) == (0, 0)
    assert right == 3 * zones


@settings(max_examples=examples(8), deadline=None)
@given(
    seed=st.integers(0, 2**31),
    noise=st.sampled_from([0.0, 0.02, 0.05]),
    skew=st.sampled_from([(), (0.63, 0.25, 0.12), (0.8, 0.15, 0.05)]),
)
def test_the_papers_round_trips(seed, noise, skew):
    world = World(targets=300, wrong_labels=noise, skew=skew)

    (_, wrong, _), found = judged(world, seed)
    # An account's only instance in a small zone may have the wrong label.
    assert wrong <= (2 if noise else 0)
    assert found["combined"].coverage >= 0.87
    assert found["combined"].error <= 0.027


@settings(max_examples=examples(8), deadline=None)
@given(
    seed=st.integers(0, 2**31),
    zones=st.integers(2, 6),
    sampled=st.sampled_from([0.05, 0.3, 0.6]),
)
def test_a_modern_world_is_rarely_wrong(seed, zones, sampled):
    world = World(
        targets=300,
        zones=zones,
        own_ms=(0.05, 0.25),
        between_ms=(0.25, 3.4),
        sampled_prefixes=sampled,
        calibrations=60,
    )

    _, found = judged(world, seed)
    assert found["latency"].error <= 0.03
    assert found["combined"].error <= 0.03


@settings(max_examples=examples(6), deadline=None)
@given(seed=st.integers(0, 2**31))
def test_zones_without_a_probe_are_not_taken_for_others(seed):
    world = World(
        targets=300,
        zones=5,
        probed_zones=3,
        own_ms=(0.05, 0.25),
        between_ms=(0.25, 3.4),
        sampled_prefixes=0.2,
        calibrations=60,
    )

    _, found = judged(world, seed)
    assert found["latency"].error <= 0.03


@settings(max_examples=examples(6), deadline=None)
@given(seed=st.integers(0, 2**31), shared=st.sampled_from([0.1, 0.3, 0.6]))
@example(seed=245, shared=0.6)
@example(seed=200, shared=0.9)
def test_shared_prefixes_are_no_trap(seed, shared):
    """Labels of accounts are mapped by longer prefixes where zones share a /16."""
    (_, wrong, left), found = judged(World(targets=300, shared_prefixes=shared), seed)

    assert wrong == 0
    assert left <= 3
    assert found["proximity"].error <= 0.027


@pytest.mark.parametrize("seed", range(3))
def test_accounts_with_few_instances_stay_open_rather_than_wrong(seed):
    world = World(accounts=(80, 6, 5, 4, 3, 2, 1), sampled_prefixes=0.5, targets=0)

    (_, wrong, _), _ = judged(world, seed)
    assert wrong == 0


def test_no_result_without_evidence():
    observations, _ = generate(
        World(accounts=(1,), targets=50, unresponsive=1.0, sampled_prefixes=0.05), 1
    )

    (result,) = infer_zones(observations)
    reasons = {v.reason for v in result.verdicts if v.proximity.zone is None}
    assert reasons == {"no_sample + unresponsive"}


def self_calibrated(seed, zones):
    """(targets, answered, wrong) of a modern region that has one zone without a probe."""
    world = World(
        targets=800,
        zones=zones,
        probed_zones=zones - 1,
        own_ms=(0.05, 0.25),
        between_ms=(0.25, 3.4),
        unresponsive=0.0,
    )
    observations, truth = generate(world, seed)

    (result,) = infer_zones(replace(observations, samples=()))
    assert {v.latency.rule for v in result.verdicts} == {"self-calibrated"}
    said = {v.target: truth.labels["account-0", v.zone] for v in result.verdicts if v.zone}
    wrong = sum(zone != truth.zones[target] for target, zone in said.items())
    return len(result.verdicts), len(said), wrong


# One world in a hundred has a zone without a probe whose round trips equal those of a probed one;
# nothing tells the two apart there (docs/methods/zones.md), so regions are judged together.
@pytest.mark.parametrize("zones", [4, 5, 6])
def test_targets_calibrate_themselves_where_nothing_else_does(zones):
    regions = [self_calibrated(seed, zones) for seed in range(5)]
    targets, answered, wrong = (sum(column) for column in zip(*regions, strict=True))
    assert wrong <= 0.03 * targets
    assert answered >= 0.4 * targets


def test_a_zone_without_a_probe_that_looks_like_another_costs_what_is_stated():
    assert 24 < self_calibrated(423, 4)[2] < 80
