"""Proves that the compiled loop misreads no reply: spoiled ones held against both other readers.

Each packet is sent to the loop over a socket as the reply to its own question, twice, with other
octets behind it in memory. A line that the loop writes has to be the one that the reference engine
writes, octet for octet, its columns those of the same result, also where the loop writes only names
and data, and its records those that dnspython reads.
"""

import argparse
import os
import random
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dns.exception

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.dns import oracle
from benchmarks.dns.figures import machine
from benchmarks.dns.packets import Packet, Planner, corrupt
from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.compiled.loading import load_step
from crawlers.compiled.memory import Memory
from crawlers.dns import cname
from crawlers.dns.message import TYPE_NAMES, Malformed
from crawlers.dns.message_reader import Reply, read_reply
from crawlers.dns.name_codec import plain_name
from crawlers.engine.config import Lines, Question, Result
from crawlers.files.columns import tabulate
from crawlers.files.jsonl import LineWriter
from crawlers.files.line_columns import WaitingLines

ACCEPTED, LEFT = "lines of the compiled loop", "left to the reference engine"
REFUSED = "lines of replies that dnspython refuses as a whole"
_LABEL = "127.0.0.1:53"
_FAMILY, _COPIES = 6, 5
_TRIES = 3
# What follows a packet in its cell, in turn.
_REST = (b"\0", b"\xc0", b"\x01")


class OneReply:
    """The compiled loop with one slot, and a socket that sends it replies."""

    def __init__(self) -> None:
        step = load_step(lambda: None)
        if step is None:
            raise RuntimeError("this machine cannot have the compiled loop")
        self._step = step
        self._memory = memory = Memory(1, 1, 1, has_records=True)
        self._here, self._there = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "12")
        self._here.bind(("127.0.0.1", 0))
        self._there.bind(("127.0.0.1", 0))
        self._here.connect(self._there.getsockname())
        self._there.connect(self._here.getsockname())
        memory.words[m.N_SERVERS] = memory.words[m.N_CHANNELS] = 1
        memory.words[m.N_POLLED] = 1
        memory.rows(m.CHANNELS)[m.C_FD] = self._here.fileno()
        memory.rows(m.POLLED)[0] = self._here.fileno() | 1 << 32
        text = f'],"resolver":"{_LABEL}","protocol":"udp","attempts":1,"rtt_ms":'.encode()
        memory.octets(m.SERVER_TEXTS)[: len(text)] = text
        memory.rows(m.SERVERS)[m.S_TEXT_LENGTH] = len(text)

    def close(self) -> None:
        self._here.close()
        self._there.close()

    def checks_bounds(self, packet: bytes, asked: bytes, rrtype: str, code: int) -> bool:
        """Whether the loop stops where it would write a line outside of its region."""
        length = self._memory.words[m.LENGTHS + m.OUT]
        self._memory.words[m.LENGTHS + m.OUT] = 8
        try:
            self.read(packet, asked, rrtype, code, b"\0")
        except RuntimeError:
            return True
        finally:
            self._memory.words[m.LENGTHS + m.OUT] = length
        return False

    def read(
        self,
        packet: bytes,
        asked: bytes,
        rrtype: str,
        code: int,
        rest: bytes,
        *,
        has_lines: bool = True,
    ) -> bytes:
        """The line that the loop writes for a packet, or nothing where it leaves it.

        Without ``has_lines`` it is only names and data, without a separator.
        """
        memory, words = self._memory, self._memory.words
        words[m.HAS_LINES] = int(has_lines)
        memory.set_types([(rrtype, code)])
        ident = packet[0] << 8 | packet[1]
        row = memory.rows(m.SLOTS)
        row[m.Q_LENGTH], row[m.Q_TYPE] = len(asked), 0
        memory.octets(m.QUESTIONS)[: len(asked)] = asked
        memory.octets(m.RECEIVE_CELLS)[: m.RECEIVE_CELL] = rest * m.RECEIVE_CELL
        memory.link_slot(0, 0, ident)
        for counter in (m.OUT_AT, m.N_UNUSUAL, m.STEP_UNTIL, m.N_FREE, m.N_RESULTS, m.N_RECORDS):
            words[counter] = 0
        words[m.IN_FLIGHT], words[m.WAIT_UNTIL] = 1, m.NEVER
        self._there.send(packet)
        # Where this process was stopped and continued, the system call returns without a packet.
        if not any(self._step(memory.address) == 1 for _ in range(_TRIES)):
            raise RuntimeError("a packet was lost")
        if memory.is_linked(0):
            memory.unlink_slot(0)
        return bytes(memory.octets(m.OUT)[: words[m.OUT_AT]])

    def read_columns(self, rrtype: str) -> dict[str, list[Any]]:
        """Columns of the line that was written last."""
        memory, words = self._memory, self._memory.words
        waiting = WaitingLines(1)
        waiting.add(
            Lines(
                memory.octets(m.OUT)[: words[m.OUT_AT]],
                memory.rows(m.RESULTS)[: m.RESULT_WORDS].tobytes(),
                1,
                memory.rows(m.RECORDS)[: words[m.N_RECORDS] * m.RECORD_WORDS].tobytes(),
                (rrtype,),
                (_LABEL,),
            )
        )
        waiting.collect(0)
        return {name: column.to_pylist() for name, column in waiting.pop().items()}


