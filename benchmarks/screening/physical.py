"""Proves that instances made good, doubtful and bad by real neighbours get the right verdict and
cause.

Every round runs the control and all neighbours once, interleaved, on one virtual CPU, because the
machine itself is disturbed. ``python -m benchmarks.screening.physical --rounds 10 --seconds 6``

On a machine that others use, ``--shield`` gives the sampler a real-time priority below that of the
bursts: ordinary work cannot disturb the control then, and hog and quota are left out.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.screening import neighbours
from screening.bundle import write_agent

AGENT = write_agent()
BURSTS = {"burst 10/100": (10, 100), "burst 30/100": (30, 100)}
KINDS = ("idle", "hog", *BURSTS, "quota")
SHIELD: list[bool] = []


def start_neighbour(kind: str, cpu: int) -> Any:
    """The context of one kind."""
    if kind in BURSTS:
        return neighbours.burst(cpu, *BURSTS[kind])
    return {"idle": neighbours.idle, "hog": neighbours.run_busy_loop, "quota": neighbours.quota}[
        kind
    ](cpu)


def run_agent(cpu: int, seconds: float, *words: str, group: Path | None = None) -> dict[str, Any]:
    """One run of the agent on one CPU, in a control group when one is given."""

    def join() -> None:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        if SHIELD:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(neighbours.FIFO_PRIORITY // 2))
        if "--client" in words:
            # A client stays away from the CPU that is disturbed.
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    command = [sys.executable, str(AGENT), "--seconds", str(seconds), "--cpu", str(cpu), "--json"]
    done = subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + 60,
        preexec_fn=join,
    )
    return json.loads(done.stdout)


def run_round(kinds: list[str], cpu: int, seconds: float) -> dict[str, dict[str, Any]]:
    """Every kind once, with its entry of the report."""
    found = {}
    for kind in kinds:
        with start_neighbour(kind, cpu) as group:
            report = run_agent(cpu, seconds, group=group)
        found[kind] = {**report["cpus"][0], "verdict": report["verdict"]}
    return found


def find_cause(entry: dict[str, Any]) -> str:
    """The cause of most stalls."""
    return next(iter(entry["causes"]), "none")


def describe(kind: str, rounds: list[dict[str, dict[str, Any]]]) -> str:
    """One line of the table."""
    entries = [found[kind] for found in rounds]
    rates = [entry["stalls_10ms"] / entry["seconds"] for entry in entries]
    causes: dict[str, int] = {}
    verdicts: dict[str, int] = {}
    for entry in entries:
        verdicts[entry["verdict"]] = verdicts.get(entry["verdict"], 0) + 1
        for cause, seen in entry["causes"].items():
            causes[cause] = causes.get(cause, 0) + seen["stalls"]
    middle = sorted(entry["p999_us"] for entry in entries)[len(entries) // 2] / 1000
    return (
        f"{kind:13} stalls/s {min(rates):5.2f} to {max(rates):5.2f}, p99.9 {middle:6.2f} ms, "
        f"own {100 * max(e['own_share'] for e in entries):4.1f} %, {verdicts} {causes}"
    )


def describe_claims(rounds: list[dict[str, dict[str, Any]]]) -> list[str]:
    """The claims with their counts."""
    lines = []
    for kind, (_, period_ms) in BURSTS.items():
        pairs = [(found[kind], found["idle"]) for found in rounds if kind in found]
        rate = [
            (a["stalls_10ms"] / a["seconds"], b["stalls_10ms"] / b["seconds"]) for a, b in pairs
        ]
        ten = sum(bad >= 10 * max(calm, 0.1) for bad, calm in rate)
        expected = 1000 / period_ms
        near = sum(abs(bad - calm - expected) <= 0.1 * expected for bad, calm in rate)
        plain = sum(abs(bad - expected) <= 0.1 * expected for bad, _ in rate)
        named = sum(find_cause(a) in ("run delay", "steal") for a, _ in pairs)
        lines.append(
            f"{kind}: ten times the idle rate in {ten} of {len(pairs)}, count within 10 % of "
            f"{expected:g}/s in {plain} (less the idle rate: {near}), cause named in {named}"
        )
    if not any("quota" in found for found in rounds):
        return lines + _check_idle(rounds)
    stopped = [found["quota"] for found in rounds if "quota" in found]
    named = sum(find_cause(entry) == "quota" for entry in stopped)
    lines.append(f"quota: cause named in {named} of {len(stopped)}")
    return lines + _check_idle(rounds)


def _check_idle(rounds: list[dict[str, dict[str, Any]]]) -> list[str]:
    bad = [found["idle"] for found in rounds if found["idle"]["verdict"] == "bad"]
    causes = [find_cause(entry) for entry in bad]
    return [f"idle: called bad in {len(bad)} of {len(rounds)}, causes {causes}"]


def main() -> None:
    """Run the rounds and print the table and the claims."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--shield", action="store_true")
    parser.add_argument("--quick", action="store_true", help="1 round of 2 s")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 2.0
    kinds = []
    if options.shield:
        SHIELD.append(True)
    for kind in ("idle", *BURSTS) if options.shield else KINDS:
        reason = neighbours.find_missing(kind.split()[0])
        print(f"{kind}: left out, {reason}") if reason else kinds.append(kind)
    with contextlib.suppress(OSError):
        print(f"load {os.getloadavg()[0]:.1f}, {options.rounds} rounds of {options.seconds:g} s")
    rounds = [run_round(kinds, options.cpu, options.seconds) for _ in range(options.rounds)]
    for line in [*(describe(kind, rounds) for kind in kinds), *describe_claims(rounds)]:
        print(line)
    if options.json:
        print(json.dumps(rounds))


if __name__ == "__main__":
    main()
