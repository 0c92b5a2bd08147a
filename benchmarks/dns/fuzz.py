"""Proves that no reply, however spoiled, is misread: a million of them held against dnspython.

Each is read afresh, by a reader that remembers the ends of earlier replies, and (a share) by the
engine over loopback. Counts agreement, refusals by reason, time and memory.
"""

import argparse
import gc
import json
import multiprocessing
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns import oracle
from benchmarks.dns.figures import machine
from benchmarks.dns.loopback import AT_ONCE, Case, Loopback, build_case
from benchmarks.dns.packets import Packet, Planner, corrupt
from crawlers.dns.message import Malformed
from crawlers.dns.message_reader import Reply, read_reply
from crawlers.dns.reply_cache import SectionCache

PROCESSES = 2
# Spoiled copies of each reply of a family, besides the reply itself.
_FAMILY, _COPIES = 6, 5
# No packet may take a hundredth of this; it is there to end a loop.
_HANG_S = 60.0
# Kept of each kind of finding, to be looked at.
_EXAMPLES = 3
_PAGE_KIB = 4
SAME, BOTH_REFUSE, RAW = "same records", "both refuse", "same records, data that breaks a rule raw"


@dataclass
class Tally:
    """What one process found."""

    packets: int = 0
    engine: int = 0
    late: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    longest_us: float = 0.0
    own_s: float = 0.0
    grown_kib: list[int] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def fault(self, kind: str, packet: bytes) -> None:
        """Note a disagreement."""
        self.faults[kind] += 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) < _EXAMPLES:
            examples.append(packet.hex())


