"""One bulk run: a window of questions in flight, their time-outs and retries.

Nothing is scheduled per packet: a loop fills the window, drains the sockets, and looks at the
heads of queues for what timed out. A reply counts only when socket, id, source address and port,
the QR bit and the whole question agree.
"""

import queue
import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from core.errors import BadInput
from core.records import Answer, Record
from core.statuses import RETRY_ELSEWHERE, DnsStatus
from crawlers import chains, tcp, wire
from crawlers.questions import Question
from crawlers.wire import Malformed, Reply

if TYPE_CHECKING:
    from crawlers.engine import Engine

_DRAIN = 256
_STATUS_BY_RCODE = {
    1: DnsStatus.FORMERR,
    2: DnsStatus.SERVFAIL,
    3: DnsStatus.NXDOMAIN,
    4: DnsStatus.NOTIMP,
    5: DnsStatus.REFUSED,
}


class Slot:
    """A question in flight."""

    __slots__ = (
        "asked",
        "attempts",
        "edns",
        "key",
        "parts",
        "question",
        "sent_at",
        "server",
        "status",
        "tries",
        "wire",
    )

    def __init__(self, question: Question, wire_question: bytes, server: int) -> None:
        self.question = question
        self.asked = question.name
        self.wire = wire_question
        self.server = server
        self.tries = 0
        self.attempts = 0
        self.edns = True
        self.parts: list[tuple[Record, ...]] = []
        self.status = DnsStatus.TIMEOUT
        self.sent_at = 0.0
        self.key = -1


