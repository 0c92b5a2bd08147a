"""Proves that the network test ranks instances as the local test does: a server on a disturbed CPU.

Both tests run after each other under every neighbour; the client stays on another CPU.
``python -m benchmarks.screening.ranking --seconds 6``
"""

import argparse
import os
import socket
import subprocess
import sys
import time

from benchmarks.screening import neighbours
from benchmarks.screening.physical import AGENT, KINDS, make_neighbour, run_agent

RATE = "500"


def find_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_calls(kind: str, cpu: int, seconds: float) -> tuple[float, float]:
    """p99.9 in milliseconds of the local test and of calls, under one neighbour."""
    port = find_port()
    with make_neighbour(kind, cpu) as group:
        local = run_agent(cpu, seconds, group=group)["cpus"][0]["p999_us"] / 1000

        def prepare() -> None:
            os.sched_setaffinity(0, {cpu})
            if group:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        server = subprocess.Popen(
            [sys.executable, str(AGENT), "--server", f"127.0.0.1:{port}",
             "--seconds", str(seconds + 10)], preexec_fn=prepare, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(0.7)
            report = run_agent(cpu, seconds, "--client", f"127.0.0.1:{port}", "--rates", RATE)
        finally:
            server.kill()
            server.wait()
    return local, report["network"][0]["p999_us"] / 1000


def main() -> None:
    """Print both orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--rounds", type=int, default=1)
    cpus = sorted(os.sched_getaffinity(0))
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if not neighbours.find_missing(kind.split()[0])]
    totals = {kind: [0.0, 0.0] for kind in kinds}
    for _ in range(options.rounds):
        for kind in kinds:
            for at, value in enumerate(run_calls(kind, cpus[-1], options.seconds)):
                totals[kind][at] += value / options.rounds
    for kind, (local, calls) in totals.items():
        print(f"{kind:13} local p99.9 {local:6.2f} ms, calls p99.9 {calls:6.2f} ms")
    orders = [sorted(kinds, key=lambda kind: totals[kind][at]) for at in (0, 1)]
    print("the same order" if orders[0] == orders[1] else f"local {orders[0]}, calls {orders[1]}")


if __name__ == "__main__":
    main()
