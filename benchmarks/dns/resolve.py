"""Proves what one name costs: our ``resolve`` beside zdns, massdns and Python libraries.

Every engine asks the same name server for the same names, in turns; answers go to a file and are
held against the truth.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns import peers
from benchmarks.dns.accounting import Cost, Failed
from benchmarks.dns.agreement import disagreements
from benchmarks.dns.answers import compare, read_answers
from benchmarks.dns.figures import Figures, machine
from benchmarks.dns.peers import Peer
from benchmarks.dns.workload import NameServer, NoServer, Workload, serving
from crawlers.compiled.loading import load_step

REFERENCE = "ours, JSON lines, reference engine"
JSON, PARQUET, START = "ours, JSON lines", "ours, Parquet", "ours, one name (start-up)"
WINDOW = 1_000


def main() -> int:
    """Run, print the tables; 1 when an answer of ours is wrong."""
    options = _parse()
    load_step(lambda: print("compiling the loop, once", file=sys.stderr))
    workload = Workload(zones=400 if options.quick else 2_000)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with serving(workload, Path(folder) / "nsd") as server:
                return _Comparison(options, workload, server, Path(folder)).run()
        except NoServer as error:
            print(f"left out: {error}", file=sys.stderr)
            return 0


class _Comparison:
    """One comparison: the engines, and what they cost so far."""

    def __init__(
        self, options: argparse.Namespace, workload: Workload, server: NameServer, folder: Path
    ) -> None:
        self.options, self.workload, self.server, self.folder = options, workload, server, folder
        self.names = workload.names()
        self.figures = Figures()
        self.peers = _choose_peers(options, folder)
        self.outputs: dict[str, Path] = {}
        self.faults = 0

    def run(self) -> int:
        """All rounds, then the tables; the exit code."""
        start = peers.ours(START, self.folder / "data", names=1)
        # The first run of all makes the data folder.
        self._run_peer(start)
        for number in range(self.options.rounds):
            for peer in [start, *self.peers]:
                cost = self._run_peer(peer)
                if cost is None:
                    continue
                self.figures.add(peer.label, cost)
                if number == 0:
                    self._check(peer, cost)
        print(f"{machine()}; {self.options.rounds} interleaved rounds, median (least-most)\n")
        print(self.figures.table("right answers", leave_out=START) + "\n")
        self._print_ratios()
        if self.options.agreement:
            self._print_agreement()
        return int(self.faults > 0)

    def _run_peer(self, peer: Peer) -> Cost | None:
        server = self.server
        try:
            cost, out = peer.run(self.names, server.endpoints, server.pids, self.folder)
        except Failed as error:
            print(f"{peer.label}: {error}", file=sys.stderr)
            self.faults += peer.label.startswith("ours")
            return None
        self.outputs[peer.label] = out
        return cost

    def _check(self, peer: Peer, cost: Cost) -> None:
        answers = read_answers(self.outputs[peer.label], peer.label)
        right, wrong = compare(answers, self.workload.truth, cost.names)
        note = "all" if right == cost.names else f"{right:,}"
        note += "".join(f"; {kind}: {count:,}" for kind, count in wrong.most_common(3))
        self.figures.notes[peer.label] = (note,)
        self.faults += bool(wrong) and peer.label.startswith("ours")

    def _print_ratios(self) -> None:
        mine = self.figures
        start_s = mine.middle(START, lambda c: c.client_cpu_s)
        waited_s = mine.middle(START, lambda c: c.wall_s)
        print(f"{START}: {start_s:.2f} s of client CPU, {waited_s:.2f} s of time")
        for label in (JSON, REFERENCE, PARQUET):
            bare = mine.middle(label, lambda c: (c.client_cpu_s - start_s) / c.names * 1e6)
            print(f"{label}: {bare:.1f} µs/name of client CPU without start-up")
        for peer in self.peers:
            if peer.label != JSON and mine.costs[peer.label]:
                self._print_ratio(peer.label)

    def _print_ratio(self, label: str) -> None:
        cpu = [self.figures.middle(at, lambda c: c.cpu_us) for at in (label, JSON)]
        rate = [self.figures.middle(at, lambda c: c.names_per_s) for at in (label, JSON)]
        print(
            f"{label} to {JSON}: {cpu[0] / cpu[1]:.2f} times the client CPU per name, "
            f"{rate[0] / rate[1]:.2f} times the names/s"
        )

    def _print_agreement(self) -> None:
        count, differences = disagreements(self.outputs[JSON], self.server.endpoints)
        self.faults += bool(differences)
        listed = ", ".join(f"{n:,} differ in {kind}" for kind, n in differences.items())
        print(f"held against dnspython: {count:,} answers, {listed or 'every record the same'}")


def _choose_peers(options: argparse.Namespace, folder: Path) -> list[Peer]:
    data, quick, window = folder / "data", options.quick, str(options.window)
    chosen = [
        peers.ours(JSON, data, "--window", window),
        peers.ours(REFERENCE, data, "--window", window, "--no-compiled"),
        peers.ours(PARQUET, data, "--window", window, suffix=".parquet"),
    ]
    if found := peers.locate(options.massdns, "massdns"):
        chosen.append(peers.massdns(found, 100))
    if found := peers.locate(options.zdns, "zdns"):
        names = 20_000 if quick else 100_000
        chosen += [
            peers.zdns(found, threads, names) for threads in ((100,) if quick else (32, 100))
        ]
    chosen.append(peers.python_client(sys.executable, "loop", len(Workload().truth)))
    chosen.append(peers.python_client(sys.executable, "dnspython", 2_000 if quick else 10_000))
    if options.aiodns:
        chosen.append(peers.python_client(options.aiodns, "aiodns", 5_000 if quick else 20_000))
    return chosen


def _parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="60,000 names, three rounds")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--window", type=int, default=WINDOW, help="our queries in flight")
    parser.add_argument(
        "--agreement", action="store_true", help="hold every record against dnspython's reading"
    )
    peers.add_options(parser)
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (3 if options.quick else 5)
    return options


if __name__ == "__main__":
    sys.exit(main())
