"""Receiving: replies are matched to what was asked; silence and TCP answers are noticed.

A reply counts only when socket, id, source address and port, the QR bit and the whole question
agree: id and question are the key under which a question waits, at the one channel that the
packet's source can reach.
"""

import queue
from collections import Counter
from operator import itemgetter
from socket import inet_ntoa
from typing import TYPE_CHECKING

from core.records import Record
from core.statuses import DnsStatus
from crawlers import tcp
from crawlers.channels import Channel, Waiting
from crawlers.questions import Result
from crawlers.replies import Reply, TailCache, read_reply
from crawlers.slots import Slot
from crawlers.wire import Malformed

if TYPE_CHECKING:
    from crawlers.run import Run

# Packets without a question are looked up one by one, so only a few of them in a turn.
_SCANS_PER_TURN = 16
_A_AND_ITS_RECORD = b"\0\1\0\1\xc0\x0c\0\1\0\1"
_FOUR_BYTES = b"\0\4"
_MAKE = tuple.__new__
_STATUS = itemgetter(1)


def _make_kinds() -> dict[bytes, tuple[bool, DnsStatus, bool]]:
    """Flags and counts that the short way reads: (has one record, status, authoritative)."""
    found = {}
    for first in (0x80, 0x81, 0x84, 0x85):
        for second in (n for n in range(0, 256, 16) if not n & 0x40):
            fine, none, aa = bytes((first, second)), bytes((first, second | 3)), bool(first & 4)
            found[fine + b"\0\1\0\1"] = (True, DnsStatus.NOERROR, aa)
            found[fine + b"\0\1\0\0"] = (False, DnsStatus.NODATA, aa)
            found[none + b"\0\1\0\0"] = (False, DnsStatus.NXDOMAIN, aa)
    return found


_KINDS = _make_kinds()


