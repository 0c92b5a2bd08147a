"""``regions recommend`` from files to figures; where a process of its own matters, as one."""

import csv
import io
import json
import math
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from webapp.console.management.commands.regions import Command

ROOT = Path(__file__).resolve().parents[2]
REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "westeurope", "ap-northeast-1")
PLACES = ((39, -77), (46, -120), (53, -6), (52, 5), (35.7, 139.7))
CLIENTS, ROUNDS = 30, 6


def run(folder, *arguments, action="recommend"):
    """The command within this process, as its output and exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            Command(stdout=out, stderr=err, no_color=True).run_from_argv(
                ["manage.py", "regions", action, *map(str, arguments)]
            )
        except SystemExit as end:
            code = end.code or 0
    return SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


def run_apart(folder, *arguments, stdin=None):
    """The command as a person starts it."""
    env = {
        k: v for k, v in os.environ.items() if not k.startswith(("NEPHOSCOPE", "DJANGO", "DATAB"))
    }
    command = [
        sys.executable,
        str(ROOT / "manage.py"),
        "regions",
        "recommend",
        *map(str, arguments),
    ]
    env["NEPHOSCOPE_DATA"] = str(folder)
    return subprocess.run(command, env=env, text=True, capture_output=True, input=stdin)


def write(path, head, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Samples by distance, with noise and gaps, and all tables beside them."""
    folder = tmp_path_factory.mktemp("regions")
    g = np.random.default_rng(5)
    at = np.column_stack([g.uniform(-40, 60, CLIENTS), g.uniform(-180, 180, CLIENTS)]).round(2)
    a, b = np.radians(np.array(PLACES, float))[:, None], np.radians(at)[None]
    half = np.sin((a - b)[..., 0] / 2) ** 2
    half = half + np.cos(a[..., 0]) * np.cos(b[..., 0]) * np.sin((a - b)[..., 1] / 2) ** 2
    base = 10 + 1.6 * 2 * 2 * 6371 * np.arcsin(np.sqrt(half)) / 204.2
    values = np.round(base[:, :, None] * g.lognormal(0, 0.1, (len(REGIONS), CLIENTS, ROUNDS)), 2)
    values[g.random(values.shape) < 0.02] = np.nan
    cells = [
        (t, f"c{i}", name, "" if np.isnan(values[j, i, t]) else values[j, i, t])
        for t in range(ROUNDS)
        for i in range(CLIENTS)
        for j, name in enumerate(REGIONS)
    ]
    samples = write(folder / "samples.csv", ("round", "client", "region", "value"), cells)
    weights = g.integers(1, 9, CLIENTS)
    write(
        folder / "weights.csv", ("client", "weight"), [(f"c{i}", w) for i, w in enumerate(weights)]
    )
    write(
        folder / "clients.csv",
        ("client", "country", "latitude", "longitude"),
        [(f"c{i}", ("US", "DE", "")[i % 3], *at[i]) for i in range(CLIENTS)],
    )
    write(
        folder / "prices.csv",
        ("region", "to", "price"),
        [(n, to, 10 if not to else 0.1) for n in REGIONS for to in ("", "internet")],
    )
    write(
        folder / "isps.csv", ("region", "isp", "share"), [(n, "AS64500", 0.25) for n in REGIONS[:3]]
    )
    write(
        folder / "populations.csv",
        ("population", "latitude", "longitude", "weight"),
        [("tokyo", 35.7, 139.7, 2), ("oslo", 59.9, 10.7, 1)],
    )
    write(
        folder / "speeds.csv",
        ("round", "client", "region", "value"),
        [("x", f"c{i}", n, 5 + j) for i in range(20) for j, n in enumerate(REGIONS)],
    )
    return folder, samples, values, weights


def brute(values, weights, k, allowed):
    """The best mean by listing all sets; silence costs the worst value measured."""
    filled = np.where(np.isnan(values), np.nanmax(values), values)
    means = {
        s: np.average(filled[list(s)].min(axis=0).mean(axis=1), weights=weights)
        for s in combinations(allowed, k)
    }
    return min(means.items(), key=lambda item: item[1])


