"""The self-check finds what the kernel permits: with and without privileges, routes and MTU."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.vantage.self_check import check_machine, describe

ROOT = Path(__file__).resolve().parents[3]
CODE = """
import json, sys
from tasks.vantage.self_check import check_machine
assert not any(name.split(".")[0] in ("django", "numpy") for name in sys.modules)
print(json.dumps(check_machine(sys.argv[1]).as_json()))
"""
is_root = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"),
    reason="network namespaces need root, unshare and ip",
)


def check(host, *before, **more):
    """The self-check in another process, after a command that changes its surroundings."""
    command = [*before, sys.executable, "-c", CODE, host]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, **more
    )
    return json.loads(done.stdout)


def in_namespace(*setup):
    """A command that runs the rest in a network namespace of its own."""
    script = "; ".join(["set -e", *setup, 'exec "$@"'])
    return ("unshare", "--net", "sh", "-c", script, "sh")


def test_it_works():
    found = check_machine("127.0.0.1")
    assert found.mtu is not None
    assert found.mtu >= 1280
    lines = {line.title: line for line in describe(found.as_json())}
    assert lines["ICMP echo"].is_ok == bool(found.icmp)
    assert lines["MTU towards the site"].value == f"{found.mtu} octets"
    unknown = check_machine("no-such-host.invalid")
    assert unknown.mtu is None


@is_root
def test_a_machine_without_routes_reaches_no_family():
    found = check("192.0.2.9", *in_namespace())
    assert (found["ipv4"], found["ipv6"], found["mtu"]) == (False, False, None)
    assert (bool(found["icmp"]), found["raw"]) == (True, True)


@is_root
def test_routes_mtu_and_ping_sockets_of_a_namespace_are_found():
    link = (
        "ip link set lo up",
        "ip link add veth0 type veth peer name veth1",
        "ip link set veth0 mtu 1400 up",
        "ip link set veth1 up",
        "ip address add 198.51.100.2/24 dev veth0",
        "ip route add default via 198.51.100.1",
        "echo 0 2147483647 > /proc/sys/net/ipv4/ping_group_range",
    )
    found = check("198.51.100.1", *in_namespace(*link))
    assert (found["ipv4"], found["ipv6"], found["mtu"]) == (True, False, 1400)
    assert found["icmp"] == "ping socket"


@is_root
def test_without_privileges_the_advice_names_what_is_missing():
    script = "echo 1 0 > /proc/sys/net/ipv4/ping_group_range"
    dropped = (*in_namespace(script), "setpriv", "--bounding-set=-all", "--inh-caps=-all")
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    found = check("127.0.0.1", *dropped, "--reuid=65534", "--clear-groups")
    assert (found["icmp"], found["raw"]) == ("", False)
    advice = {line.title: line.advice for line in describe(found) if not line.is_ok}
    assert "ping_group_range" in advice["ICMP echo"]
    assert "CAP_NET_RAW" in advice["raw packets"]


def test_clocks_are_described_with_their_error():
    base = check_machine("127.0.0.1").as_json()
    kept = describe({**base, "clock_synchronized": True, "clock_error_ms": 3.25})[-1]
    assert kept.value == "synchronized, within 3.2 ms"
    free = describe({**base, "clock_synchronized": False, "clock_error_ms": None})[-1]
    assert "time service" in free.advice
    assert describe({**base, "clock_synchronized": None})[-1].is_ok