class Fuzzer:
    """Reads packets in every way and counts."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.tally = Tally()
        self.tails = {wanted: SectionCache(additionals=wanted) for wanted in (False, True)}
        self.loopbacks = [Loopback(follow=follow) for follow in (False, True)]

    def run(self, packets: int, share: float) -> Tally:
        """So many packets, and that share of them through the engine as well."""
        signal.signal(signal.SIGALRM, _hang)
        try:
            return self._run(packets, share)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for loopback in self.loopbacks:
                self.tally.late += loopback.late
                loopback.close()

    def _run(self, packets: int, share: float) -> Tally:
        tally, planner = self.tally, Planner(self.chance)
        looks = [packets * tenth // 10 for tenth in range(2, 11)]
        while tally.packets < packets:
            signal.setitimer(signal.ITIMER_REAL, _HANG_S)
            family = list(planner.family(_FAMILY))
            for packet, data in _copies(self.chance, family):
                self.read(data, packet.question_end)
            while tally.engine < share * tally.packets:
                self._ask(family)
            if tally.packets >= looks[0]:
                looks.pop(0)
                tally.grown_kib.append(_resident_kib())
                if len(looks) in (0, 8):
                    tally.blocks.append(self._blocks())
        return tally

    def _blocks(self) -> int:
        """Blocks of memory in use once all that readers remember on purpose is dropped."""
        self.tails = {wanted: SectionCache(additionals=wanted) for wanted in (False, True)}
        for loopback in self.loopbacks:
            loopback.reset()
        oracle.clear_caches()
        gc.collect()
        return sys.getallocatedblocks()

    def read(self, data: bytes, end: int) -> None:
        """One packet in every way, held against dnspython."""
        tally = self.tally
        tally.packets += 1
        started = time.thread_time()
        whole, bare = self._readings(data, end)
        took_s = time.thread_time() - started
        tally.own_s += took_s
        tally.longest_us = max(tally.longest_us, took_s / 4 * 1e6)
        if isinstance(whole, Reply):
            if bare != whole._replace(additionals=()) and not whole.truncated:
                tally.fault("additional section wanted or not", data)
            self._compare(whole, data, end)
        else:
            self._justify(whole, data, end)

    def _readings(self, data: bytes, end: int) -> list[Reply | str]:
        found = []
        for wanted in (True, False):
            fresh = _read(data, end, wanted, None)
            if _read(data, end, wanted, self.tails[wanted]) != fresh:
                self.tally.fault("remembered ends", data)
            found.append(fresh)
        return found

    def _compare(self, ours: Reply, data: bytes, end: int) -> None:
        tally, faults = self.tally, tuple[str, ...]()
        if ours.truncated:
            found = oracle.cut_differences(ours, data, end)
            kind = "cut messages: sections that are whole"
        else:
            try:
                theirs, kind = oracle.read_message(data), SAME
            except Exception:  # noqa: BLE001
                try:
                    theirs, kind = oracle.read_parts(data, end), ""
                except oracle.Broken as error:
                    tally.fault(f"taken, but broken: {error}", data)
                    return
            faults = theirs.faults
            found = oracle.differences(ours, theirs)
        for text in found:
            if not text.startswith("raw: "):
                tally.fault(f"other records: {text}", data)
        if kind == SAME and found:
            kind = f"shown raw, dnspython shows it: {found[0]}"
        tally.kinds[kind or f"only we take: {_rule(faults)}"] += 1

    def _justify(self, why: str, data: bytes, end: int) -> None:
        try:
            oracle.read_message(data)
        except Exception:  # noqa: BLE001
            self.tally.kinds[BOTH_REFUSE] += 1
        else:
            self.tally.kinds[f"only dnspython takes: {why}"] += 1
            examples = self.tally.examples.setdefault(why, [])
            if len(examples) < _EXAMPLES:
                examples.append(data.hex())

    def _ask(self, family: Sequence[Packet]) -> None:
        made = (build_case(self.chance, self.chance.choice(family)) for _ in range(AT_ONCE))
        cases: list[Case] = [case for case in made if case]
        self.tally.engine += AT_ONCE if not cases else len(cases)
        if cases:
            for kind, case in self.chance.choice(self.loopbacks).differences(cases):
                self.tally.fault(kind, case.reply)


def _rule(faults: Sequence[str]) -> str:
    """The rule that a message breaks, without the type that it concerns."""
    if not faults:
        return "nothing that we can name"
    kinds = {fault.partition(":")[0] for fault in faults}
    return min(kinds)


def _copies(chance: random.Random, family: Sequence[Packet]) -> Iterator[tuple[Packet, bytes]]:
    found = [(p, p.data) for p in family]
    found += [(p, corrupt(chance, p)) for p in family for _ in range(_COPIES)]
    found += [(p, _swapped(chance, p, family)) for p in family]
    chance.shuffle(found)
    return iter(found)


def _swapped(chance: random.Random, packet: Packet, family: Sequence[Packet]) -> bytes:
    """The question of one reply with the rest of another: pointers lead to other places."""
    other = chance.choice(family)
    return packet.data[: packet.question_end] + other.data[other.question_end :]


def _read(data: bytes, end: int, wanted: bool, tails: SectionCache | None) -> Reply | str:
    try:
        return read_reply(data, end, additionals=wanted, tails=tails)
    except Malformed as error:
        return str(error)


def _hang(*_: object) -> None:
    raise TimeoutError("a packet was not read in time")


def _resident_kib() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB


def _work(seed: int, packets: int, share: float) -> Tally:
    return Fuzzer(seed).run(packets, share)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, print the counts; 1 when a packet was misread."""
    options = _parse(arguments)
    started = time.monotonic()
    jobs = [
        (options.seed * 1_000 + n, options.packets // PROCESSES, options.engine)
        for n in range(PROCESSES)
    ]
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        tallies = pool.starmap(_work, jobs)
    print(f"{machine()}; seed {options.seed}; {time.monotonic() - started:.0f} s\n")
    _print(tallies)
    faults = sum((t.faults for t in tallies), Counter())
    if options.examples:
        examples: dict[str, Any] = {k: v for t in tallies for k, v in t.examples.items()}
        options.examples.write_text(json.dumps(examples, indent=1))
    return int(bool(faults))


def _print(tallies: Sequence[Tally]) -> None:
    packets = sum(t.packets for t in tallies)
    asked, late = sum(t.engine for t in tallies), sum(t.late for t in tallies)
    print(f"packets read: {packets:,}; through the engine: {asked:,}, of which too late: {late:,}")
    for kind, count in sum((t.kinds for t in tallies), Counter()).most_common():
        print(f"{count:>10,}  {kind}")
    faults = sum((t.faults for t in tallies), Counter())
    print(f"misread: {sum(faults.values()):,}")
    for kind, count in faults.most_common():
        print(f"{count:>10,}  {kind}")
    own_us = sum(t.own_s for t in tallies) / packets / 4 * 1e6
    print(f"one reading: {own_us:.1f} µs; longest: {max(t.longest_us for t in tallies):,.0f} µs")
    for tally in tallies:
        steps = ", ".join(f"{kib / 1024:.0f}" for kib in tally.grown_kib)
        print(f"MiB resident, after each tenth from the second on: {steps}")
        first, last = tally.blocks
        print(f"blocks in use without what is remembered: {first:,} then, {last:,} at the end")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", type=float, default=0.2, help="share through the engine")
    parser.add_argument("--examples", type=Path, help="write spoiled packets of each kind here")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
