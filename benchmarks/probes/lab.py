"""The laboratory measured as its users do, and every figure beside the truth and beside ``ping``.

``python -m benchmarks.probes.lab [--rounds N] [--full]``; needs root. First a process at every
vantage point pings in turns with our probes; then vantage points join, measure two campaigns
through a broker, and an ISP fails before the last round. Ends with 1 where something is wrong.
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

from lab.laboratory import Laboratory
from lab.sixbyfour import six_by_four

ROOT = Path(__file__).resolve().parents[2]
AT_ONCE, COUNT, TRIES = 3, 10, 4
FAILING = 64_505
Row = dict[str, Any]


def main() -> int:
    """Measure, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="all zones, and longer measurements")
    options = parser.parse_args()
    wrong = [*beside_ping(), *campaigns(options.rounds, brisk=not options.full)]
    for line in wrong:
        print("WRONG:", line)
    return 1 if wrong else 0


def beside_ping() -> Iterator[str]:
    """Means and medians of both probes and of ``ping``, packet by packet in turns."""
    from tests.lab.beside import is_right  # noqa: PLC0415

    with Laboratory(six_by_four()) as lab, ThreadPoolExecutor(AT_ONCE) as pool:
        starts = [node.name for node in lab.plan.of_kind("vantage")]
        found = dict(zip(starts, pool.map(lambda s: one_vantage(lab, s), starts), strict=True))
        pairs = [(s, e, tries) for s, own in found.items() for e, tries in own.items()]
        apart, off = [0.0], [0.0]
        for start, end, tries in pairs:
            last, true_ms = tries[-1], lab.truth.rtt_ms(start, end)
            if not is_right(last, true_ms):
                yield f"{start} to {end}: {tries}, configured {true_ms}"
                continue
            apart += [abs(last[kind][0] - last["ping"][0]) for kind in ("syn", "echo")]
            off += [abs(last[kind][0] - true_ms) for kind in last]
        again = sum(len(tries) > 1 for _, _, tries in pairs)
        print(f"{len(pairs)} pairs, {again} of them tried again: means at most {max(apart):.3f} ms "
              f"from ping's, {max(off):.3f} ms from what is configured")  # fmt: skip


def one_vantage(lab: Laboratory, start: str) -> dict[str, list[Row]]:
    """What a process of its own sees towards every instance."""
    ends = {
        node.name: (lab.plan.home(node.name), lab.truth.rtt_ms(start, node.name))
        for node in lab.plan.of_kind("instance")
    }
    asked = json.dumps({"ends": ends, "count": COUNT, "tries": TRIES})
    child = lab.start(
        start, [sys.executable, "-m", "tests.lab.beside", asked], stdout=subprocess.PIPE
    )
    told, _ = child.communicate()
    return dict(json.loads(told))


def campaigns(rounds: int, *, brisk: bool) -> Iterator[str]:
    """Vantage points measure from their namespaces, an ISP fails, and all is told."""
    with tempfile.TemporaryDirectory(prefix="nephoscope-") as folder:
        os.environ["NEPHOSCOPE_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.settings"
        import django  # noqa: PLC0415
        from django.core.management import call_command  # noqa: PLC0415

        django.setup()
        from tasks import laboratory  # noqa: PLC0415
        from tasks.lab_campaigns import Extent  # noqa: PLC0415
        from webapp.console.management.commands.lab import sentences  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        found = laboratory.run(Extent(rounds, FAILING, brisk), print)
        for line in sentences(found):
            print(line)
        yield from judge(found)


def judge(found: Row) -> Iterator[str]:
    """What is not as in truth, one thing a line."""
    yield from (f"latency {r}" for r in found["latency"] if abs(r["difference_ms"] or 9.9) > 1.0)
    yield from (
        f"throughput {r}"
        for r in found["throughput"]
        if r["n"] and r["fastest_mbit"] > r["narrowest_mbit"]
    )
    yield from (f"path {r}" for r in found["paths"] if r["wrong"] or r["seen"] < r["hops"])
    yield from (f"ISPs {r}" for r in (*found["isps"], *found["failed"]["isps"]) if not r["equal"])
    if not found["failed"]["equal"]:
        yield f"lost {found['failed']['lost']}, in truth {found['failed']['truly_lost']}"
    for slug, told in found["progress"].items():
        print(f"{slug}: {told['ok']} ok, {told['failed']} failed, {told['missed']} missed of "
              f"{told['planned']}")  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
