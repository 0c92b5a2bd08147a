"""Proves what the agent costs above a bare loop that sleeps as often, beside cyclictest.

``python -m benchmarks.screening.overhead [--rounds 5] [--seconds 4] [--quick]``: a loop in C that
does nothing but clock_nanosleep, the native agent, the agent in Python and cyclictest take turns on
one virtual CPU. A sleep costs time in the kernel and the hypervisor for any program; the agent's
overhead is what it uses on top. Exits with 1 when that is more than 3 % of a core.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.screening.cyclictest_comparison import INTERVAL_US, start_cyclictest
from benchmarks.screening.physical import run_agent
from screening.log_readers import read_log

GOAL_SHARE = 0.03
BARE = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
int main(int count, char **words) {
    if (count < 4) return 2;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(atoi(words[1]), &set);
    sched_setaffinity(0, sizeof set, &set);
    prctl(PR_SET_TIMERSLACK, 1);
    struct timespec nap = {0, atol(words[2]) * 1000};
    long wakeups = 0;
    double start = now(), end = start + atof(words[3]), last = start;
    struct rusage used;
    while (last < end) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, 0);
        if (++wakeups % 16 == 0) last = now();
    }
    getrusage(RUSAGE_SELF, &used);
    printf("{\"wakeups\": %ld, \"seconds\": %.6f, ", wakeups, last - start);
    printf("\"user_s\": %ld.%06ld, \"system_s\": %ld.%06ld}\n", used.ru_utime.tv_sec,
           used.ru_utime.tv_usec, used.ru_stime.tv_sec, used.ru_stime.tv_usec);
    return 0;
}
"""
# Share of a core and wake-ups per second.
Cost = tuple[float, float]


def compile_bare(folder: str) -> Path:
    """The bare loop as a program."""
    source, program = Path(folder) / "bare.c", Path(folder) / "bare"
    source.write_text(BARE)
    subprocess.run(["cc", "-O2", "-o", str(program), str(source)], check=True)
    return program


def run_bare(program: Path, cpu: int, seconds: float) -> Cost:
    """The loop that does nothing else."""
    words = [str(program), str(cpu), str(INTERVAL_US), str(seconds)]
    done = subprocess.run(words, capture_output=True, check=True, timeout=seconds + 30)
    found = json.loads(done.stdout)
    used = found["user_s"] + found["system_s"]
    return used / found["seconds"], found["wakeups"] / found["seconds"]


def run_own(cpu: int, seconds: float, *words: str) -> Cost:
    """CPU of the agent's sampler by its report; starting it is paid once and not counted."""
    entry = run_agent(cpu, seconds, *words)["cpus"][0]
    return entry["own_share"], entry["wakeups"] / entry["seconds"]


def run_cyclictest(cpu: int, seconds: float) -> Cost:
    """cyclictest as a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text, _ = start_cyclictest(cpu, seconds).communicate(timeout=seconds + 30)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / seconds, read_log(text.encode())[0].samples / seconds


def measure(options: argparse.Namespace, program: Path) -> dict[str, list[Cost]]:
    """All of them in turn, again and again."""
    cpu, seconds = options.cpu, options.seconds
    runs: dict[str, Callable[[], Cost]] = {
        "bare": lambda: run_bare(program, cpu, seconds),
        "native": lambda: run_own(cpu, seconds),
        "python": lambda: run_own(cpu, seconds, "--python"),
    }
    if shutil.which("cyclictest"):
        runs["cyclictest"] = lambda: run_cyclictest(cpu, max(seconds, 2))
    found: dict[str, list[Cost]] = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            found[name].append(run())
    return found


def describe(found: dict[str, list[Cost]]) -> dict[str, dict[str, float]]:
    """Medians, and what is left above the bare loop per wake-up, at the run's own pace."""
    bare_us = statistics.median(1e6 * share / pace for share, pace in found["bare"])
    table = {}
    for name, costs in found.items():
        each_us = statistics.median(1e6 * share / pace for share, pace in costs)
        pace = statistics.median(pace for _, pace in costs)
        table[name] = {
            "share": round(statistics.median(share for share, _ in costs), 4),
            "wakeups_per_s": round(pace),
            "us_per_wakeup": round(each_us, 2),
            "above_bare": round((each_us - bare_us) * pace / 1e6, 4),
        }
    return table


def main() -> int:
    """Print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--quick", action="store_true", help="2 rounds of 1 s")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 2, 1.0
    if shutil.which("cc") is None:
        print("left out: there is no C compiler")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        found = describe(measure(options, compile_bare(folder)))
    print(json.dumps({"load": os.getloadavg()[0], **found}))
    return int(found["native"]["above_bare"] > GOAL_SHARE)


if __name__ == "__main__":
    sys.exit(main())
