"""Proves that the network test ranks instances as the local test does: a server on a disturbed CPU.

Both tests run after each other under every neighbour, rounds interleaved; the client stays on
another CPU. ``python -m benchmarks.screening.ranking [--rounds 3] [--seconds 6] [--shield]``

On a machine that others use, ``--shield`` gives sampler and server a real-time priority below that
of the bursts, and leaves hog and quota out. Exits with 1 when two instances change places.
"""

import argparse
import itertools
import json
import os
import socket
import statistics
import subprocess
import sys
import time

from benchmarks.screening import neighbours
from benchmarks.screening.physical import AGENT, SHIELD, run_agent

RATE = "500"
BURSTS = {"burst 10/100": (10, 100), "burst 20/100": (20, 100), "burst 40/100": (40, 100)}
OTHERS = {"idle": neighbours.idle, "hog": neighbours.run_busy_loop, "quota": neighbours.quota}
# Tails that differ by less are the same to both tests.
ALIKE = 1.15
READY_S = 10.0


def find_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Until the server answers, however long its CPU is taken; OSError when it ended."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise OSError("the server of the network test did not start")


def run_calls(kind: str, cpu: int, seconds: float) -> tuple[float, float]:
    """p99.9 in milliseconds of the local test and of calls, under one neighbour."""
    port = find_port()
    place = neighbours.burst(cpu, *BURSTS[kind]) if kind in BURSTS else OTHERS[kind](cpu)
    with place as group:
        folder = group if kind == "quota" else None
        local = run_agent(cpu, seconds, group=folder)["cpus"][0]["p999_us"] / 1000

        def prepare() -> None:
            os.sched_setaffinity(0, {cpu})
            if folder:
                (folder / "cgroup.procs").write_text(str(os.getpid()))
            if SHIELD:
                priority = os.sched_param(neighbours.FIFO_PRIORITY // 2)
                os.sched_setscheduler(0, os.SCHED_FIFO, priority)

        server = subprocess.Popen(
            [
                sys.executable,
                str(AGENT),
                "--server",
                f"127.0.0.1:{port}",
                "--seconds",
                str(seconds + 20),
            ],
            preexec_fn=prepare,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port, server)
            report = run_agent(cpu, seconds, "--client", f"127.0.0.1:{port}", "--rates", RATE)
        finally:
            server.kill()
            server.wait()
    return local, report["network"][0]["p999_us"] / 1000


def find_swaps(tails: dict[str, tuple[float, float]]) -> list[tuple[str, str]]:
    """Pairs that both tests separate, in opposite order."""
    swaps = []
    for a, b in itertools.combinations(tails, 2):
        local, calls = (tails[a][at] / tails[b][at] for at in (0, 1))
        if (local > ALIKE and calls < 1 / ALIKE) or (local < 1 / ALIKE and calls > ALIKE):
            swaps.append((a, b))
    return swaps


def main() -> int:
    """Print both orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--shield", action="store_true")
    parser.add_argument("--quick", action="store_true", help="1 round of 2 s")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 2.0
    if options.shield:
        SHIELD.append(True)
    wanted = ("idle", *BURSTS) if options.shield else (*OTHERS, *BURSTS)
    kinds = [kind for kind in wanted if not neighbours.find_missing(kind.split()[0])]
    seen: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for _ in range(options.rounds):
        for kind in kinds:
            seen[kind].append(run_calls(kind, options.cpu, options.seconds))
    tails = {
        kind: (statistics.median(x for x, _ in own), statistics.median(y for _, y in own))
        for kind, own in seen.items()
    }
    swaps = find_swaps(tails)
    print(
        json.dumps(
            {
                "load": os.getloadavg()[0],
                "rounds": options.rounds,
                "p999_ms": {kind: [round(x, 3) for x in pair] for kind, pair in tails.items()},
                "local": sorted(kinds, key=lambda kind: tails[kind][0]),
                "calls": sorted(kinds, key=lambda kind: tails[kind][1]),
                "swapped": swaps,
            }
        )
    )
    return int(bool(swaps))


if __name__ == "__main__":
    sys.exit(main())