class Receiver:
    """Takes in what comes back to one run."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.engine = run.engine
        self.tails = TailCache(additionals=run.config.additionals)
        self.over_tcp: dict[Slot, None] = {}
        self._tcp_done: queue.SimpleQueue[tuple[Slot, Reply | Exception]] = queue.SimpleQueue()
        self._scans = 0

    def receive(self, wait_s: float) -> None:
        """Read everything that arrived; waits for it at most so long."""
        self._scans = _SCANS_PER_TURN
        for channel, packets in self.engine.sockets.receive(wait_s):
            if channel is None:
                self.engine.stats.stray += len(packets)
            elif packets:
                self._read(channel, packets)
        self._take_tcp()
        self._expire()

    def _read(self, channel: Channel, packets: list[bytes]) -> None:
        """The short way of replies: no record, or one address right behind the question."""
        pop, find_kind, short = channel.pending.pop, _KINDS.get, list[Result]()
        label, now, read_tail = channel.peer.label, self.run.now(), self.tails.get
        at, keep = self.engine.epoch + now, short.append
        for packet in packets:
            kind = find_kind(packet[2:8])
            end = packet.find(b"\0", 12) + 5
            waiting = pop(packet[:2] + packet[12:end], None) if kind else None
            if waiting is None or kind is None:
                self._read_odd(channel, packet, now)
                continue
            has_record, status, authoritative = kind
            sent_at, question = waiting
            start = end + 16 if has_record else end
            is_odd = has_record and (
                packet[end - 4 : end + 6] != _A_AND_ITS_RECORD
                or packet[end + 10 : end + 12] != _FOUR_BYTES
            )
            try:
                tail = None if is_odd else read_tail(packet, start)
            except Malformed:
                tail = None
            if tail is None or tail.rcode or isinstance(question, Slot):
                self._accept(channel, waiting, packet, end, now)
                continue
            answers: tuple[Record, ...] = ()
            if has_record:
                ttl = int.from_bytes(packet[end + 6 : end + 10], "big")
                address = inet_ntoa(packet[end + 12 : start])
                answers = (_MAKE(Record, (question[0], "A", ttl, address)),)
            keep(
                _MAKE(
                    Result,
                    (question, status, answers, tail.authorities, label, "udp", 1)
                    + ((now - sent_at) * 1000, at, tail.additionals, authoritative, tail.scope),
                )
            )
        if short:
            self._take_short(channel, short)

    def _take_short(self, channel: Channel, short: list[Result]) -> None:
        """Bring counters, health and round-trip time up to date, once for a batch."""
        run = self.run
        run.done += short
        run.in_flight -= len(short)
        channel.peer.health.note_answer()
        channel.peer.rtt.learn((short[-1].rtt_ms or 0.0) / 1000)
        for status, n in Counter(map(_STATUS, short)).items():
            self.engine.stats.count(status, n)

    def _accept(
        self, channel: Channel, waiting: Waiting, packet: bytes, end: int, now: float
    ) -> None:
        sent_at, question = waiting
        if not isinstance(question, Slot):
            question = self.run.cases.resume(question, channel, packet[12:end], sent_at)
        self.run.cases.accept(question, packet, end, now)

    def _read_odd(self, channel: Channel, packet: bytes, now: float) -> None:
        """A reply with other flags or counts, or one that fits nothing."""
        if len(packet) < 12 or not packet[2] & 0x80:
            self.engine.stats.stray += 1
            return
        asks_one = packet[4:6] == b"\0\1"
        end = packet.find(b"\0", 12) + 5
        key = packet[:2] + packet[12:end]
        for form in (key, key[:2] + key[2:].lower()) if asks_one else ():
            waiting = channel.pending.pop(form, None)
            if waiting:
                self._accept(channel, waiting, packet, end, now)
                return
        if asks_one or _is_bare_error(packet):
            self._scan(channel, key, now, is_bare=not asks_one)
        else:
            self.engine.stats.stray += 1

    def _scan(self, channel: Channel, key: bytes, now: float, *, is_bare: bool) -> None:
        """Look for a question that a bare error, or a reply in other letters, may belong to."""
        self._scans -= 1
        same_id = (k for k in channel.pending if k[:2] == key[:2]) if self._scans >= 0 else ()
        for found in same_id:
            if not (is_bare or found[2:].lower() == key[2:].lower()):
                continue
            sent_at, question = channel.pending.pop(found)
            if not isinstance(question, Slot):
                question = self.run.cases.resume(question, channel, found[2:], sent_at)
            if is_bare:
                self.run.cases.refuse(question, now)
            else:
                self.run.cases.ask_over_tcp(question)
            return
        self.engine.stats.stray += 1

    def _expire(self) -> None:
        now, cases = self.run.now(), self.run.cases
        for wait_s, queue_ in self.run.silences.items():
            before = now - wait_s
            while queue_ and queue_[0][0] <= before:
                sent_at, key, channel = queue_.popleft()
                waiting = channel.pending.get(key)
                # A key that was answered may serve a later question by now.
                if waiting is None or waiting[0] != sent_at:
                    continue
                del channel.pending[key]
                question = waiting[1]
                if not isinstance(question, Slot):
                    question = cases.resume(question, channel, key[2:], sent_at)
                cases.miss(question, now)

    def ask_over_tcp(self, slot: Slot, query: bytes) -> None:
        """Hand a slot to the threads that speak TCP."""
        server, asked = slot.peer.server, slot.wire
        config = self.run.config
        self.over_tcp[slot] = None

        def work() -> None:
            try:
                packet = tcp.ask(server, query, asked, config.tcp_timeout_s)
                end = 12 + len(asked)
                outcome: Reply | Exception = read_reply(packet, end, additionals=config.additionals)
            except (OSError, Malformed) as error:
                outcome = error
            self._tcp_done.put((slot, outcome))

        slot.sent_at = self.run.now()
        slot.attempts += 1
        self.engine.stats.queries += 1
        self.engine.pool().submit(work)

    def _take_tcp(self) -> None:
        cases = self.run.cases
        while self.over_tcp:
            try:
                slot, outcome = self._tcp_done.get_nowait()
            except queue.Empty:
                return
            self.over_tcp.pop(slot, None)
            now = self.run.now()
            if isinstance(outcome, Reply):
                cases.conclude(slot, outcome, now)
            elif isinstance(outcome, TimeoutError):
                cases.retry(slot, DnsStatus.TIMEOUT, now)
            else:
                bad = isinstance(outcome, Malformed)
                cases.retry(slot, DnsStatus.MALFORMED if bad else DnsStatus.NETWORK, now)


def _is_bare_error(packet: bytes) -> bool:
    return len(packet) == 12 and packet[3] & 15 == 1 and packet[4:] == b"\0" * 8
