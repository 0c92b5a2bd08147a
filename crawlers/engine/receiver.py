"""Receive replies and match them to pending queries; notice timeouts and answers over TCP.

A reply counts only if socket, id, source address and port, the QR bit and the whole question
section agree. Id and question are the key of a pending query in the one channel that the packet's
source address can reach.
"""

import heapq
import queue
import struct
from collections import Counter
from collections.abc import Iterable
from itertools import count
from operator import itemgetter
from socket import inet_ntoa
from typing import TYPE_CHECKING

from core.records import Record
from core.statuses import DnsStatus
from crawlers.dns import cname
from crawlers.dns.message import Malformed
from crawlers.dns.message_reader import Reply, read_reply
from crawlers.dns.name_codec import Names
from crawlers.dns.reply_cache import Entries, SectionCache, SectionTail
from crawlers.dns.section_reader import FAULTS, read_records
from crawlers.engine import tcp
from crawlers.engine.config import Question, Result
from crawlers.engine.retry import PendingQuery
from crawlers.engine.sockets import Channel, Waiting

if TYPE_CHECKING:
    from crawlers.engine.query_run import Run

# Type and class of a question for an address, and the record that points back at its name.
_A_RECORD = struct.Struct("!10sI2s4s")
_A_AND_ITS_RECORD = b"\0\1\0\1\xc0\x0c\0\1\0\1"
_FOUR_BYTES = b"\0\4"
_MAKE = tuple.__new__
_STATUS = itemgetter(1)
_MOST_ANSWERS, _KEPT_KINDS = 24, 4_096


# Number of answers, status, whether the server is the zone's own, and known ends of such replies.
_Kind = tuple[int, DnsStatus, bool, Entries]


def _build_header_table() -> dict[bytes, tuple[int, DnsStatus, bool]]:
    """Flags and counts that the short way reads: (number of answers, status, authoritative)."""
    found = {}
    for first in (0x80, 0x81, 0x84, 0x85):
        for second in (n for n in range(0, 256, 16) if not n & 0x40):
            fine, none, aa = bytes((first, second)), bytes((first, second | 3)), bool(first & 4)
            found[fine + b"\0\1\0\0"] = (0, DnsStatus.NODATA, aa)
            found[none + b"\0\1\0\0"] = (0, DnsStatus.NXDOMAIN, aa)
            for n in range(1, _MOST_ANSWERS):
                found[fine + b"\0\1\0" + bytes((n,))] = (n, DnsStatus.NOERROR, aa)
    return found


_KINDS = _build_header_table()


