"""Proves that the agent counts the wake-ups that cyclictest counts, at the same time on one CPU.

cyclictest reports how late a wake-up is, the agent how long a sleep was: a sleep of 10 ms is a
wake-up that is 10 ms less the interval late, so that both limits are shown. ``python -m
benchmarks.screening.cyclictest_comparison --seconds 10``
"""

import argparse
import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.screening import neighbours
from benchmarks.screening.physical import run_agent, start_neighbour
from screening.log_readers import read_log

INTERVAL_US = 100
KINDS = ("idle", "hog", "burst 10/100", "burst 30/100")


def start_cyclictest(cpu: int, seconds: float) -> subprocess.Popen[str]:
    """cyclictest without the tuning of the machine that it would do as root."""
    return subprocess.Popen(
        [
            "cyclictest",
            "-q",
            "-D",
            str(round(seconds)),
            "-i",
            str(INTERVAL_US),
            "-h",
            "200000",
            "-a",
            str(cpu),
            "-t",
            "1",
            "--default-system",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


@contextlib.contextmanager
def measure_children() -> Iterator[list[float]]:
    """CPU seconds of the children that ended inside."""
    before, found = resource.getrusage(resource.RUSAGE_CHILDREN), [0.0]
    yield found
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found[0] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(kind: str, cpu: int, seconds: float) -> str:
    """One line: both counts, and what each run cost."""
    with start_neighbour(kind, cpu):
        peer = start_cyclictest(cpu, seconds)
        report = run_agent(cpu, seconds)
        text, _ = peer.communicate(timeout=seconds + 30)
    ours: dict[str, Any] = report["cpus"][0]
    log = read_log(text.encode())[0]
    late, slept = log.count_from(), log.count_from(10_000_000 - 1000 * INTERVAL_US)
    ratio = ours["stalls_10ms"] / slept if slept else float("nan")
    return (
        f"{kind:13} agent {ours['stalls_10ms']:5} sleeps of 10 ms, cyclictest {slept:5} "
        f"({late} late by 10 ms), ratio {ratio:.2f}; p99.9 {ours['p999_us']:.0f} us beside "
        f"{log.find_percentile(0.999) + INTERVAL_US:.0f} us; agent {100 * ours['own_share']:.1f} %"
    )


def find_cost(cpu: int, seconds: float) -> list[str]:
    """CPU share of cyclictest, of the native agent and of the Python agent, one after another."""
    lines = []
    with measure_children() as used:
        start_cyclictest(cpu, seconds).communicate(timeout=seconds + 30)
    lines.append(f"cyclictest alone uses {100 * used[0] / seconds:.1f} % of a core")
    for mode in ("native", "python"):
        report = run_agent(cpu, seconds, *(["--python"] if mode == "python" else []))
        share = report["cpus"][0]["own_share"]
        lines.append(f"agent, {report['cpus'][0]['mode']}, uses {100 * share:.1f} %")
    return lines


def main() -> None:
    """Compare counts under every neighbour, then costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="2 s each")
    options = parser.parse_args()
    if options.quick:
        options.seconds = 2.0
    if not shutil.which("cyclictest"):
        print("left out: cyclictest is not installed (Debian package rt-tests)")
        return
    print(f"load {Path('/proc/loadavg').read_text().split()[0]}, {options.seconds:g} s each")
    for kind in KINDS:
        reason = neighbours.find_missing(kind.split()[0])
        print(
            f"{kind}: left out, {reason}" if reason else compare(kind, options.cpu, options.seconds)
        )
    for line in find_cost(options.cpu, options.seconds):
        print(line)


if __name__ == "__main__":
    main()