class Window:
    """One call of ``resolve``: window, timeouts, retries."""

    def __init__(self, engine: "Engine", questions: Iterator[Question]) -> None:
        self.engine = engine
        self.config = engine.config
        self.questions = questions
        self.exhausted = False
        self.pending: dict[int, Slot] = {}
        self.again: deque[Slot] = deque()
        # One queue per try: within a queue deadlines come in order, so only heads are looked at.
        self.deadlines: list[deque[tuple[float, int, Slot]]] = [
            deque() for _ in range(self.config.retries + 1)
        ]
        self.done: list[tuple[Question, Answer]] = []
        self.over_tcp = 0
        self.tcp_done: queue.SimpleQueue[tuple[Slot, Reply | Exception, float]] = (
            queue.SimpleQueue()
        )

    def take_done(self) -> list[tuple[Question, Answer]]:
        done, self.done = self.done, []
        return done

    def step(self) -> bool:
        """Fill, drain, expire once; false when nothing is left to do."""
        starved = self._fill()
        received = self._drain()
        self._take_tcp()
        self._expire()
        if not received and not self.done and (self.pending or self.over_tcp or starved):
            self._wait(starved)
        return bool(self.pending or self.again or self.over_tcp or not self.exhausted)

    def _wait(self, starved: bool) -> None:
        wait_s = 0.002 if starved or self.over_tcp else 0.05
        heads = [d[0][0] for d in self.deadlines if d]
        if heads:
            wait_s = min(wait_s, max(0.0, min(heads) - time.monotonic()))
        self.engine._poll.poll(wait_s * 1000 + 0.5)

    def _fill(self) -> bool:
        """Send while there is room; true when only a rate limit holds questions back."""
        room = self.config.window - len(self.pending) - self.over_tcp
        while room > 0:
            slot = self._next_slot()
            if slot is None:
                return False
            if not self._send(slot):
                self.again.appendleft(slot)
                return True
            room -= 1
        return False

    def _next_slot(self) -> Slot | None:
        if self.again:
            return self.again.popleft()
        while not self.exhausted:
            question = next(self.questions, None)
            if question is None:
                self.exhausted = True
                return None
            slot = self._make_slot(question)
            if slot is not None:
                return slot
        return None

    def _make_slot(self, question: Question) -> Slot | None:
        engine = self.engine
        try:
            encoded = wire.encode_question(question.name, question.type)
        except (BadInput, KeyError):
            slot = Slot(question, b"", 0)
            self._finish(slot, DnsStatus.MALFORMED, time.monotonic(), None)
            return None
        server = engine._next_server
        engine._next_server = (server + 1) % len(engine.servers)
        return Slot(question, encoded, server)

    def _send(self, slot: Slot) -> bool:
        engine = self.engine
        now = time.monotonic()
        if engine._buckets and not engine._buckets[slot.server].take(now):
            return False
        choices = engine._socket_choices[slot.server]
        index = choices[engine._next_socket % len(choices)]
        engine._next_socket += 1
        key = index << 16 | engine.random_id()
        while key in self.pending:
            key = index << 16 | engine.random_id()
        packet = wire.encode_query(key & 0xFFFF, slot.wire, edns=slot.edns)
        try:
            engine._sockets[index].sendto(packet, engine._peers[slot.server])
        except BlockingIOError:
            return False
        except OSError:
            slot.attempts += 1
            self._retry(slot, DnsStatus.NETWORK, now)
            return True
        slot.attempts += 1
        slot.sent_at = now
        slot.key = key
        engine.stats.queries += 1
        self.pending[key] = slot
        wait_s = engine._rtt[slot.server].timeout_s(slot.tries)
        self.deadlines[slot.tries].append((now + wait_s, key, slot))
        return True

    def _drain(self) -> int:
        received = 0
        for index, sock in enumerate(self.engine._sockets):
            base = index << 16
            for _ in range(_DRAIN):
                try:
                    packet, peer = sock.recvfrom(65_535)
                except BlockingIOError:
                    break
                except OSError:
                    # An ICMP error of some earlier packet; its question will time out.
                    continue
                received += 1
                self._accept(base, packet, peer)
        return received

    def _accept(self, base: int, packet: bytes, peer: tuple[str, int]) -> None:
        slot = self.pending.get(base | packet[0] << 8 | packet[1]) if len(packet) >= 12 else None
        if slot is None or not self._fits(slot, packet, peer):
            self.engine.stats.stray += 1
            return
        del self.pending[slot.key]
        now = time.monotonic()
        if not slot.tries:
            self.engine._rtt[slot.server].learn(now - slot.sent_at)
        if packet[4:6] != b"\0\1":
            self._refuse(slot, packet[3] & 15, now)
            return
        try:
            reply = wire.read_reply(packet, len(slot.wire))
        except Malformed:
            self._retry(slot, DnsStatus.MALFORMED, now)
            return
        if reply.truncated:
            self._ask_over_tcp(slot)
        else:
            self._conclude(slot, reply, now)

    def _fits(self, slot: Slot, packet: bytes, peer: tuple[str, int]) -> bool:
        """Whether source and question agree; old servers answer FORMERR with a bare header."""
        if peer[:2] != self.engine._peers[slot.server]:
            return False
        return tcp.matches(packet, slot.key & 0xFFFF, slot.wire) or _is_bare_error(packet)

    def _refuse(self, slot: Slot, rcode: int, now: float) -> None:
        reply = Reply(rcode or 1, False, (), ())
        self._conclude(slot, reply, now)

    def _conclude(self, slot: Slot, reply: Reply, now: float, protocol: str = "udp") -> None:
        if reply.rcode == 1 and slot.edns:
            # A server older than EDNS: ask once more without it (RFC 6891 section 7).
            slot.edns = False
            self.again.append(slot)
            return
        if reply.rcode not in (0, 3):
            self._retry(slot, _STATUS_BY_RCODE.get(reply.rcode, DnsStatus.OTHER), now)
            return
        chain = chains.follow(slot.asked, slot.question.type, reply.answers)
        slot.parts.append(chain.records)
        if chain.loop or len(slot.parts) > chains.MAX_CHAIN:
            self._finish(slot, DnsStatus.CNAME_LOOP, now, reply, protocol)
        elif chain.target and reply.rcode == 0 and not _says_nothing_there(reply):
            self._follow(slot, chain.target, now)
        else:
            status = DnsStatus.NODATA if reply.rcode == 0 else DnsStatus.NXDOMAIN
            status = DnsStatus.NOERROR if chain.complete else status
            self._finish(slot, status, now, reply, protocol)

    def _follow(self, slot: Slot, target: str, now: float) -> None:
        try:
            slot.wire = wire.encode_question(target, slot.question.type)
        except BadInput:
            self._finish(slot, DnsStatus.MALFORMED, now, None)
            return
        if any(target == r.name for part in slot.parts for r in part):
            self._finish(slot, DnsStatus.CNAME_LOOP, now, None)
            return
        slot.asked = target
        slot.tries = 0
        self.again.append(slot)

    def _retry(self, slot: Slot, status: DnsStatus, now: float) -> None:
        """Try another server, or end with the most telling status that was seen."""
        if slot.status == DnsStatus.TIMEOUT or status != DnsStatus.TIMEOUT:
            slot.status = status
        if status not in RETRY_ELSEWHERE or slot.tries >= self.config.retries:
            self._finish(slot, slot.status, now, None)
            return
        slot.tries += 1
        slot.server = (slot.server + 1) % len(self.engine.servers)
        self.engine.stats.retries += 1
        self.again.append(slot)

    def _expire(self) -> None:
        now = time.monotonic()
        for deadlines in self.deadlines:
            while deadlines and deadlines[0][0] <= now:
                _, key, slot = deadlines.popleft()
                # A key that was answered may serve a later question by now.
                if self.pending.get(key) is slot:
                    del self.pending[key]
                    self._retry(slot, DnsStatus.TIMEOUT, now)

    def _ask_over_tcp(self, slot: Slot) -> None:
        engine = self.engine
        engine.stats.tcp += 1
        self.over_tcp += 1
        server, timeout_s = engine.servers[slot.server], self.config.tcp_timeout_s
        query_id, asked = engine.random_id(), slot.wire

        def work() -> None:
            try:
                outcome: Reply | Exception = tcp.ask(server, query_id, asked, timeout_s)
            except (OSError, Malformed) as error:
                outcome = error
            self.tcp_done.put((slot, outcome, time.monotonic()))

        engine.pool().submit(work)

    def _take_tcp(self) -> None:
        while self.over_tcp:
            try:
                slot, outcome, now = self.tcp_done.get_nowait()
            except queue.Empty:
                return
            self.over_tcp -= 1
            slot.attempts += 1
            self.engine.stats.queries += 1
            if isinstance(outcome, Reply):
                self._conclude(slot, outcome, now, "tcp")
            elif isinstance(outcome, TimeoutError):
                self._retry(slot, DnsStatus.TIMEOUT, now)
            else:
                bad = isinstance(outcome, Malformed)
                self._retry(slot, DnsStatus.MALFORMED if bad else DnsStatus.NETWORK, now)

    def _finish(
        self,
        slot: Slot,
        status: DnsStatus,
        now: float,
        reply: Reply | None,
        protocol: str = "udp",
    ) -> None:
        parts = slot.parts
        answer = Answer(
            name=slot.question.name,
            type=slot.question.type,
            status=status,
            answers=parts[0] if len(parts) == 1 else chains.joined(parts),
            authorities=reply.authorities if reply else (),
            resolver=str(self.engine.servers[slot.server]),
            protocol=protocol,
            attempts=max(1, slot.attempts),
            rtt_ms=round((now - slot.sent_at) * 1000, 3) if reply and slot.sent_at else None,
            at=self.engine._epoch + now,
        )
        self.engine.stats.by_status[status] += 1
        self.done.append((slot.question, answer))


def _is_bare_error(packet: bytes) -> bool:
    is_error = packet[2] & 0x80 != 0 and packet[3] & 15 == 1
    return is_error and len(packet) == 12 and packet[4:] == b"\0" * 8


def _says_nothing_there(reply: Reply) -> bool:
    # A SOA in the authority section: the server knows the zone, and there is no such data.
    return any(r.type == "SOA" for r in reply.authorities)
