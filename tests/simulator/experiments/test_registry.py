"""Experiments: declarations, documents, refusals, and the published figures they reproduce."""

import json

import pytest

from core.errors import BadInput
from simulator.experiments import registry
from simulator.experiments.declaration import (
    Experiment,
    Parameter,
    Published,
    Result,
    Run,
    summarise,
)
from simulator.experiments.registry import EXPERIMENTS, run_experiment

QUICK = {
    "presto": {"draws": 40},
    "topology": {"k": 48, "failure_rounds": 1},
    "congestion-control": {"seconds": 0.2, "seeds": 2},
    "switch-priority": {"seconds": 4, "seeds": 1},
    "fabric-priority": {"flows": 2_000, "seeds": 1},
    "three-traps": {"requests": 4_000, "seeds": 1},
    "edge-short-flows": {"seconds": 0.1, "seeds": 1},
    "presto-latency": {"seconds": 0.02, "warm_up": 0.02, "seeds": 1},
    "presto-workloads": {"seconds": 0.02, "warm_up": 0.01, "seeds": 1},
    "presto-failures": {"seconds": 0.05, "warm_up": 0.05, "seeds": 1},
    "presto-cross-traffic": {"seconds": 0.02, "warm_up": 0.02, "seeds": 1},
    "presto-traces": {"seconds": 0.05, "warm_up": 0.02, "seeds": 1},
    "receive-offload": {"packets": 5_000, "seeds": 2},
    "interference": {"seconds": 4, "accountings": 1000, "seeds": 1},
}
# Tails of these need more flows than a test has time for: ``benchmarks.simulator.published``.
LONG = {"switch-priority", "fabric-priority", "three-traps", "presto-latency"}
LONG |= {"presto-failures", "presto-cross-traffic", "presto-traces", "presto-workloads"}
LEAST = {"vm-scheduling": {"requests": 500}, "host-queue": {"pings": 500}, "presto": {"draws": 2}}
LEAST |= {"congestion-control": {"seconds": 0.02, "seeds": 1}}
LEAST |= {"edge-short-flows": {"seconds": 0.02, "moments": 1, "seeds": 1}}
LEAST |= {name: {**QUICK[name], "seeds": 1} for name in LONG}
LEAST |= {"presto-failures": {"seconds": 0.02, "warm_up": 0.02, "seeds": 1}}
LEAST |= {name: QUICK[name] for name in ("receive-offload", "interference")}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_published_figures_are_reproduced_within_their_tolerance(name):
    shares = []
    outcome = run_experiment(name, QUICK.get(name, {}), 3, shares.append)
    document = json.loads(json.dumps(outcome.as_json()))
    assert document["experiment"] == name
    assert document["seed"] == 3
    assert document["events"] > 0
    compared = [row for row in document["results"] if row["published"] is not None]
    assert compared
    if name not in LONG:
        assert [row["name"] for row in compared if not row["within"]] == []
    assert shares == sorted(shares)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_same_seed_gives_the_same_figures(name):
    runs = [run_experiment(name, LEAST.get(name, {}), 5).run.results for _ in range(2)]
    assert runs[0] == runs[1]


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
    given = {"seconds": 0.05, "warm_up": 0.05, "seeds": 1}
    rows = run_experiment("presto-cross-traffic", given, 2).as_json()["results"]
    figures = {row["name"]: row["value"] for row in rows}
    assert figures["optimal_p99"] < figures["presto_p99"] < figures["ecmp_p99"] / 2
    assert figures["ecmp_goodput"] < 0.9 * figures["presto_goodput"]
    assert figures["presto_goodput"] == pytest.approx(figures["optimal_goodput"], rel=0.05)
    rows = run_experiment("presto-failures", given, 2).as_json()["results"]
    figures = {row["name"]: row["value"] for row in rows}
    assert figures["failover_mean_ratio"] > 1.5
    assert figures["weighted_mean_ratio"] > 1.5
    assert figures["failover_goodput"] < figures["weighted_goodput"] < figures["symmetry_goodput"]


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


def test_an_empty_outcome_is_an_error(monkeypatch):
    empty = Experiment("empty", "", "", "", (), lambda conditions: Run(()), "", "", str)
    monkeypatch.setitem(registry.EXPERIMENTS, "empty", empty)
    with pytest.raises(RuntimeError, match="gave no result"):
        run_experiment("empty", {})


def test_intervals_are_those_of_student():
    row = summarise("x", [1.0, 2.0, 3.0, 4.0, 5.0])
    # Half-width 2.776 · 1.5811 / √5.
    assert row.interval == pytest.approx((3 - 1.963, 3 + 1.963), abs=0.001)
