"""Neighbours made for real: bursts and a quota show as what they are, on a busy machine too."""

import os
import sys

import pytest

from benchmarks.screening import neighbours
from benchmarks.screening.physical import run_agent

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux")
CPU = max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
SECONDS = 3


def need(kind):
    reason = neighbours.find_missing(kind)
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("busy_ms", [10, 30])
@pytest.mark.parametrize("mode", [(), ("--python",)])
def test_bursts_are_counted_one_by_one(busy_ms, mode):
    need("burst")
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
