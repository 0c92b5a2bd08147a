"""``manage.py lab``: an Internet of network namespaces with a known truth."""

import signal
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from tasks.namespaces import laboratory
from tasks.namespaces.campaigns import Extent
from webapp.console.product_command import ProductCommand


class Command(ProductCommand):
    """Build, describe, measure and remove the laboratory."""

    help = "an Internet of network namespaces whose truth is known"

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        describe = actions.add_parser("describe", help="what it is and what is true of it")
        build = actions.add_parser("build", help="keep it until Ctrl-C")
        run = actions.add_parser("run", help="measure it, keep a campaign, compare with the truth")
        run.add_argument("--rounds", type=int, default=3)
        run.add_argument(
            "--failing",
            type=int,
            default=0,
            metavar="AS",
            help="an AS whose links are down in the last round",
        )
        run.add_argument(
            "--brisk",
            action="store_true",
            help="one instance per region, few and small measurements",
        )
        destroy = actions.add_parser("destroy", help="remove what dead laboratories left")
        for sub in (describe, build):
            sub.add_argument(
                "--random", type=int, metavar="SEED", help="a random topology of this seed"
            )
        for sub in (describe, build, run, destroy):
            sub.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _describe(self, options: dict[str, Any]) -> None:
        found = laboratory.description(laboratory.choose_plan(options["random"]))
        if options["json"]:
            self.write_json(found)
            return
        self.stdout.write(found["ability"]["words"])
        self.stdout.write(f"{found['name']}: {found['nodes']} nodes, {found['links']} links")
        for pair in found["pairs"]:
            self.stdout.write(
                f"{pair['vantage']:10} {pair['instance']:8} {pair['rtt_ms']:6.1f} ms  loss "
                f"{pair['loss']:.1%}  {pair['paths']} path(s)  AS{pair['isp']}"
            )

    def _build(self, options: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with laboratory.open_laboratory(laboratory.choose_plan(options["random"])) as lab:
            names = {node.name: lab.prefix + node.name for node in lab.plan.nodes}
            if options["json"]:
                self.write_json({**laboratory.description(lab.plan), "namespaces": names})
            first = names[lab.plan.of_kind("vantage")[0].name]
            self.write_note(
                f"{len(names)} namespaces run until Ctrl-C; try: ip netns exec {first} …"
            )
            self.stdout.flush()
            signal.pause()

    def _run(self, options: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        extent = Extent(options["rounds"], options["failing"], options["brisk"])
        found = laboratory.run(extent, self.write_note)
        if options["json"]:
            self.write_json(found)
            return
        for line in sentences(found):
            self.stdout.write(line)

    def _destroy(self, options: dict[str, Any]) -> None:
        found = laboratory.remove_orphans()
        if options["json"]:
            self.write_json(found)
            return
        self.stdout.write(f"removed {len(found['removed'])} namespaces")
        for pid, number in found["living"].items():
            self.stdout.write(f"process {pid} holds {number}: it removes them when it ends")


def sentences(found: dict[str, Any]) -> Iterator[str]:
    """What a run found, one finding a line."""
    latency, paths, isps = (found[name] for name in ("latency", "paths", "isps"))
    means, medians = (
        max(abs(r[name] or 0.0) for r in latency) for name in ("difference_ms", "median_off_ms")
    )
    yield (
        f"{found['campaign']}: {found['vantages']} vantage points, {len(latency)} pairs, means at "
        f"most {means:.2f} ms and medians {medians:.2f} ms from what is configured"
    )
    seen, hops, wrong = (
        sum(r[name] for r in paths if r["measured"]) for name in ("seen", "hops", "wrong")
    )
    yield f"{seen} of {hops} hops of all ways were found, {wrong} that are none"
    tested = found["balancers"]
    yield (
        f"{tested['incomplete']} of {tested['n']} balancers lack a next hop; with the risk of "
        f"{tested['risk']:g} each, so many or more have a chance of {tested['chance']:.2g} at most"
    )
    yield from _unmeasured(found)
    equal = sum(row["equal"] for row in isps)
    yield f"{found['outwards']}: ISPs equal to the truth in {equal} of {len(isps)} zones"
    failed = found["failed"]
    if failed:
        lost = ", ".join(f"{end} from {region}" for region, end in failed["lost"])
        right = "as in truth" if failed["equal"] else "not what is true"
        yield f"after the failure no vantage point reaches {lost or 'less'} ({right})"
        for row in failed["isps"]:
            yield f"{row['region']} {row['zone']} then has {row['seen']}, true {row['true']}"


def _unmeasured(found: dict[str, Any]) -> Iterator[str]:
    """What cannot be compared because it did not take place, and why not."""
    paths = [f"{r['vantage']} to {r['instance']}" for r in found["paths"] if not r["measured"]]
    if paths:
        yield f"{len(paths)} of {len(found['paths'])} paths were not measured: {', '.join(paths)}"
    for slug, progress in found["progress"].items():
        for reason, count in progress["reasons"].items():
            yield f"{slug}: {count} of {progress['planned']} slots were missed: {reason}"
