"""Neighbours made for real show as what they are, on a busy machine too; both samplers agree."""

import json
import os
import shutil
import sys
import time

import pytest

from benchmarks.screening import neighbours, physical
from benchmarks.screening.physical import run_agent
from screening.report.parsing import parse_report

pytestmark = [
    pytest.mark.timed,
    pytest.mark.usefixtures("physical_cpus"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux"),
]
CPU = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
SECONDS = 3


def need(kind):
    reason = neighbours.find_missing(kind)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("busy_ms", [10, 30])
@pytest.mark.parametrize("mode", [(), ("--python",)])
def test_bursts_are_counted_one_by_one(busy_ms, mode, monkeypatch):
    need("burst")
    monkeypatch.setattr(physical, "SHIELD", [True])  # ordinary work cannot preempt the sampler
    with neighbours.burst(CPU, busy_ms, 100):
        report = run_agent(CPU, SECONDS, *mode)
    (cpu,) = report["cpus"]
    assert report["verdict"] == "bad"
    long = [s for s in cpu["stalls"] if s[1] >= busy_ms * 1000]
    # What else runs here may add stalls, and steal may take a burst away.
    assert 8.5 * cpu["seconds"] <= len(long) <= 14 * cpu["seconds"]
    named = sum(
        cpu["causes"].get(cause, {"stalls": 0})["stalls"] for cause in ("run delay", "steal")
    )
    assert named >= 0.9 * cpu["stalls_10ms"]
    assert cpu["throttled_ms"] == 0


def test_an_exhausted_quota_is_named():
    need("quota")
    with neighbours.quota(CPU, 0.2) as group:
        report = run_agent(CPU, SECONDS, group=group)
    (cpu,) = report["cpus"]
    assert report["host"]["quota_cpus"] == pytest.approx(0.2)
    assert report["throttled_periods"] > 0
    assert cpu["throttled_ms"] > 0
    assert cpu["causes"]["quota"]["stalls"] >= SECONDS
    assert max(cpu["causes"], key=lambda name: cpu["causes"][name]["ms"]) == "quota"


def test_a_control_without_neighbour_has_no_quota():
    report = run_agent(CPU, 2)
    assert "quota" not in report["cpus"][0]["causes"]


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler is installed")
def test_native_and_python_samplers_report_the_same(agent):
    found = {}
    for mode, words in (("native", ()), ("python", ("--python",))):
        done = agent("--seconds", 1, "--json", *words)
        report = json.loads(done.stdout)
        parsed = parse_report(done.stdout.encode(), time.time())
        assert {cpu.mode for cpu in parsed.cpus} == {mode}
        assert [cpu.cpu for cpu in parsed.cpus] == sorted(os.sched_getaffinity(0))
        found[mode] = report
    native, python = found["native"], found["python"]
    assert native.keys() == python.keys()
    assert native["cpus"][0].keys() == python["cpus"][0].keys()
    for one, other in zip(native["cpus"], python["cpus"], strict=True):
        assert one["pinned"]
        assert other["pinned"]
        assert one["seconds"] == pytest.approx(1, abs=0.5)
        # A busy machine moves the median, but not by half.
        assert other["p50_us"] == pytest.approx(one["p50_us"], rel=0.5)
        assert one["p50_us"] >= 100
