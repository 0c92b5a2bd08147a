"""The laboratory measured as its users do, and every figure beside the truth and beside ``ping``.

``python -m benchmarks.probes.lab [--rounds N] [--full] [--drawn SEED …]``; needs root. A process at
every vantage point pings in turns with our probes; all other claims come one a line, also in plans
that are drawn by lot; then vantage points join and measure two campaigns through a broker, an ISP
failing before the last round. Ends with 1 where something is wrong, with 2 where it is unknown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.probes import lab_claims
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.multipath import UNEXPLAINED
from testbed.namespaces.random_topology import draw_topology
from testbed.namespaces.six_by_four import six_by_four

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE, COUNT, TRIES = 3, 10, 4
FAILING = 64_505
UNMEASURED = "NOT MEASURED:"
Row = dict[str, Any]


def main() -> int:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="all zones, and longer measurements")
    parser.add_argument(
        "--drawn",
        type=int,
        nargs="*",
        metavar="SEED",
        help="plans by lot instead of the usual one, and no campaigns",
    )
    parser.add_argument("--isps", type=int, default=3, help="of a plan by lot")
    parser.add_argument("--width", type=int, default=4, help="of its widest balancer")
    parser.add_argument("--families", type=int, nargs="+", choices=(4, 6), default=(4, 6))
    options = parser.parse_args()
    return print_problems(by_sample(options) if options.drawn else usual(options))


def usual(options: argparse.Namespace) -> Iterator[str]:
    """The plan of six by four: all claims, and the campaigns."""
    with Laboratory(six_by_four()) as lab:
        yield from compare_with_ping(lab)
        yield from compare_with_truth(lab)
    yield from campaigns(options.rounds, brisk=not options.full)


def by_sample(options: argparse.Namespace) -> Iterator[str]:
    """All claims in plans that are drawn."""
    for seed in options.drawn:
        plan = draw_topology(seed, options.isps, options.width, tuple(options.families))
        print(f"plan {seed}: {len(plan.nodes)} nodes, {len(plan.links)} links")
        with Laboratory(plan, seed) as lab:
            yield from compare_with_ping(lab)
            yield from compare_with_truth(lab)


def print_problems(found: Iterator[str]) -> int:
    """Print what is wrong and what was not measured; the number to end with."""
    lines = list(found)
    for line in lines:
        print(line)
    wrong = [line for line in lines if not line.startswith(UNMEASURED)]
    return 1 if wrong else 2 if lines else 0


def compare_with_truth(lab: Laboratory) -> Iterator[str]:
    """Loss, throughput, hops, flows, ways and ISPs, one line each."""
    for words, wrong in lab_claims.all_of(lab):
        print(words)
        yield from (f"WRONG: {line}" for line in wrong)


def compare_with_ping(lab: Laboratory) -> Iterator[str]:
    """Means and medians of both probes and of ``ping``, packet by packet in turns."""
    from tests.testbed.namespaces.parallel_ping import is_right  # noqa: PLC0415

    with ThreadPoolExecutor(AT_ONCE) as pool:
        starts = [node.name for node in lab.plan.of_kind("vantage")]
        found = dict(zip(starts, pool.map(lambda s: one_vantage(lab, s), starts), strict=True))
        pairs = [(s, e, tries) for s, own in found.items() for e, tries in own.items()]
        apart, off = [0.0], [0.0]
        for start, end, tries in pairs:
            last, true_ms = tries[-1], lab.truth.rtt_ms(start, end)
            if not is_right(last, true_ms):
                yield f"WRONG: {start} to {end}: {tries}, configured {true_ms}"
                continue
            apart += [abs(last[kind][0] - last["ping"][0]) for kind in ("syn", "echo")]
            off += [abs(last[kind][0] - true_ms) for kind in last]
        again = sum(len(tries) > 1 for _, _, tries in pairs)
        print(
            f"{len(pairs)} pairs, {again} of them tried again: means at most {max(apart):.3f} ms "
            f"from ping's, {max(off):.3f} ms from what is configured"
        )


def one_vantage(lab: Laboratory, start: str) -> dict[str, list[Row]]:
    """Measurements of a separate process towards every instance."""
    ends = {
        node.name: (lab.plan.home(node.name), lab.truth.rtt_ms(start, node.name))
        for node in lab.plan.of_kind("instance")
    }
    asked = json.dumps({"ends": ends, "count": COUNT, "tries": TRIES})
    child = lab.start(
        start,
        [sys.executable, "-m", "tests.testbed.namespaces.parallel_ping", asked],
        stdout=subprocess.PIPE,
    )
    report, _ = child.communicate()
    return dict(json.loads(report))


def campaigns(rounds: int, *, brisk: bool) -> Iterator[str]:
    """Vantage points measure from their namespaces, an ISP fails, and the outcome is printed."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as folder:
        os.environ["NEPHOSCOPE_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
        import django  # noqa: PLC0415
        from django.core.management import call_command  # noqa: PLC0415

        django.setup()
        from tasks.namespaces import laboratory  # noqa: PLC0415
        from tasks.namespaces.campaigns import Extent  # noqa: PLC0415
        from webapp.console.management.commands.lab import sentences  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        found = laboratory.run(Extent(rounds, FAILING, brisk), print)
        for line in sentences(found):
            print(line)
        yield from find_problems(found)


def find_problems(found: Row) -> Iterator[str]:
    """What is not as in truth, and what was not measured, one thing a line."""
    yield from (f"WRONG: {line}" for line in _wrong(found))
    for kind, is_there in (("latency", "n"), ("throughput", "n"), ("paths", "measured")):
        missing = [row for row in found[kind] if not row[is_there]]
        names = ", ".join(f"{row['vantage']} to {row['instance']}" for row in missing)
        if missing:
            yield f"{UNMEASURED} {len(missing)} of {len(found[kind])} {kind}: {names}"
    for slug, report in found["progress"].items():
        print(
            f"{slug}: {report['ok']} ok, {report['failed']} failed, {report['missed']} missed of "
            f"{report['planned']}"
        )


def _wrong(found: Row) -> Iterator[str]:
    """Of what was measured."""
    yield from (f"latency {r}" for r in found["latency"] if r["n"] and abs(r["median_off_ms"]) > 1)
    yield from (
        f"throughput {r}"
        for r in found["throughput"]
        if r["n"] and r["fastest_mbit"] > r["narrowest_mbit"]
    )
    yield from (f"path {r}" for r in found["paths"] if r["measured"] and r["wrong"])
    if found["balancers"]["chance"] < UNEXPLAINED:
        yield f"balancers {found['balancers']}"
    yield from (f"ISPs {r}" for r in (*found["isps"], *found["failed"]["isps"]) if not r["equal"])
    if not found["failed"]["equal"]:
        yield f"lost {found['failed']['lost']}, in truth {found['failed']['truly_lost']}"


if __name__ == "__main__":
    sys.exit(main())
