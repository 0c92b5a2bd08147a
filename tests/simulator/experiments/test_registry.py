"""Experiments: declarations, documents, refusals, and the published figures they reproduce."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from core.errors import BadInput
from simulator.experiments import registry
from simulator.experiments.declaration import (
    Conditions,
    Experiment,
    Parameter,
    Published,
    Result,
    Run,
    summarise,
    summarise_median,
)
from simulator.experiments.presto.percentiles import (
    PERCENTILES,
    resample_percentiles,
    summarise_pooled,
)
from simulator.experiments.presto.testbed import draw_short_flows
from simulator.experiments.registry import EXPERIMENTS, run_experiment

QUICK = {
    "presto": {"draws": 40},
    "topology": {"k": 48, "failure_rounds": 1},
    "congestion-control": {"seconds": 0.2, "seeds": 2},
    "edge-short-flows": {"seconds": 0.1, "seeds": 1},
    "receive-offload": {"packets": 5_000, "seeds": 2},
    "interference": {"seconds": 4, "accountings": 1000, "seeds": 1},
}
# Tails of these need more flows than a test has time for: ``benchmarks.simulator.published``.
LONG = {
    "switch-priority": {"seconds": 4, "seeds": 1},
    "fabric-priority": {"flows": 2_000, "seeds": 1},
    "three-traps": {"requests": 4_000, "seeds": 1},
    "presto-failures": {"seconds": 0.02, "warm_up": 0.02, "seeds": 1},
    "presto-latency": {"seconds": 0.01, "warm_up": 0.01, "seeds": 1},
    "presto-workloads": {"seconds": 0.01, "warm_up": 0.01, "seeds": 1},
    "presto-cross-traffic": {"seconds": 0.01, "warm_up": 0.01, "seeds": 1},
    "presto-traces": {"seconds": 0.05, "warm_up": 0.02, "seeds": 1},
}
LEAST = LONG | {
    "vm-scheduling": {"requests": 500},
    "host-queue": {"pings": 500},
    "presto": {"draws": 2},
    "congestion-control": {"seconds": 0.02, "seeds": 1},
    "edge-short-flows": {"seconds": 0.02, "moments": 1, "seeds": 1},
    "receive-offload": {"packets": 5_000, "seeds": 2},
    "interference": {"seconds": 4, "accountings": 1000, "seeds": 1},
}


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in LONG])
def test_published_figures_are_reproduced_within_their_tolerance(name):
    rows = run_experiment(name, QUICK.get(name, {}), 3).as_json()["results"]
    assert [row["name"] for row in rows if row["within"] is False] == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_same_seed_gives_the_same_figures(name):
    shares = []
    outcome = run_experiment(name, LEAST.get(name, {}), 5, shares.append)
    assert shares == sorted(shares)
    document = json.loads(json.dumps(outcome.as_json()))
    assert document["experiment"] == name
    assert document["seed"] == 5
    assert document["events"] > 0
    assert any(row["published"] is not None for row in document["results"])
    assert run_experiment(name, LEAST.get(name, {}), 5).run.results == outcome.run.results


def test_priorities_cut_the_tail_of_small_flows():
    at_switch = run_experiment("switch-priority", {"seconds": 10, "seeds": 1}, 2).as_json()
    figures = {row["name"]: row["value"] for row in at_switch["results"]}
    for load in (40, 60):
        assert figures[f"load_{load}_p99_ratio"] > 3
        means = [figures[f"load_{load}_large_{name}_mean"] for name in ("fifo", "priority")]
        assert means[1] == pytest.approx(means[0], rel=0.1)
    fabric = run_experiment("fabric-priority", {"flows": 4_000, "seeds": 1}, 2).as_json()
    figures = {row["name"]: row["value"] for row in fabric["results"]}
    assert figures["change_of_small_mean"] < -5


def test_flowcells_keep_short_flows_short_and_a_failed_cable_fills_queues():
    given = {"seconds": 0.03, "warm_up": 0.03, "seeds": 1}
    rows = run_experiment("presto-cross-traffic", given, 2).as_json()["results"]
    figures = {row["name"]: row["value"] for row in rows}
    assert figures["optimal_p99"] < figures["presto_p99"] < figures["ecmp_p99"] / 2
    assert figures["ecmp_goodput"] < 0.9 * figures["presto_goodput"]
    assert figures["presto_goodput"] == pytest.approx(figures["optimal_goodput"], rel=0.05)
    rows = run_experiment("presto-failures", given, 2).as_json()["results"]
    figures = {row["name"]: row["value"] for row in rows}
    assert figures["failover_mean_ratio"] > 1.5
    assert figures["weighted_mean_ratio"] > 1.5
    # The stages after the failure differ by less than elephants do within these 30 ms.
    for stage in ("failover", "weighted"):
        assert figures[f"{stage}_goodput"] < 0.9 * figures["symmetry_goodput"]


def test_percentiles_of_pooled_draws_have_the_interval_of_their_draws():
    random = np.random.default_rng(3)
    draws = [random.exponential(1 + 0.2 * i, 400) for i in range(10)]
    found = resample_percentiles(draws, 1)
    pooled = np.concatenate(draws)
    for name, q in PERCENTILES.items():
        row = summarise_pooled(name, found[name])
        assert row.value == np.percentile(pooled, q)
        assert row.interval[0] < row.value < row.interval[1]
    # The draws differ, so the interval is wider than that of 4,000 independent times.
    alone = [np.median(random.choice(pooled, len(pooled))) for _ in range(300)]
    low, high = summarise_pooled("p50", found["p50"]).interval
    assert high - low > 1.3 * np.subtract(*np.percentile(alone, (97.5, 2.5)))
    assert summarise_pooled("p50", resample_percentiles(draws[:1], 1)["p50"]).interval is None


def test_a_share_of_the_short_flows_begins_in_the_warm_up():
    given = {"seconds": 1.0, "warm_up": 0.5, "early_percent": 10.0, "short_ms": 5.0}
    c = Conditions(EXPERIMENTS["presto-latency"].check(given), 1)
    pairs = (np.arange(16), (np.arange(16) + 8) % 16)
    flows = draw_short_flows(c, pairs, 50_000, 1)
    early = flows.starts_s < 0.5
    assert (early.sum(), (~early).sum()) == (356, 3200)
    assert np.bincount(flows.sources[~early]).tolist() == [200] * 16


def test_every_parameter_has_a_range_that_holds_its_default():
    for experiment in EXPERIMENTS.values():
        for parameter in experiment.parameters:
            assert parameter.parse(parameter.default) == parameter.default
            assert parameter.as_json()["description"]


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("nothing", {}, "experiment"),
        ("vm-scheduling", {"slices": 3}, "slices"),
        ("vm-scheduling", {"slice_ms": "abc"}, "slice_ms"),
        ("vm-scheduling", {"slice_ms": "nan"}, "slice_ms"),
        ("vm-scheduling", {"slice_ms": 101}, "slice_ms"),
        ("vm-scheduling", {"requests": 100.5}, "requests"),
        ("vm-scheduling", {"requests": True}, "requests"),
        ("topology", {"kind": "torus"}, "kind"),
        ("topology", {"k": 7}, "k"),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name(name, given, field):
    with pytest.raises(BadInput) as refused:
        run_experiment(name, given)
    assert refused.value.field == field


def test_a_seed_out_of_range_is_refused():
    with pytest.raises(BadInput) as refused:
        run_experiment("topology", {}, seed=-1)
    assert refused.value.field == "seed"


def test_a_run_ends_where_its_report_raises():
    class Cancelled(Exception):
        pass

    def report(share):
        raise Cancelled

    with pytest.raises(Cancelled):
        run_experiment("host-queue", {"pings": 200}, 1, report)


@pytest.mark.parametrize("name", ["presto-latency", "presto-traces", "presto-failures"])
def test_a_run_ends_within_a_draw(name):
    class Cancelled(Exception):
        pass

    shares = []

    def report(share):
        shares.append(share)
        if len(shares) == 3:
            raise Cancelled

    # One draw has more than 10**7 events, and reports every 10**6 of them.
    with pytest.raises(Cancelled):
        run_experiment(name, {"seconds": 5, "seeds": 1}, 1, report)
    assert shares == sorted(shares)
    assert shares[-1] < 0.05


def test_an_experiment_is_one_declaration_and_one_row_of_the_registry(monkeypatch):
    def run(conditions):
        return Run((Result("twice", 2 * conditions.number("x"), published=Published(4, 0.5)),))

    added = Experiment(
        id="double",
        title="Doubling",
        question="What is twice x?",
        source="arithmetic",
        parameters=(Parameter("x", 2.0, "a number", low=0, high=10),),
        run=run,
        meaning="",
        leaves_out="",
        headline=lambda v: f"Twice is {v['twice']:g}",
    )
    monkeypatch.setitem(registry.EXPERIMENTS, added.id, added)
    outcome = run_experiment("double", {"x": "3"})
    assert outcome.headline == "Twice is 6"
    (row,) = outcome.as_json()["results"]
    assert (row["value"], row["tolerance"], row["within"]) == (6.0, [2.0, 6.0], True)


def test_a_result_outside_its_tolerance_says_so():
    assert Result("x", 2.0, published=Published(1.0, relative=0.5)).within is False
    assert Result("x", 2.0, published=Published(1.0, range=(0, 3))).within is True
    assert Result("x", 2.0).within is None


@pytest.mark.parametrize(
    ("value", "interval", "status"),
    [
        (1.4, None, "within"),
        (2.0, None, "outside"),
        (2.0, (1.6, 2.4), "outside"),
        (2.0, (1.4, 2.6), "the interval reaches the accepted range"),
        (0.1, (-0.4, 0.6), "the interval reaches the accepted range"),
    ],
)
def test_a_figure_outside_with_an_interval_that_reaches_the_range_is_neither(
    value, interval, status
):
    row = Result("x", value, interval=interval, published=Published(1.0, absolute=0.5))
    assert row.status == status
    assert row.as_json()["within"] is (status == "within")
    assert row.as_json()["note"] == (status if status.startswith("the") else "")


@given(st.integers(6, 60))
def test_intervals_of_medians_are_those_of_the_binomial_distribution(n):
    row = summarise_median("x", range(n))
    assert row.value == (n - 1) / 2
    cut = row.interval[0]
    assert row.interval == (cut, n - 1 - cut)
    # The median lies below the value of rank ``cut`` when so few of n values are below the median.
    assert binom.cdf(cut, n, 0.5) <= 0.025 < binom.cdf(cut + 1, n, 0.5)


def test_five_runs_have_no_interval_of_the_median():
    assert summarise_median("x", [3.0, 1.0, 2.0, 5.0, 4.0]).interval is None


def test_an_empty_outcome_is_an_error(monkeypatch):
    empty = Experiment("empty", "", "", "", (), lambda conditions: Run(()), "", "", str)
    monkeypatch.setitem(registry.EXPERIMENTS, "empty", empty)
    with pytest.raises(RuntimeError, match="gave no result"):
        run_experiment("empty", {})


def test_intervals_are_those_of_student():
    row = summarise("x", [1.0, 2.0, 3.0, 4.0, 5.0])
    # Half-width 2.776 · 1.5811 / √5.
    assert row.interval == pytest.approx((3 - 1.963, 3 + 1.963), abs=0.001)
