"""Nothing of a laboratory stays: not after an error, and not after its process was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from testbed.namespaces import netns
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.topology import Link, LinkShape, Node, Topology
from tests.testbed.namespaces.conftest import need_laboratory

PROJECT = Path(__file__).parents[3]


def small():
    """A vantage point, a router and an instance."""
    nodes = (Node("here", "vantage", 1), Node("gate", "router", 2), Node("there", "instance", 3))
    links = (Link("gate", "here", 1), Link("gate", "there", 3, LinkShape(2.0)))
    return Topology("small", "lab", 3, nodes, links, {1: 1, 3: 3})


def test_a_laboratory_ends_with_its_context():
    need_laboratory()
    with Laboratory(small()) as lab:
        names = lab.names
        assert set(names) <= {p.name for p in netns.RUN.iterdir()}
        assert all(str(os.getpid()) in name for name in names)
        assert netns.list_laboratories()[os.getpid()] >= 3
    assert not set(names) & {p.name for p in netns.RUN.iterdir()}


def test_an_error_inside_or_while_building_leaves_nothing():
    need_laboratory()
    before = set(netns.names_of(os.getpid()))
    with pytest.raises(ZeroDivisionError), Laboratory(small()) as lab:
        lab.run_inside("here", lambda: 1 // 0)
    plan = small()
    nodes = (*plan.nodes, Node("x" * 300, "router", 2))
    broken = Topology(plan.name, plan.provider, 3, nodes, plan.links, plan.blocks)
    with pytest.raises(OSError, match="too long"), Laboratory(broken):
        pass
    assert set(netns.names_of(os.getpid())) == before


BESIDE_IP = """
import subprocess
from testbed.namespaces import netns
from testbed.namespaces.laboratory import Laboratory
from tests.testbed.namespaces.test_removal import small
with Laboratory(small()):
    subprocess.run(["ip", "netns", "add", "of-another"], check=True)
print(*(p.name for p in netns.RUN.iterdir()))
"""


def test_removal_after_ip_creates_its_first_namespace():
    """In a mount namespace where nobody has used ``/run/netns`` yet."""
    need_laboratory()
    fresh = 'mount -t tmpfs none /run && exec "$0" -c "$1"'
    command = ["unshare", "--mount", "sh", "-c", fresh, sys.executable, BESIDE_IP]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr) == (["of-another"], "")


KILLED = """
import sys, time
from testbed.namespaces.laboratory import Laboratory
from tests.testbed.namespaces.test_removal import small
with Laboratory(small()) as lab:
    print(" ".join(lab.names), flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("whole_group", [False, True])
def test_killing_the_process_removes_its_laboratory(whole_group):
    need_laboratory()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=PROJECT,
        text=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    names = process.stdout.readline().split()
    assert len(names) == 3
    assert netns.is_alive(process.pid)
    if whole_group:
        os.killpg(process.pid, signal.SIGTERM)
    else:
        process.send_signal(signal.SIGKILL)
    process.wait()
    assert not netns.is_alive(process.pid)
    until = time.monotonic() + 10
    while any((netns.RUN / n).exists() for n in names) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any((netns.RUN / n).exists() for n in names)
    process.stdout.close()


def test_only_stale_namespaces_are_removed():
    need_laboratory()
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    left = f"neph{dead}.1-here"
    netns.add(left)
    with Laboratory(small()) as lab:
        assert left not in {p.name for p in netns.RUN.iterdir()}
        assert netns.remove_stale() == []
        assert set(lab.names) <= {p.name for p in netns.RUN.iterdir()}
