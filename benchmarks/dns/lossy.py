"""Proves that loss, delay and lies cost no answer: every name answered, no forged answer taken.

The server answers after 50 ms, loses the first question of 2 % of the names, and for 0.1 % of them
an address that was not asked sends an early answer with port, id and question right.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns import peers
from benchmarks.dns.accounting import Cost, Failed
from benchmarks.dns.answers import Named, read_answers
from benchmarks.dns.figures import Figures, machine
from benchmarks.dns.peers import Peer
from benchmarks.dns.unreliable import POISON, Summary, name_of, summary, truth_of, unreliable
from crawlers.compiled.loading import load_step

WINDOWS = (10_000, 30_000)
LIMIT_MIB = 150
_POISON = ".".join(map(str, POISON))
_HEADS = ("answered right", "forged answers taken", "questions per name", "full buffers, client")


def main() -> int:
    """Run, print the table; 1 when ours missed a name, took a lie or is too large."""
    options = _parse()
    load_step(lambda: print("compiling the loop, once", file=sys.stderr))
    with tempfile.TemporaryDirectory() as folder:
        trial = _Trial(options, Path(folder))
        for _ in range(options.rounds):
            for peer in trial.peers:
                trial.run(peer)
        print(f"{machine()}; {options.rounds} interleaved rounds, median (least-most)\n")
        print(trial.figures.table(*_HEADS))
    for fault in trial.faults:
        print(fault, file=sys.stderr)
    return int(bool(trial.faults))


class _Trial:
    """The engines, and what became of their names so far."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.folder = folder
        self.names = [name_of(number) for number in range(options.names)]
        self.truth = {name: truth_of(number) for number, name in enumerate(self.names)}
        self.figures = Figures()
        self.peers = _choose_peers(options, folder)
        self.tallies = {peer.label: Counter[str]() for peer in self.peers}
        self.faults: list[str] = []

    def run(self, peer: Peer) -> None:
        """One run of one engine on a separate server."""
        try:
            with unreliable(self.folder) as server:
                cost, out = peer.run(self.names, server.endpoints, server.pids, self.folder)
        except Failed as error:
            self.faults.append(f"{peer.label}: {error}")
            return
        seen, tally = summary(self.folder), self.tallies[peer.label]
        self._count(read_answers(out, peer.label), tally)
        tally["names"] += cost.names
        tally["questions"] += seen.questions
        tally["lies"] += seen.spoofs_sent
        tally["drops"] += cost.buffer_drops - seen.drops
        self.figures.add(peer.label, cost)
        self.figures.notes[peer.label] = _describe(tally)
        if peer.label.startswith("ours"):
            self._check(peer.label, cost, seen)

    def _count(self, answers: Iterable[Named], tally: Counter[str]) -> None:
        for name, answer in answers:
            tally["right"] += answer == self.truth[name]
            tally["forged"] += _POISON in answer.addresses

    def _check(self, label: str, cost: Cost, seen: Summary) -> None:
        tally = self.tallies[label]
        if tally["right"] < tally["names"] or tally["forged"]:
            self.faults.append(f"{label}: {' · '.join(_describe(tally))}")
        if cost.peak_mib > LIMIT_MIB:
            self.faults.append(f"{label}: {cost.peak_mib:.0f} MiB, more than {LIMIT_MIB}")
        if seen.drops:
            self.faults.append(f"{label}: the server itself dropped {seen.drops:,} questions")


def _describe(tally: Counter[str]) -> tuple[str, ...]:
    names = tally["names"]
    return (
        f"{tally['right'] / names:.3%}",
        f"{tally['forged']:,} of {tally['lies']:,}",
        f"{tally['questions'] / names:.3f}",
        f"{tally['drops']:,}",
    )


def _choose_peers(options: argparse.Namespace, folder: Path) -> list[Peer]:
    data = folder / "data"
    chosen = [peers.ours(f"ours, window {n:,}", data, "--window", str(n)) for n in WINDOWS]
    plain = ("--window", str(WINDOWS[-1]), "--no-compiled")
    chosen.append(peers.ours("ours, reference engine", data, *plain))
    if found := peers.locate(options.massdns, "massdns"):
        chosen += [peers.massdns(found, window) for window in WINDOWS]
        chosen.append(peers.massdns(found, WINDOWS[0], "--verify-ip"))
    if found := peers.locate(options.zdns, "zdns"):
        chosen.append(peers.zdns(found, 1_000, min(options.names, 50_000)))
    return chosen


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="40,000 names, one round")
    parser.add_argument("--names", type=int)
    parser.add_argument("--rounds", type=int)
    peers.add_options(parser)
    options = parser.parse_args()
    options.names = options.names or (40_000 if options.quick else 120_000)
    options.rounds = options.rounds or (1 if options.quick else 5)
    return options


if __name__ == "__main__":
    sys.exit(main())
