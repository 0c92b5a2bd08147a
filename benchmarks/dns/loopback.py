"""Spoiled replies through a real engine and real sockets: the short way against the long one.

Each question is queried twice and gets the same bytes both times. A question with a client subnet
always takes the long way, so both results have to be equal, and equal to a fresh reading.
"""

import contextlib
import random
import secrets
import socket
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.dns.packets import Packet, corrupt
from core.statuses import DnsStatus
from crawlers.dns.message import TYPE_NAMES, Malformed
from crawlers.dns.message_reader import Reply, read_reply
from crawlers.engine.engine import Engine, EngineConfig, Question, Result
from crawlers.engine.nameservers import Server

AT_ONCE = 32
_SUBNET = "203.0.113.0/24"
_NOTHING = b"\x81\x83\0\1\0\0\0\0\0\0"
# Steps of a hundredth of a second at most; a busy machine may need some.
_MOST_STEPS, _STEP_S = 1_000, 0.01
_STATUS = {2: DnsStatus.SERVFAIL, 4: DnsStatus.NOTIMP, 5: DnsStatus.REFUSED}
_LAST = Result._fields.index("additionals")


class Case(NamedTuple):
    """One reply, as it is sent to both questions."""

    name: str
    type: str
    asked: bytes
    reply: bytes


def build_case(chance: random.Random, packet: Packet) -> Case | None:
    """A case from a reply, where an engine can ask its question."""
    asked = packet.data[12 : packet.question_end]
    labels, at = list[bytes](), 0
    while asked[at]:
        labels.append(asked[at + 1 : at + 1 + asked[at]])
        at += 1 + asked[at]
    name = b".".join(labels).decode("latin-1")
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or not name.isascii():
        return None
    mood = chance.random()
    floor = 12 if mood < 0.1 else packet.question_end
    reply = bytearray(packet.data if mood > 0.9 else corrupt(chance, packet, floor=floor))
    # Truncated replies are repeated over TCP; FORMERR changes the engine's state of the server.
    reply[2:4] = reply[2] & 0xFD, reply[3] ^ (3 if reply[3] & 15 == 1 else 0)
    if mood < 0.02:
        reply[chance.randrange(2, 6)] ^= 1 << chance.randrange(8)
        reply[2] &= 0xFD
        reply[3] &= 0xFE
    del reply[chance.randrange(13) if 0.02 < mood < 0.025 else len(reply) :]
    return Case(name, TYPE_NAMES[asked[-4] << 8 | asked[-3]], asked, bytes(reply))


def is_reply(case: Case) -> bool:
    """Whether the engine has to take the packet for an answer to its question."""
    packet, end = case.reply, 12 + len(case.asked)
    return (
        len(packet) >= 12
        and packet[2] & 0xF8 == 0x80
        and packet[4:6] == b"\0\1"
        and packet[12:end].lower() == case.asked.lower()
    )