class Receiver:
    """Receives the replies of one run."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.engine = run.engine
        self.tails = SectionCache(additionals=run.config.additionals)
        self._kinds: dict[bytes, _Kind] = {}
        self.over_tcp: dict[PendingQuery, None] = {}
        # When overdue queries are to be sent again: time, order, which attempt of the slot.
        self._resends: list[tuple[float, int, int, PendingQuery]] = []
        self._order = count()
        self._tcp_done: queue.SimpleQueue[tuple[PendingQuery, Reply | Exception]] = (
            queue.SimpleQueue()
        )

    def receive(self, wait_s: float) -> None:
        """Read everything that arrived; waits for it at most so long."""
        self.read_all(self.engine.sockets.receive(wait_s))
        self.settle()

    def read_all(self, received: Iterable[tuple[Channel | None, list[bytes]]]) -> None:
        """Read packets by channel."""
        for channel, packets in received:
            if channel is None:
                self.engine.stats.stray += len(packets)
            elif packets:
                self.read(channel, packets)

    def settle(self) -> None:
        """Read answers that came over TCP, and notice what did not come."""
        self._collect_tcp()
        self._expire()

    def read(  # noqa: C901, PLR0915
        self, channel: Channel, packets: list[bytes], arrived_at: float | None = None
    ) -> None:
        """The short way of replies: no record, or one address right behind the question.

        They arrived now, or at a time of ``time.monotonic``.
        """
        # The path of most replies is one function: a call costs as much as its work.
        pending, short = channel.pending, list[Result]()
        now = self.run.now() if arrived_at is None else arrived_at
        find, find_kind, make, unpack = pending.get, self._kinds.get, _MAKE, _A_RECORD.unpack_from
        has_mixed_cases = self.run.config.case_mixing
        label, at, last_sent_at, rtt_ms = channel.peer.label, self.engine.epoch + now, 0.0, 0.0
        for packet in packets:
            waiting, kind = find(packet[:2]), find_kind(packet[2:12]) or self._learn_kind(packet)
            if waiting is None or kind is None or not packet.startswith(waiting[0], 12):
                self._read_unusual(channel, packet, waiting, now)
                continue
            del pending[packet[:2]]
            asked, sent_at, question = waiting
            end = 12 + len(asked)
            if has_mixed_cases:
                # Everything behind leans on the question; what is known of it is in small letters.
                packet = b"".join((packet[:12], asked.lower(), packet[end:]))
            if isinstance(question, PendingQuery):
                self.run.pending_queries.accept(question, packet, end, now)
                continue
            n_answers, status, authoritative, entries = kind
            answers: tuple[Record, ...] = ()
            tail: SectionTail | None = None
            try:
                if n_answers == 1:
                    head, ttl, size, address = unpack(packet, end - 4)
                    if head == _A_AND_ITS_RECORD and size == _FOUR_BYTES and not ttl >> 31:
                        leaned_on, meanings = entries[packet[end + 16 :]][end + 16]
                        tail = meanings[packet[leaned_on]]
                        record = (question[0].lower(), "A", ttl, inet_ntoa(address))
                        answers = (make(Record, record),)
                elif not n_answers:
                    leaned_on, meanings = entries[packet[end:]][end]
                    tail = meanings[packet[leaned_on]]
            except (KeyError, struct.error):
                tail = None
            if tail is None or tail[3]:
                found = self._read_whole(packet, end, question, n_answers)
                if found is None:
                    self._accept(channel, waiting, packet, now)
                    continue
                answers, tail = found
            if sent_at != last_sent_at:
                last_sent_at, rtt_ms = sent_at, (now - sent_at) * 1000
            # fmt: off
            result = (
                question, status, answers, tail[0], label, "udp", 1, rtt_ms, at,
                tail[1], authoritative, tail[2],
            )
            # fmt: on
            short.append(make(Result, result))
        if short:
            self._record_batch(channel, short)

    def read_usual(
        self, channel: Channel, waiting: tuple[bytes, float, Question], packet: bytes, now: float
    ) -> Result | None:
        """The result of a reply to a query, if it is complete and has its question.

        Counters, health and round-trip time are the caller's.
        """
        asked, sent_at, question = waiting
        kind = self._kinds.get(packet[2:12]) or self._learn_kind(packet)
        if kind is None or not packet.startswith(asked, 12):
            return None
        end = 12 + len(asked)
        if self.run.config.case_mixing:
            packet = b"".join((packet[:12], asked.lower(), packet[end:]))
        found = self._read_whole(packet, end, question, kind[0])
        if found is None:
            return None
        (answers, tail), (_, status, authoritative, _) = found, kind
        fate = (question, status, answers, tail[0], channel.peer.label, "udp", 1)
        times = ((now - sent_at) * 1000, self.engine.epoch + now)
        return _MAKE(Result, (*fate, *times, tail[1], authoritative, tail[2]))

    def _learn_kind(self, packet: bytes) -> _Kind | None:
        """What the short way makes of a reply's flags and counts, or nothing."""
        found = _KINDS.get(packet[2:8])
        if found is None or len(packet) < 12:
            return None
        kind = (*found, self.tails.entries_of(packet[8:12]))
        if len(self._kinds) < _KEPT_KINDS:
            self._kinds[packet[2:12]] = kind
        return kind

    def _read_whole(
        self, packet: bytes, end: int, question: Question, n_answers: int
    ) -> tuple[tuple[Record, ...], SectionTail] | None:
        """Return answers and the rest of a complete reply, or nothing for the slow path."""
        try:
            if n_answers:
                return self._read_chain(packet, end, question, n_answers)
            tail = self.tails.get(packet, end)
        except (*FAULTS, Malformed):
            return None
        return None if tail.rcode else ((), tail)

    def _read_chain(
        self, packet: bytes, end: int, question: Question, n_answers: int
    ) -> tuple[tuple[Record, ...], SectionTail] | None:
        """The same for other records and for chains of aliases."""
        records, end = read_records(Names(packet), end, n_answers)
        tail = self.tails.get(packet, end)
        if self.run.config.follow:
            chain = cname.follow(question[0].lower(), question[1], records)
            if not chain.complete:
                return None
            records = chain.records
        # Records of other classes are left out, and none may be left.
        return None if tail.rcode or not records else (records, tail)

    def _record_batch(self, channel: Channel, short: list[Result]) -> None:
        """Bring counters, health and round-trip time up to date, once for a batch."""
        run = self.run
        run.done += short
        run.in_flight -= len(short)
        channel.peer.health.note_answer()
        channel.peer.window.note_answers(len(short))
        now = run.now()
        run.outages.note_reply(channel.peer, now)
        run.outages.note_resolved(channel.peer, short[-1].question, now)
        channel.peer.rtt.learn((short[-1].rtt_ms or 0.0) / 1000)
        if len(short) == 1:
            self.engine.stats.count(short[0].status)
            return
        for status, n in Counter(map(_STATUS, short)).items():
            self.engine.stats.count(status, n)

    def _accept(self, channel: Channel, waiting: Waiting, packet: bytes, now: float) -> None:
        """The long way of a reply that fits its question and was taken from those that wait."""
        asked, sent_at, question = waiting
        if not isinstance(question, PendingQuery):
            question = self.run.pending_queries.resume(question, channel, asked, sent_at)
        self.run.pending_queries.accept(question, packet, 12 + len(asked), now)

    def _read_unusual(
        self, channel: Channel, packet: bytes, waiting: Waiting | None, now: float
    ) -> None:
        """A reply with other flags, counts or letters, or one that fits nothing."""
        # A reply has the operation of its question (RFC 1035 section 4.1.1): QR set, opcode 0.
        is_reply = len(packet) >= 12 and packet[2] & 0xF8 == 0x80
        is_overdue = waiting is None
        waiting = waiting or self._find_overdue(channel, packet[:2])
        asked = waiting[0] if waiting and is_reply else b""
        answered = _question_of(packet, len(asked))
        is_same = bool(asked) and answered.lower() == asked.lower()
        if waiting is None or not (is_same or asked and _is_bare_error(packet)):
            if not (is_reply and self._accept_late(channel, packet)):
                self.engine.stats.stray += 1
            return
        if is_overdue:
            self._end_overdue(channel, packet[:2])
        else:
            del channel.pending[packet[:2]]
        slot = waiting[2]
        if isinstance(slot, PendingQuery):
            slot.is_waiting = False
        # Without case mixing the case is irrelevant; with it a changed case may be a forgery.
        if is_same and (answered == asked or not self.run.config.case_mixing):
            self._accept(channel, waiting, packet, now)
            return
        if not isinstance(slot, PendingQuery):
            slot = self.run.pending_queries.resume(slot, channel, asked, waiting[1])
        if is_same:
            self.run.pending_queries.ask_over_tcp(slot)
        else:
            self.run.pending_queries.refuse(slot, now)

    def _find_overdue(self, channel: Channel, ident: bytes) -> Waiting | None:
        """Return what waits for a reply to its last try after its first timeout.

        It stays overdue until a reply fits its question: any packet may have its id.
        """
        found = channel.overdue.get(ident)
        if found is None or not found[2].is_waiting or found[2].sent[-1] != (channel, ident):
            return None
        return found

    def _end_overdue(self, channel: Channel, ident: bytes) -> None:
        """Learn from the reply to an overdue query, which is over."""
        _, sent_at, _ = channel.overdue.pop(ident)
        now = self.run.now()
        channel.peer.rtt.learn(now - sent_at)
        channel.peer.window.late_at = now

    def _accept_late(self, channel: Channel, packet: bytes) -> bool:
        """Record the reply to a query that was sent again since; whether it was one."""
        overdue = channel.overdue.get(packet[:2])
        if overdue is None:
            return False
        asked, sent_at, slot = overdue
        answered = _question_of(packet, len(asked))
        is_same = answered == asked or (
            not self.run.config.case_mixing and answered.lower() == asked.lower()
        )
        return is_same and self.run.pending_queries.accept_late(slot, channel, packet, sent_at)

    def resends_at(self) -> float | None:
        """When the next overdue query is to be sent again; none is: ``None``."""
        return self._resends[0][0] if self._resends else None

    def waiting(self) -> list[PendingQuery]:
        """Slots that wait for a thread, or for a reply to an overdue query."""
        overdue = [x for *_, n, x in self._resends if x.is_waiting and n == x.attempts]
        return [*self.over_tcp, *overdue]

    def _expire(self) -> None:
        now = self.run.now()
        while self._resends and self._resends[0][0] <= now:
            *_, n, slot = heapq.heappop(self._resends)
            if slot.is_waiting and n == slot.attempts:
                slot.is_waiting = False
                self.run.pending_queries.miss(slot, now)
        for wait_s, queue_ in self.run.silences.items():
            before = now - wait_s
            while queue_ and queue_[0][0] <= before:
                sent_at, idents, channel = queue_.popleft()
                for ident in [i for i in idents if i in channel.pending]:
                    # The id of an answered question may be in use by a later one.
                    if channel.pending[ident][1] == sent_at:
                        self.miss(channel, ident, now)

    def miss(self, channel: Channel, ident: bytes, now: float) -> None:
        """Note that a query's time-out is over; a later try is waited for longer, yet accepted."""
        asked, sent_at, slot = channel.pending.pop(ident)
        peer = channel.peer
        peer.window.note_missing(sent_at, now, peer.in_flight)
        if not isinstance(slot, PendingQuery):
            slot = self.run.pending_queries.resume(slot, channel, asked, sent_at)
            slot.sent.append((channel, ident))
        channel.overdue[ident] = (asked, sent_at, slot)
        resend_at = sent_at + peer.rtt.timeout_s(slot.tries)
        if slot.tries and resend_at > now:
            resend = (resend_at, next(self._order), slot.attempts, slot)
            heapq.heappush(self._resends, resend)
            slot.is_waiting = True
        else:
            self.run.pending_queries.miss(slot, now)

    def ask_over_tcp(self, slot: PendingQuery, query: bytes) -> None:
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

    def _collect_tcp(self) -> None:
        pending_queries = self.run.pending_queries
        while self.over_tcp:
            try:
                slot, outcome = self._tcp_done.get_nowait()
            except queue.Empty:
                return
            self.over_tcp.pop(slot, None)
            if slot.is_over:
                continue
            now = self.run.now()
            if isinstance(outcome, Reply):
                pending_queries.conclude(slot, outcome, now)
            elif isinstance(outcome, TimeoutError):
                pending_queries.retry(slot, DnsStatus.TIMEOUT, now)
            else:
                bad = isinstance(outcome, Malformed)
                pending_queries.retry(slot, DnsStatus.MALFORMED if bad else DnsStatus.NETWORK, now)


def _question_of(packet: bytes, size: int) -> bytes:
    """The question section of a packet with one question."""
    return packet[12 : 12 + size] if packet[4:6] == b"\0\1" else b""


def _is_bare_error(packet: bytes) -> bool:
    return len(packet) == 12 and packet[3] & 15 == 1 and packet[4:] == b"\0" * 8
