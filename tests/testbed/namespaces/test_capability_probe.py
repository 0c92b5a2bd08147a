"""Machines without tools, privileges, devices or IPv6, each with its reason.

What is missing is hidden in the mount namespace of a child process.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.namespaces.setup_commands import netem_command
from testbed.namespaces.topology import LinkShape
from tests.testbed.namespaces.conftest import ROOT, need_laboratory

ASK = """
from testbed.namespaces.capabilities import detect_capabilities
print(detect_capabilities().as_json())
"""
# A plan of one delayed link is built, its delay is changed, and what it was is told.
BUILD = """
import json, sys
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.topology import LinkShape
from tests.testbed.namespaces.test_removal import small
with Laboratory(small(), links=sys.argv[1] if len(sys.argv) > 1 else "") as lab:
    lab.shape(1, LinkShape(3.5, loss=0.07))
    print(json.dumps([lab.plan.families, lab.prefix]))
"""


def run(hiding, program, *arguments, path=None, front=()):
    """What a program prints on a machine after the shell has hidden something of it."""
    need_laboratory()
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare to hide things with")
    words = [sys.executable, "-c", program, *arguments]
    inner = ["sh", "-c", f'{hiding} exec "$@"', "sh", *front, *words]
    env = {**os.environ, **({"PATH": f"{path}:{os.environ['PATH']}"} if path else {})}
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", *inner],
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def hide(tool):
    """The tool is there no more, wherever it stood."""
    places = {
        os.path.realpath(p)
        for f in ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
        if (p := f"{f}/{tool}") and Path(p).exists()
    }
    return " ".join(f"mount --bind /dev/null {place};" for place in places)


def program(folder, name, text):
    place = Path(folder, name)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)


NO_TUN = "mount --bind /dev/null /dev/net/tun;"


@pytest.mark.parametrize(
    ("hiding", "why"),
    [
        (hide("ip"), "install iproute2"),
        (NO_TUN, "neither netem nor a TUN device"),
        ("mount -t tmpfs none /dev/net;", "neither netem nor a TUN device"),
        (
            "mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys;",
            "not privileged (/proc/sys/net/ipv4/ip_forward: Read-only file system)",
        ),
        ("mount -t tmpfs -o ro none /run;", "cannot write below /run"),
    ],
)
def test_what_is_missing_is_named(tmp_path, hiding, why):
    program(tmp_path, "tc", "exit 1")
    told = run(hiding, ASK, path=tmp_path)
    assert why in told["reason"], told
    assert not told["links"]


def test_missing_privileges_are_reported():
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv to take rights away with")
    front = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]
    told = run("", ASK, front=front)
    assert "does not let us make network namespaces" in told["reason"]


def test_unsupported_ip_command_is_reported(tmp_path):
    program(tmp_path, "ip", "echo 'ip: unrecognized option: batch' >&2; exit 1")
    told = run("", ASK, path=tmp_path)
    assert "there are no veth devices, says ip: ip: unrecognized option" in told["reason"]


def test_any_user_may_build_one_in_a_namespace_of_users():
    need_laboratory()
    words = ["unshare", "--user", "--map-root-user", "--net", "--mount", "true"]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("users may not have namespaces here")
    inner = ["sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", sys.executable, "-c", BUILD]
    done = subprocess.run(
        [*words[:-1], *inner], cwd=ROOT, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0] == [4, 6]


def test_without_ipv6_all_of_it_is_ipv4(tmp_path):
    """As where the kernel was started without it: no address of it can be given."""
    refuse = 'case "$text" in *2d00::*|*fd00::*) echo RTNETLINK >&2; exit 2;; esac'
    program(tmp_path, "ip", f'text=$(cat); {refuse}; echo "$text" | {shutil.which("ip")} "$@"')
    assert run("", ASK, path=tmp_path)["families"] == [4]
    assert run("", BUILD, path=tmp_path)[0] == [4]


LOGGING = """
while read -r line || [ "$line" ]; do
    echo "$line" >> {log}
    case "$line" in {refused}) exit 1;; esac
done
"""


@pytest.mark.parametrize("knows_seeds", [True, False])
def test_a_kernel_with_netem_is_asked_for_it(tmp_path, knows_seeds):
    """A ``tc`` that takes everything, or all but seeds, as those before version 6.6."""
    log = tmp_path / "log"
    refused = "nothing" if knows_seeds else "*seed*"
    program(tmp_path, "tc", LOGGING.format(log=log, refused=refused))
    # Neither TUN devices nor the process between them are needed then.
    told = run(NO_TUN, ASK, path=tmp_path)
    assert (told["reason"], told["links"], told["seeded"]) == ("", "netem", knows_seeds)
    log.unlink()
    run(NO_TUN, BUILD, path=tmp_path)
    own = [line for line in log.read_text().splitlines() if "delay 4.5ms" not in line]
    seeds = [" seed 3", " seed 4"] if knows_seeds else ["", ""]
    start = "qdisc replace dev {} root netem limit 1000 delay"
    assert own == [
        start.format(device) + rest + seed
        for rest in (" 2ms loss random 0% rate 0bit", " 3.5ms loss random 7% rate 0bit")
        for device, seed in zip(("there", "gate"), seeds, strict=True)
    ]


def test_what_is_asked_of_netem_is_understood_by_tc():
    """Where the kernel has no netem, ``tc`` reads the words all the same, and then gives up."""
    need_laboratory()
    if shutil.which("tc") is None:
        pytest.skip("there is no tc")
    lines = [
        LinkShape(2.0),
        LinkShape(0.0, loss=0.07),
        LinkShape(4.25, 0.3, 0.02, 40.0),
        LinkShape(1.0, rate_mbit=0.5),
    ]
    for line in lines:
        words = ["unshare", "--net", "sh", "-c", "ip link set dev lo up; tc -batch -"]
        done = subprocess.run(
            words,
            input=netem_command("lo", line, None),
            text=True,
            capture_output=True,
            check=False,
        )
        assert not done.returncode or "qdisc kind is unknown" in done.stderr, done.stderr