class Loopback:
    """An engine and the one socket that answers it."""

    def __init__(self, *, follow: bool) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        config = EngineConfig(
            retries=0, sockets=1, follow=follow, additionals=not follow, timeout_s=20
        )
        server = Server("127.0.0.1", self._socket.getsockname()[1])
        self._follow = follow
        # Replies that this process was too late to read, which a busy machine may cause.
        self.late = 0
        self._engine = Engine([server], config)
        self._run = self._engine.open_run()
        self._synchronise()

    def _synchronise(self) -> None:
        """Discard packets of other senders: on a busy machine others may ask what had this port
        before.
        """
        name = f"{secrets.token_hex(8)}.test"
        self._run.ask([Question(name)])
        results = self._step(0)
        query, peer = b"", ("", 0)
        while name.split(".", maxsplit=1)[0].encode() not in query:
            query, peer = self._socket.recvfrom(512)
        self._socket.connect(peer)
        with contextlib.suppress(BlockingIOError):
            while self._socket.recv(512):
                pass
        self._collect(1, results)

    def reset(self) -> None:
        """Begin again with nothing remembered."""
        self._run = self._engine.open_run()

    def close(self) -> None:
        self._engine.close()
        self._socket.close()

    def differences(self, cases: Sequence[Case]) -> Iterator[tuple[str, Case]]:
        """What differs between both ways; raises ``RuntimeError`` when an answer is missing."""
        self._run.ask(Question(c.name, c.type, i) for i, c in enumerate(cases))
        self._run.ask(
            Question(c.name, c.type, i + len(cases), None, _SUBNET) for i, c in enumerate(cases)
        )
        # On a busy machine a question may have waited too long before it could be answered.
        results = self._step(0)
        queries = self._queries(2 * len(cases), results)
        for query, case in zip(queries, (*cases, *cases), strict=True):
            self._socket.send(query[:2] + case.reply[2:])
        self._collect(len(queries), results)
        for i, case in enumerate(cases):
            found = self._compare(case, results[i], results[i + len(cases)])
            yield from ((kind, case) for kind in found)

    def _queries(self, count: int, results: dict[int, Result]) -> list[bytes]:
        """Receive the engine's queries; it may send some later, after losses on a busy machine."""
        queries: list[bytes] = []
        for _ in range(_MOST_STEPS):
            with contextlib.suppress(BlockingIOError):
                while len(queries) < count:
                    queries.append(self._socket.recv(512))
            if len(queries) == count:
                return queries
            results.update(self._step(_STEP_S))
        raise RuntimeError(f"{len(queries)} of {count} queries were sent")

    def _step(self, wait_s: float) -> dict[int, Result]:
        return {result.question.tag: result for result in self._run.step(wait_s)}

    def _collect(self, count: int, results: dict[int, Result]) -> None:
        """Results of all; what was skipped, or is repeated, gets an empty result."""
        for number in range(_MOST_STEPS):
            results.update(self._step(_STEP_S if number else 0))
            if len(results) == count:
                break
            for channel in self._engine.sockets.channels():
                for ident, (asked, _, _) in channel.pending.items():
                    self._socket.send(ident + _NOTHING + asked)
        with contextlib.suppress(BlockingIOError):
            while self._socket.recv(512):
                pass
        if len(results) < count:
            lost = [repr(question) for question in self._run.open_questions()]
            raise RuntimeError(f"never answered: {lost} of {self._run.in_flight} in flight")

    def _compare(self, case: Case, short: Result, long: Result) -> Iterator[str]:
        if not is_reply(case):
            if {short.status, long.status} - {DnsStatus.NXDOMAIN, DnsStatus.TIMEOUT}:
                yield "an answer that was none was taken"
            return
        if DnsStatus.TIMEOUT in (short.status, long.status):
            self.late += 1
            return
        mine = [(r.status, r.answers, r.authorities, *r[_LAST:]) for r in (short, long)]
        if mine[0] != mine[1]:
            yield "the short way and the long way differ"
        if not (_fits if self._follow else _is_expected)(short, self._expect(case)):
            yield "the engine and a fresh reading differ"

    def _expect(self, case: Case) -> Reply | None:
        try:
            end = 12 + len(case.asked)
            return read_reply(case.reply, end, additionals=not self._follow)
        except Malformed:
            return None


def _is_expected(result: Result, reply: Reply | None) -> bool:
    """Without following, a result is the content of the reply."""
    if reply is None or reply.rcode not in (0, 3):
        status = _STATUS.get(reply.rcode, DnsStatus.OTHER) if reply else DnsStatus.MALFORMED
        return result.status == status and not result.answers
    there = DnsStatus.NOERROR if reply.answers else DnsStatus.NODATA
    status = DnsStatus.NXDOMAIN if reply.rcode == 3 else there
    mine = (result.status, result.authoritative, result.answers, result.authorities)
    rest = (result.additionals, result.scope)
    theirs = (status, reply.authoritative, reply.answers, reply.authorities)
    return mine == theirs and rest == (reply.additionals, reply.scope)


def _fits(result: Result, reply: Reply | None) -> bool:
    """With following, nothing is in the result that is not in the reply."""
    if reply is None or reply.rcode not in (0, 3):
        return _is_expected(result, reply)
    # Behind an alias the engine asks on, and that reply has no authorities.
    return set(result.answers) <= set(reply.answers) and result.authorities in (
        reply.authorities,
        (),
    )
