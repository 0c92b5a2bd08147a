"""Machines of namespaces and control groups: a neighbour stalls its own host and no other."""

import json
import os
import sys

import pytest

from benchmarks.screening import machines, neighbours
from benchmarks.screening.machines import Load, Machines
from screening.report.parsing import parse_report
from testbed.namespaces import netns
from tests.screening.conftest import AGENT

pytestmark = [pytest.mark.timed, pytest.mark.root, pytest.mark.usefixtures("physical_cpus")]
LOADS = {"quiet": Load(), "crowded": Load(30, 300), "quota": Load(quota=True)}


def test_a_neighbour_stalls_its_machine_and_leaves_nothing():
    if reason := machines.find_missing():
        pytest.skip(reason)
    folder, _ = neighbours.find_cpu_folder()
    with Machines(LOADS) as lab:
        for machine in lab.machines.values():
            machine.disturb(machine.load != Load())
        words = ["--seconds", "3", "--sleep-us", "1000", "--python", "--json"]
        command = [sys.executable, "-I", str(AGENT), *words]
        children = {name: m.start(lab.prefix, command) for name, m in lab.machines.items()}
        reports = {name: json.loads(out) for name, out in machines.wait_all(children, 60).items()}
    stalls = {name: report["cpus"][0] for name, report in reports.items()}
    # One machine is the control of the others: what else runs here disturbs all of them.
    control = stalls["quiet"]["stalls_10ms"]
    assert stalls["crowded"]["stalls_10ms"] >= control + 5
    assert max(stalls["crowded"]["causes"].items(), key=lambda item: item[1]["ms"])[0] in (
        "run delay",
        "steal",
    )
    assert stalls["quota"]["causes"]["quota"]["stalls"] >= 10
    addresses = {tuple(report["host"]["addresses"]) for report in reports.values()}
    assert addresses == {(machine.address,) for machine in lab.machines.values()}
    for report in reports.values():
        parse_report(json.dumps(report).encode(), report["started_at"] + 60)
    assert not list(folder.glob(f"nephoscope-hosts-{os.getpid()}"))
    assert not netns.names_of(os.getpid())
