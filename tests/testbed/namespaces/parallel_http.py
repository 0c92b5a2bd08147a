"""One vantage point's process: HTTPS requests by our probe and by ``curl`` in turns, step by step.

Run inside its network namespace with one JSON argument. Names are resolved by the instance itself:
this process has its own ``/etc/resolv.conf``, in a mount namespace of its own.
"""

import ctypes
import json
import os
import sys
import tempfile
from pathlib import Path

from core.clock import SystemClock
from probes.kinds import http_timing
from probes.records import Target
from tests.testbed.namespaces.reference import STEPS, curl_steps

CLOCK = SystemClock()
HOST = "web.lab.example"
_NEW_MOUNTS, _BIND, _RECURSIVE, _PRIVATE = 0x20000, 4096, 16384, 1 << 18


def own_resolver(folder):
    """Mount a file over ``/etc/resolv.conf`` for this process alone; return its path."""
    path = Path(folder) / "resolv.conf"
    path.touch()
    libc = ctypes.CDLL(None, use_errno=True)
    for done in (
        libc.unshare(_NEW_MOUNTS),
        libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None),
        libc.mount(os.fsencode(path), b"/etc/resolv.conf", None, _BIND, None),
    ):
        if done:
            raise OSError(ctypes.get_errno(), "no mount namespace")
    return path


def own_steps(path):
    """Milliseconds of each step by our probe; nothing where it failed."""
    config = http_timing.Config(tls=True, verify=False, timeout_s=5.0)
    found = http_timing.run(Target(HOST, 443, 0, path), config, CLOCK)
    steps = {name: getattr(found, f"{name}_ms") for name in STEPS}
    return steps if None not in steps.values() else {}


def least(runs):
    """The least of each step: other work on the machine only ever slows a step down."""
    whole = [run for run in runs if run]
    return {name: min(run[name] for run in whole) for name in STEPS} if whole else {}


def measure(asked):
    """The least steps of both, by end, each with the true ones."""
    found, path = {}, f"/octets/1000?wait_ms={asked['wait_ms']}"
    with tempfile.TemporaryDirectory() as folder:
        resolver = own_resolver(folder)
        for end, (address, true_ms) in asked["ends"].items():
            resolver.write_text(f"nameserver {address}\noptions timeout:1 attempts:3\n")
            own, beside = [], []
            true = dict.fromkeys(STEPS, true_ms) | {"wait": true_ms + asked["wait_ms"]}
            for _ in range(asked["tries"]):
                own.append(own_steps(path))
                beside.append(curl_steps(f"https://{HOST}{path}"))
                if len(own) >= asked["least"] and is_right(least(own), least(beside), true):
                    break
            found[end] = [least(own), least(beside), true, len(own)]
    return found


# How much slower than the plan and than ``curl`` a step may be, in ms. Where a thread, a key or the
# server's process is waited for, a busy machine adds more; every round trip is longer than that.
SLACK_MS = {"dns": 8.0, "connect": 2.0, "tls": 12.0, "wait": 12.0}


def is_right(own, beside, true):
    """Whether no step is faster than the plan, nor slower than both the plan and ``curl``.

    ``curl`` is the control: what other work on the machine adds, it adds to both.
    """
    return bool(own and beside) and all(
        true[name] - 1.0 <= own[name] <= max(true[name], beside[name]) + SLACK_MS[name]
        for name in STEPS
    )


if __name__ == "__main__":
    json.dump(measure(json.loads(sys.argv[1])), sys.stdout)