class Comparison:
    """Counts of one seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.faults: list[tuple[str, bytes]] = []
        self._loop = OneReply()

    def run(self, packets: int) -> None:
        """Compare so many packets."""
        planner = Planner(self._chance)
        while self.counts[ACCEPTED] + self.counts[LEFT] < packets:
            for packet in planner.family(_FAMILY):
                for data in self._copies(packet):
                    self.compare(data, packet.question_end)
        self._loop.close()

    def _copies(self, packet: Packet) -> Iterator[bytes]:
        yield packet.data
        for _ in range(_COPIES):
            yield corrupt(self._chance, packet, floor=packet.question_end)

    def compare(self, packet: bytes, end: int) -> None:
        """One packet in all ways, if a list of names can hold its question."""
        name, asked = plain_name(packet, 12), packet[12:end]
        rrtype = TYPE_NAMES.get(packet[end - 4] << 8 | packet[end - 3], "")
        if not name or not 0 < len(rrtype) < m.TYPE_TEXT or len(packet) > m.RECEIVE_CELL:
            return
        code = packet[end - 4] << 8 | packet[end - 3]
        line, columns = self._read_repeatedly(packet, asked, rrtype, code)
        self.counts[ACCEPTED if columns else LEFT] += 1
        if not columns:
            return
        try:
            reply = read_reply(packet, end)
        except Malformed:
            self.faults.append(("accepted, but malformed", packet))
            return
        if fault := _find_fault(line, columns, _result(Question(name, rrtype), reply)):
            self.faults.append((fault, packet))
            return
        try:
            whole = read_reply(packet, end, additionals=True)
            found = oracle.differences(whole, oracle.read_message(packet))
        except (Malformed, dns.exception.DNSException):
            # It reads the additional section, too, which no line holds.
            self.counts[REFUSED] += 1
            return
        if found:
            self.faults.append((f"dnspython: {found[0]}", packet))

    def _read_repeatedly(
        self, packet: bytes, asked: bytes, rrtype: str, code: int
    ) -> tuple[bytes, list[dict[str, list[Any]]]]:
        """The line of a packet if it has one, and its columns with the line and without."""
        lines = [_without_times(self._loop.read(packet, asked, rrtype, code, r)) for r in _REST]
        if any(line != lines[0] for line in lines):
            self.faults.append(("octets behind the packet", packet))
        columns = [self._loop.read_columns(rrtype)] if lines[0] else []
        # A reply that is too long as a JSON line may be short enough without.
        if self._loop.read(packet, asked, rrtype, code, _REST[0], has_lines=False):
            columns.append(self._loop.read_columns(rrtype))
        elif lines[0]:
            self.faults.append(("left without lines", packet))
        return lines[0], columns


def _find_fault(
    line: bytes, columns: Sequence[dict[str, list[Any]]], expected: Result | None
) -> str:
    """How a line or its columns differ from the result of the reference engine."""
    if expected is None:
        return "another status"
    if line and line != _without_times(LineWriter().write([expected]).encode()):
        return "another line"
    table = tabulate([expected], 1).to_pydict()
    keys = table.keys() - {"rtt_ms", "at"}
    is_same = all(found[key] == table[key] for found in columns for key in keys)
    return "" if is_same else "other columns"


def _without_times(line: bytes) -> bytes:
    return line.partition(b',"rtt_ms"')[0]


def _result(question: Question, reply: Reply) -> Result | None:
    """What the reference engine makes of a reply that ends its question, or nothing."""
    if reply.truncated or reply.rcode not in (0, 3):
        return None
    status = DnsStatus.NXDOMAIN if reply.rcode else DnsStatus.NODATA
    records: tuple = ()
    if reply.answers:
        chain = cname.follow(question.name, question.type, reply.answers)
        if not chain.complete:
            return None
        status, records = DnsStatus.NOERROR, chain.records
    return Result(question, status, records, reply.authorities, _LABEL, rtt_ms=0.0, at=0.0)


def _are_bounds_checked() -> bool:
    """Whether an access outside of a region is noticed: the control of a run with bounds."""
    asked = b"\3www\4test\0\0\1\0\1"
    packet = b"\0\7\x84\x80\0\1\0\0\0\0\0\0" + asked
    return OneReply().checks_bounds(packet, asked, "A", 1)


def main() -> int:
    """Run, print the counts; 1 where a reply was misread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if os.environ.get("NUMBA_BOUNDSCHECK") == "1" and not _are_bounds_checked():
        print("NUMBA_BOUNDSCHECK=1 has no effect", file=sys.stderr)
        return 1
    comparison = Comparison(options.seed)
    comparison.run(options.packets)
    print(machine())
    for kind, n in comparison.counts.items():
        print(f"{n:,} {kind}")
    for kind, n in Counter(kind for kind, _ in comparison.faults).items():
        print(f"FAULT {kind}: {n:,}", file=sys.stderr)
    for kind, packet in comparison.faults[:5]:
        print(kind, packet.hex(), file=sys.stderr)
    return int(bool(comparison.faults))


if __name__ == "__main__":
    sys.exit(main())
