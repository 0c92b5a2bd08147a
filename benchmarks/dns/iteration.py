"""Proves what a cold name costs from the root down, beside Unbound and zdns on the same servers.

Every cache is empty at the start of every run. Two shapes: many zones with few names each, where
most work is finding the servers, and few zones with many.
"""

import argparse
import json
import random
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns import peers
from benchmarks.dns.accounting import Cost, Failed, family, measure
from benchmarks.dns.answers import compare, read_answers
from benchmarks.dns.figures import Figures, machine
from benchmarks.dns.recursor import find_unbound, recursing
from benchmarks.dns.workload import Expected
from crawlers.compiled.loading import announce_compilation, load_step
from testbed.hierarchy.generation import REGISTRY, generate_hierarchy
from testbed.hierarchy.internet import Hierarchy, parent_of
from testbed.hierarchy.server import Serving, serving

OURS, REFERENCE = "ours", "ours, reference engine"
UNBOUND, ZDNS = "unbound", "zdns --iterative"
# (zones that are planned, names asked in each): about 60,000 and 90,000 names.
SHAPES = ((20_000, 2), (2_000, 30))
_DNS_PORT, _OTHER_PORT = 53, 5353
_HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run every shape; 1 when an answer of ours is wrong."""
    options = _parse()
    # Each client is a process of its own, which only loads what was compiled before.
    load_step(announce_compilation)
    faults = 0
    for zones, names in (s for s in SHAPES if options.names in (None, s[1])):
        world = generate_hierarchy(zones // options.divide, names, faults=False, seed=options.seed)
        asked = cold_names(world, names)
        print(f"\n{len(asked):,} names, {names} in each of {len(world.zones):,} zones", flush=True)
        with tempfile.TemporaryDirectory() as folder, serving(world, options.port) as servers:
            faults += Comparison(options, world, asked, servers, Path(folder)).run()
    print(f"\n{machine()}")
    return int(faults > 0)


def cold_names(world: Hierarchy, per_zone: int) -> list[str]:
    """The first names of every zone that is registered somewhere, shuffled over all zones."""
    chosen = []
    for zone in world.zones.values():
        if "." in zone.apex and zone.apex != REGISTRY:
            own = [n for n in zone.owners if parent_of(n) == zone.apex and "*" not in n]
            chosen += sorted(n for n in own if not n.startswith("ns"))[:per_zone]
    random.Random(1).shuffle(chosen)
    return chosen


def truth_of(world: Hierarchy, names: Sequence[str]) -> Mapping[str, Expected]:
    """What a perfect resolver finds; resolvers that report no loops return SERVFAIL."""
    found = {}
    for name in names:
        status, chain, data = world.truth(name, "A")
        found[name] = Expected(str(status), chain, tuple(sorted(data)))
    return found


class Comparison:
    """One shape: interleaved rounds of all engines, each from nothing."""

    def __init__(
        self,
        options: argparse.Namespace,
        world: Hierarchy,
        names: Sequence[str],
        servers: Serving,
        folder: Path,
    ) -> None:
        self.options, self.world, self.names = options, world, names
        self.servers, self.folder = servers, folder
        self.truth = truth_of(world, names)
        self.figures = Figures()
        self.counters: dict[str, dict[str, float]] = {}
        self.source = folder / "names"
        self.source.write_text("\n".join(names) + "\n")
        self.runs = {OURS: self._run_ours, REFERENCE: self._run_reference}
        if options.port == _DNS_PORT:
            if find_unbound():
                self.runs[UNBOUND] = self._run_unbound
            if peers.locate(options.zdns, "zdns"):
                self.runs[ZDNS] = self._run_zdns
        else:
            print(f"port {_DNS_PORT} cannot be used here, so no peer can be run", file=sys.stderr)

    def run(self) -> int:
        """All rounds and the table; how many answers of ours are wrong."""
        wrong = 0
        for _ in range(self.options.rounds):
            for label, run in self.runs.items():
                try:
                    cost, out = run()
                except Failed as error:
                    print(f"{label}: {error}", file=sys.stderr)
                    wrong += label in (OURS, REFERENCE)
                    continue
                self.figures.add(label, cost)
                wrong += self._check(label, out) * (label in (OURS, REFERENCE))
        print(self.figures.table("right answers"))
        for engine, counters in self.counters.items():
            queries = counters["queries"] / len(self.names)
            print(
                f"{engine}: {queries:.2f} queries/name; without start-up "
                f"{counters['cpu_s'] / len(self.names) * 1e6:.1f} CPU µs/name, "
                f"{counters['cpu_s'] / counters['queries'] * 1e6:.1f} CPU µs/query, "
                f"{len(self.names) / counters['wall_s']:,.0f} names/s (last run)",
                flush=True,
            )
        return wrong

    def _check(self, label: str, out: Path) -> int:
        answers = ((n, _in_common(a)) for n, a in read_answers(out, label))
        truth = {n: _in_common(a) for n, a in self.truth.items()}
        right, wrong = compare(answers, truth, len(self.names))
        note = "all" if right == len(self.names) else f"{right:,}"
        note += "".join(f"; {kind}: {count:,}" for kind, count in wrong.most_common(4))
        self.figures.notes[label] = (note,)
        return wrong.total()

    def _run_ours(self) -> tuple[Cost, Path]:
        return self._run_engine("compiled")

    def _run_reference(self) -> tuple[Cost, Path]:
        return self._run_engine("reference")

    def _run_engine(self, engine: str) -> tuple[Cost, Path]:
        out, counters = self.folder / "ours.jsonl", self.folder / f"counters-{engine}"
        files = [str(self.source), str(out), str(counters)]
        limits = [str(self.options.window), str(self.options.port)]
        command = [sys.executable, "-m", "benchmarks.dns.client_iterative", engine]
        cost = self._measure([*command, *files, *limits, *self.servers.roots])
        self.counters[engine] = json.loads(counters.read_text())
        return cost, out

    def _run_zdns(self) -> tuple[Cost, Path]:
        out = self.folder / "zdns.jsonl"
        binary = peers.locate(self.options.zdns, "zdns") or ""
        roots = ["--iterative", "--name-servers", ",".join(self.servers.roots)]
        manner = ["--local-addr", "127.0.0.1", "--result-verbosity", "short", "-q"]
        size = ["--cache-size", "400000", "--threads", str(self.options.threads)]
        files = ["-f", str(self.source), "-o", str(out)]
        return self._measure([binary, "A", *roots, *manner, *size, *files], GOGC="800"), out

    def _run_unbound(self) -> tuple[Cost, Path]:
        """The cost is Unbound's, not that of the program that asks it."""
        out = self.folder / "unbound.jsonl"
        binary, here = find_unbound() or "", self.folder
        with recursing(binary, here, self.servers.roots, _OTHER_PORT) as recursor:
            endpoint = f"{recursor.address}:{recursor.port}"
            client = [sys.executable, "-m", "benchmarks.dns.client_stub", str(self.source)]
            watched = [recursor.pid]
            cost = measure([*client, str(out), endpoint], len(self.names), watched, _PATHS)
        return replace(cost, client_cpu_s=cost.server_cpu_s, server_cpu_s=0.0), out

    def _measure(self, command: Sequence[str], **environment: str) -> Cost:
        return measure(
            command, len(self.names), family(self.servers.pid), {**_PATHS, **environment}
        )


_PATHS = {"PYTHONPATH": str(_HERE.parents[1])}


def _in_common(answer: Expected) -> Expected:
    """The part of an answer that every engine reports: loops and lost chains are SERVFAIL."""
    failed = answer.status not in ("NOERROR", "NODATA", "NXDOMAIN")
    return Expected("SERVFAIL", (), ()) if failed else answer


def _parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the zones, one round")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--names", type=int, choices=[n for _, n in SHAPES], help="one shape only")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--window", type=int, default=1_000, help="our names in flight")
    parser.add_argument("--threads", type=int, default=100, help="zdns threads")
    parser.add_argument("--zdns", metavar="PATH", help="a built zdns (else: from PATH)")
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.divide = 10 if options.quick else 1
    options.port = _DNS_PORT if _can_bind("127.53.0.1", _DNS_PORT) else _OTHER_PORT
    return options


def _can_bind(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind((address, port))
        except OSError:
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
