"""``zones infer`` from files to verdicts, as a process of its own."""

import csv
import json
from pathlib import Path

import pytest

from benchmarks.zones.worlds import World, generate
from tests import forks
from tests.stores import copy_store

ROOT = Path(__file__).resolve().parents[2]
HEADS = {
    "samples": ("region", "account", "zone", "address"),
    "targets": ("region", "target", "internal"),
    "rtts": ("region", "target", "account", "zone", "rtt_ms"),
}


def infer(folder, *arguments):
    return forks.manage(copy_store(folder), "zones", "infer", *arguments)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("zones")
    observations, truth = generate(World(targets=200, calibrations=30), 3)
    rows = (observations.samples, observations.targets, observations.round_trips)
    for (kind, head), lines in zip(HEADS.items(), rows, strict=True):
        with (folder / f"{kind}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([head, *lines])
    options = [x for kind in HEADS for x in (f"--{kind}", folder / f"{kind}.csv")]
    return folder, options, truth


def test_it_works(world):
    folder, options, truth = world

    done = infer(folder, *options, "--json", "--output", folder / "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = {
        zone: truth.labels[a["account"], label]
        for a in found["accounts"]
        for label, zone in a["zones"].items()
    }
    placed = [t for t in found["targets"] if t["zone"]]
    assert [names[t["zone"]] for t in placed] == [truth.zones[t["target"]] for t in placed]
    assert found["total"]["coverage"] == round(len(placed) / 200, 6) >= 0.87
    assert [a["basis"] for a in found["accounts"]] == ["reference"] + ["addresses"] * 4
    lines = (folder / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == found["targets"]


def test_bad_input_is_one_line_with_its_place(world):
    folder, options, _ = world
    (folder / "bad.csv").write_text("region,target,internal\nus-east-1,203.0.113.1,10.1.2\n")

    done = infer(folder, *options, "--targets", folder / "bad.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 2: '10.1.2' is not an internal" in done.stderr