def test_every_size_is_the_best_of_all_sets(world):
    folder, samples, values, weights = world

    done = run_apart(folder, samples, "--k", "1..4", "--weights", folder / "weights.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["n_clients"], found["n_rounds"]) == (CLIENTS, ROUNDS)
    assert found["missing"] == np.isnan(values).sum()
    for row in found["results"]:
        members, value = brute(values, weights, row["k"], range(len(REGIONS)))
        assert row["regions"] == [REGIONS[j] for j in members]
        assert row["value"] == pytest.approx(value)
        assert row["bound"] == pytest.approx(row["value"])
        assert row["proven"]
        assert row["gap"] == 0
        assert row["runner_up"]["value"] >= row["value"]
        low, high = row["interval"]
        assert low < row["value"] < high
        assert row["static"] >= row["value"] - 1e-9
    assert [r["gain"] is None for r in found["results"]] == [True, False, False, False]


def test_constraints_by_what_is_known_of_regions(world):
    folder, samples, values, weights = world

    done = run(
        folder,
        samples,
        "--k",
        2,
        "--weights",
        folder / "weights.csv",
        "--exclude",
        "us-west-2",
        "--per-provider",
        1,
        "--json",
    )
    row = json.loads(done.stdout)["results"][0]
    pairs = [(0, 3), (2, 3), (3, 4)]
    best = min(brute(values, weights, 2, pair)[1] for pair in pairs)
    assert row["value"] == pytest.approx(best)
    assert "westeurope" in row["regions"]


def test_clients_stay_near_after_any_loss(world):
    folder, samples, values, weights = world
    limit, allowed = 120, 0.3
    far = np.isnan(values) | (values > limit)

    def worst(chosen):
        rests = [[j for j in chosen if j != lost] for lost in chosen]
        return max(np.average(far[r].all(axis=0).mean(axis=1), weights=weights) for r in rests)

    done = run(
        folder,
        samples,
        "--k",
        "2..4",
        "--weights",
        folder / "weights.csv",
        "--json",
        "--after-loss-ms",
        limit,
        "--after-loss-share",
        allowed,
        "--draws",
        0,
    )
    assert done.returncode == 0, done.stderr
    bound = 0
    for row in json.loads(done.stdout)["results"]:
        sets = [s for s in combinations(range(len(REGIONS)), row["k"]) if worst(s) <= allowed]
        bound += len(sets) < math.comb(len(REGIONS), row["k"])
        if not sets:
            assert row["regions"] == []
            assert row["proven"]
            continue
        best = min(brute(values, weights, row["k"], s)[1] for s in sets)
        assert row["value"] == pytest.approx(best)
        assert row["proven"]
        told = row["after_loss"]
        chosen = tuple(REGIONS.index(name) for name in row["regions"])
        assert told["worst_share"] == pytest.approx(worst(chosen))
        assert told["kept"]
        assert set(told["share_above"]) == set(row["regions"])
    assert bound, "the limit excludes no set"


def test_what_no_set_can_keep_to_is_said(world):
    folder, samples, *_ = world
    done = run(folder, samples, "--k", "1..2", "--provider", "azure", "--json")
    assert done.returncode == 0, done.stderr
    first, second = json.loads(done.stdout)["results"]
    assert first["regions"] == ["westeurope"]
    assert (second["regions"], second["value"]) == ([], None)
    assert "no set of this size" in second["reason"]


def test_consequences_of_the_deployment_and_of_each_set(world):
    folder, samples, *_ = world
    files = ("clients", "prices", "isps", "populations")
    given = [x for name in files for x in (f"--{name}", folder / f"{name}.csv")]

    done = run(
        folder,
        samples,
        "--k",
        "2..3",
        "--current",
        "us-east-1",
        "--beside",
        folder / "speeds.csv",
        "--traffic-gb",
        100,
        *given,
        "--json",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    current, two, three = found["consequences"]["sets"]
    assert [s["set"] for s in (current, two, three)] == ["current", 2, 3]
    assert found["current"]["value"] - found["results"][0]["value"] == pytest.approx(
        found["current"]["saved"]["2"]
    )
    low, high = found["current"]["regret_interval"]
    assert low <= found["current"]["regret"] <= high
    assert {row["country"] for row in two["countries"]} == {"US", "DE", None}
    was = {row["country"]: row for row in current["countries"]}
    for row in two["countries"]:
        before = was[row["country"]]
        assert row["before"] == {key: before[key] for key in ("mean", "p50", "p95", "p99")}
    assert {loss["kind"] for loss in two["failures"]} >= {"region", "provider"}
    assert two["cost"]["total"] == pytest.approx(2 * 10 + 100 * 0.1)
    assert three["cost"]["total"] == pytest.approx(3 * 10 + 100 * 0.1)
    assert two["availability"]["served"] > current["availability"]["served"]
    assert two["distance"]["mean_km"] < current["distance"]["mean_km"]
    assert two["beside"]["measure"] == "throughput"
    assert two["beside"]["unanswered_share"] > 0
    model = found["consequences"]["inputs"]["model"]
    assert model["stretch"] == pytest.approx(1.6, rel=0.1)
    assert two["modelled"]["basis"] == "modelled"
    assert two["modelled"]["populations"] == 2
    assert two["all"]["basis"] == "measured"
    assert two["all"]["clients"] == CLIENTS


def test_samples_come_by_a_pipe_and_people_get_lines(world):
    folder, samples, *_ = world
    done = run_apart(folder, "-", "--k", 2, stdin=samples.read_text())
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.startswith("2\t")
    assert "proven" in line
    assert "30 clients, 6 rounds, 5 regions" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--missing", "exclude", "--current", "z"),
        ("--objective", "throughput", "--current", "z"),
        ("--percentile", 99, "--current", "z"),
        ("--survive-loss", "--current", "z"),
        ("--k", 1, "--include", "z", "--missing", "exclude"),
    ],
)
def test_silent_regions_and_clients_are_no_trouble(tmp_path, arguments):
    values = {("a", "x"): 10, ("b", "y"): 20}
    cells = [(1, c, r, values.get((c, r), "")) for r in "xyz" for c in "abc"]
    samples = write(tmp_path / "samples.csv", ("round", "client", "region", "value"), cells)
    done = run(tmp_path, samples, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert found["missing"] == 7
    assert found["current"] is None or found["current"]["regions"] == ["z"]


def test_other_forms_of_samples(tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("0 5 9\n5 0 7\n0 7 0\n")
    done = run(tmp_path, table, "--format", "square", "--k", 1, "--json")
    found = json.loads(done.stdout)
    # Node 1 is 5 and 7 from the others; node 2 never reached node 0, which costs the worst, 9.
    assert (found["results"][0]["regions"], found["results"][0]["value"]) == (["1"], 4)
    assert found["missing"] == 1

    pings = write(
        tmp_path / "pings.csv",
        ("source", "destination", "rtt_avg_ms"),
        [("Oslo", "Dublin", 30), ("Oslo", "Tokyo", 250), ("Rome", "Dublin", 40)],
    )
    regions = write(tmp_path / "regions.csv", ("region", "country"), [("Dublin", "IE")])
    done = run(tmp_path, pings, "--format", "city-pairs", "--regions", regions, "--json")
    assert json.loads(done.stdout)["results"][0]["value"] == 35
    assert run(tmp_path, pings, "--format", "city-pairs").returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--k", "6"), "k: 6 is not from 1 to 5"),
        (("--k", "2..1"), "k: 2..1"),
        (("--include", "mars"), "include: no samples of the region 'mars'"),
        (("--percentile", "101"), "percentile: "),
        (("--percentile", "95", "--after-loss-ms", "200", "--k", "2"), "is for the mean"),
        (("--weights", "nowhere.csv"), "cannot read nowhere.csv"),
        (("--price-ceiling", "5"), "price"),
        (("--min-isps", "2"), "the number of ISPs of 5 regions is unknown"),
        (("--penalty", "1"), "penalty"),
    ],
)
def test_bad_input_is_one_line(world, arguments, message):
    folder, samples, *_ = world
    done = (run_apart if "--include" in arguments else run)(folder, samples, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_domains_are_listed_by_what_they_lose(world):
    folder, samples, values, *_ = world
    table = write(
        folder / "domains.csv",
        ["domain", "region", "weight"],
        [
            ("far.example", REGIONS[4], 3),
            ("both.example", REGIONS[0], 1),
            ("both.example", REGIONS[1], 1),
            ("else.example", "nowhere", 1),
        ],
    )
    done = run(folder, samples, "--k", 1, "--domains", table, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["domains"]
    assert (found["n"], found["compared"], found["without_samples"]) == (3, 2, 1)
    assert found["proven"]
    assert {row["domain"] for row in found["rows"]} == {"far.example", "both.example"}
    for row in found["rows"]:
        assert row["regret"] == pytest.approx(row["value"] - row["best_value"])
        assert len(row["best"]) == len(row["regions"])
    lines = run(folder, samples, "--k", 1, "--domains", table).stderr
    assert "2 of 3 domains" in lines
    assert "far.example: " in lines
    clients = write(
        folder / "group-clients.csv",
        ["group", "client", "weight"],
        [("far.example", f"c{i}", i) for i in range(CLIENTS)],
    )
    asked = (samples, "--k", "1..4", "--draws", 0, "--domains", table, "--group-clients", clients)
    joint = json.loads(run(folder, *asked, "--joint-budget", 7, "--json").stdout)["joint"]
    assert (joint["n"], joint["proven"], joint["uniform"]["k"]) == (3, True, 2)
    assert joint["value"] <= joint["uniform"]["value"]
    assert sum(row["k"] for row in joint["rows"]) == joint["spent"] <= 7
    money = json.loads(run(folder, *asked, "--joint-cost", 400, "--json").stdout)["joint"]
    assert money["is_money"]
    # Three instances of AWS or Azure at some seventy to ninety dollars a month each, or four.
    assert 210 < money["spent"] <= 400
    assert (
        "divided among 3 groups of 3 domains, optimal"
        in run(folder, *asked, "--joint-budget", 7).stderr
    )


def test_the_front_of_costs_names_its_prices(world):
    folder, samples, *_ = world
    own = folder / "prices.toml"
    own.write_text(
        'as_of = 2026-05-01\n[aws]\nsource = "contract"\n[aws.regions]\n'
        "us-east-1 = { compute = 0.01, internet = 0.02, between = 0 }\n"
    )
    asked = (samples, "--k", "1..3", "--draws", 0, "--front", "--price-list", own)
    done = run(folder, *asked, "--traffic-gb", 100, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    rows, prices = found["front"]["rows"], found["prices"]
    # Every set of three or fewer of five regions has a price.
    assert found["front"]["evaluated"] == 5 + 10 + 10
    # One instance for 730 hours, and 100 GB to clients.
    assert (rows[0]["regions"], rows[0]["cost"]) == (["us-east-1"], pytest.approx(7.3 + 2))
    best = min(row["value"] for row in found["results"])
    assert min(row["value"] for row in rows) == pytest.approx(best)
    bill = next(part for part in found["consequences"]["sets"] if part["set"] == 1)["cost"]
    assert bill["total"] is not None
    assert {(one["provider"], one["as_of"]) for one in prices["sources"]} == {
        ("aws", "2026-05-01"),
        ("aws", "2024-06-01"),
        ("azure", "2024-06-01"),
    }
    assert prices["approximate"] == ["westeurope"]
    lines = run(folder, *asked, "--budget", 50).stderr
    assert "prices of aws: contract, as of 2026-05-01" in lines
    refused = run(folder, samples, "--budget", 5)
    assert (refused.returncode, "ask for front too" in refused.stderr) == (2, True)
    lacking = run(folder, samples, "--k", 1, "--min-zones", 2)
    assert "number of zones" in lacking.stderr


def test_a_model_of_measured_pairs_replaces_the_stated_one(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    stated = run(tmp_path, action="model")
    assert stated.stdout.startswith("stated model of distance: 21 ms + 1.8")
    rng = np.random.default_rng(5)
    names = [f"p{i}" for i in range(20)]
    points = rng.uniform(-50, 50, (20, 2))
    places = write(
        tmp_path / "places.csv", ["city", "lat", "long"], zip(names, *points.T, strict=True)
    )
    rows = [(a, b, 190 + i + j) for i, a in enumerate(names) for j, b in enumerate(names)]
    pairs = write(
        tmp_path / "pairs.csv", ["source", "destination", "rtt_ms"], [*rows, ("x", "p1", 9)]
    )
    done = run(tmp_path, pairs, "--places", places, "--json", action="model")
    assert (done.returncode, done.stderr) == (0, "")
    fitted = json.loads(done.stdout)
    assert fitted["inputs"][0] | {"name": ""} == {
        "kind": "file",
        "name": "",
        "sources": 20,
        "pairs": 380,
        "unknown": ["x"],
    }
    # Each place is left out of the fit as both ends; every pair is measured in both directions.
    assert fitted["held_out_pairs"]["pairs"] == 190
    assert fitted["held_out"]["pairs"] <= 380
    assert fitted["impossible"] == 0
    assert json.loads(run(tmp_path, "--json", action="model").stdout) == fitted
    lines = run(tmp_path, action="model").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines][-1] == "pairs, stated model"
    # A damaged file is named, and a new fit replaces it.
    (tmp_path / "latency-model.npz").write_bytes(b"PK")
    assert "latency-model.npz is damaged" in run(tmp_path, action="model").stderr
    assert run(tmp_path, pairs, "--places", places, action="model").returncode == 0
    lost = run(tmp_path, pairs, action="model")
    assert (lost.returncode, "no place is known" in lost.stderr) == (2, True)
