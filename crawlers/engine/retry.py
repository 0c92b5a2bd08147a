"""Pending queries off the fast path: retransmission, CNAME chains, TCP, limits, unusual replies."""

from copy import copy
from typing import TYPE_CHECKING

from core.errors import BadInput
from core.records import Record
from core.statuses import RETRY_ELSEWHERE, DnsStatus
from crawlers.dns import cname, message
from crawlers.dns.message import Malformed
from crawlers.dns.message_reader import Reply, read_reply
from crawlers.engine.config import Question, Result
from crawlers.engine.outages import Resend
from crawlers.engine.sockets import Channel, Peer

if TYPE_CHECKING:
    from crawlers.engine.query_run import Run

_STATUS_BY_RCODE = {
    1: DnsStatus.FORMERR,
    2: DnsStatus.SERVFAIL,
    3: DnsStatus.NXDOMAIN,
    4: DnsStatus.NOTIMP,
    5: DnsStatus.REFUSED,
}
_FORMERR = 1
_REFUSALS = frozenset({DnsStatus.REFUSED, DnsStatus.SERVFAIL, DnsStatus.NOTIMP, DnsStatus.OTHER})
# From this try on a question is queried without EDNS where none was ever answered with it: some
# firewalls drop what they do not know (RFC 6891 section 6.2.2).
_PLAIN_FROM_TRY = 2


class PendingQuery:
    """A question on the long way."""

    __slots__ = (
        "asked",
        "attempts",
        "began_at",
        "edns",
        "is_over",
        "is_paced",
        "is_repeated",
        "is_waiting",
        "over_tcp",
        "parts",
        "peer",
        "question",
        "resend",
        "sent",
        "sent_at",
        "status",
        "tries",
        "wire",
    )

    def __init__(self, question: Question, wire_question: bytes, peer: Peer) -> None:
        self.question = question
        self.asked = question[0].lower()
        self.wire = wire_question
        self.peer = peer
        self.tries = 0
        self.attempts = 0
        self.began_at = 0.0
        # All its tries were lost in congestion, and it was given as many again.
        self.is_repeated = False
        self.edns = peer.edns
        self.over_tcp = False
        self.is_paced = False
        # Where queries were sent, and their ids: a reply to any of them counts.
        self.sent: list[tuple[Channel, bytes]] = []
        # A late reply ended the question while the slot waited to be sent again.
        self.is_over = False
        # The first time-out of its last try is over, and it is not sent again yet.
        self.is_waiting = False
        self.parts: list[tuple[Record, ...]] = []
        self.status = DnsStatus.TIMEOUT
        self.sent_at = 0.0
        # It got no reply, perhaps because of an outage (``crawlers.engine.outages``).
        self.resend = Resend.NONE


class PendingQueries:
    """What happens to slots; the run carries them."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.config = run.config

    def open(self, question: Question) -> PendingQuery | None:
        """A slot for a question that cannot take the short way, unless it cannot be queried."""
        name, rrtype, _, server, _, _ = question
        peer = self.run.engine.peer_of(server) if server else self.run.next_peer()
        try:
            return PendingQuery(question, message.encode_question(name, rrtype), peer)
        except (BadInput, KeyError):
            self._finish(
                PendingQuery(question, b"", peer), DnsStatus.MALFORMED, self.run.now(), None
            )
            return None

    def resume(
        self, question: Question, channel: Channel, asked: bytes, sent_at: float
    ) -> PendingQuery:
        """Return a slot for a question with a first try by the fast path."""
        slot = PendingQuery(question, asked.lower(), channel.peer)
        slot.attempts = 1
        slot.sent_at = slot.began_at = sent_at
        return slot

    def accept(self, slot: PendingQuery, packet: bytes, end: int, now: float) -> None:
        """Record a reply that fits the slot's question; ``end`` is where that section ends."""
        slot.peer.health.note_answer()
        slot.peer.window.note_answers(1)
        self.run.outages.note_reply(slot.peer, now)
        if not slot.tries:
            slot.peer.rtt.learn(now - slot.sent_at)
        reply = self.read(packet, end)
        if reply is None:
            self.retry(slot, DnsStatus.MALFORMED, now)
        elif reply.truncated:
            self.ask_over_tcp(slot)
        else:
            self.conclude(slot, reply, now)

    def accept_late(
        self, slot: PendingQuery, channel: Channel, packet: bytes, sent_at: float
    ) -> bool:
        """Record the reply to an earlier try, if it settles the question; whether it does."""
        now = self.run.now()
        reply = self.read(packet, 12 + len(slot.wire))
        if reply is None or reply.truncated or reply.rcode not in (0, 3):
            return False
        channel.peer.health.note_answer()
        channel.peer.rtt.learn(now - sent_at)
        channel.peer.window.late_at = now
        self.run.outages.note_reply(channel.peer, now)
        self.conclude(self._succeed(slot, channel.peer, sent_at), reply, now)
        return True

    def _succeed(self, slot: PendingQuery, peer: Peer, sent_at: float) -> PendingQuery:
        """A slot in place of one that lies in some queue, where it is passed over from now on."""
        self.cancel_tries(slot)
        slot.is_over, slot.is_waiting = True, False
        successor = copy(slot)
        successor.is_over = successor.is_waiting = False
        successor.over_tcp = successor.is_paced = False
        successor.sent = []
        successor.peer, successor.sent_at = peer, sent_at
        return successor

    def cancel_tries(self, slot: PendingQuery) -> None:
        """Accept no more replies to what a slot has sent."""
        for channel, ident in slot.sent:
            for waiting in (channel.pending, channel.overdue):
                if ident in waiting and waiting[ident][2] is slot:
                    del waiting[ident]
        slot.sent.clear()

    def read(self, packet: bytes, end: int) -> Reply | None:
        """Return a reply with a question that ends there, None if it is malformed."""
        try:
            return read_reply(
                packet, end, additionals=self.config.additionals, tails=self.run.receiver.tails
            )
        except Malformed:
            return None

    def refuse(self, slot: PendingQuery, now: float) -> None:
        """Record a bare FORMERR, as servers older than EDNS send it."""
        self.conclude(slot, Reply(_FORMERR, truncated=False, authoritative=False), now)

    def conclude(self, slot: PendingQuery, reply: Reply, now: float) -> None:
        """Decide what a well-formed reply means for the slot."""
        if reply.rcode == _FORMERR and slot.edns:
            # A server older than EDNS: ask again without it (RFC 6891 section 7).
            slot.edns = slot.peer.edns = False
            self._again(slot)
            return
        if reply.rcode not in (0, 3):
            self.retry(slot, _STATUS_BY_RCODE.get(reply.rcode, DnsStatus.OTHER), now)
            return
        self.run.outages.note_resolved(slot.peer, slot.question, now)
        if not self.config.follow:
            slot.parts.append(reply.answers)
            self._finish(slot, _plain_status(reply), now, reply)
            return
        self._walk(slot, reply, now)

    def _walk(self, slot: PendingQuery, reply: Reply, now: float) -> None:
        chain = cname.follow(slot.asked, slot.question[1], reply.answers)
        slot.parts.append(chain.records)
        if chain.loop or sum(map(len, slot.parts)) > cname.MAX_CHAIN and not chain.complete:
            self._finish(slot, DnsStatus.CNAME_LOOP, now, reply)
        elif chain.target and reply.rcode == 0 and not _denies_data(reply):
            self._follow(slot, chain.target, now)
        else:
            status = DnsStatus.NODATA if reply.rcode == 0 else DnsStatus.NXDOMAIN
            self._finish(slot, DnsStatus.NOERROR if chain.complete else status, now, reply)

    def _follow(self, slot: PendingQuery, target: str, now: float) -> None:
        try:
            slot.wire = message.encode_question(target, slot.question[1])
        except BadInput:
            self._finish(slot, DnsStatus.MALFORMED, now, None)
            return
        if any(target == r.name for part in slot.parts for r in part):
            self._finish(slot, DnsStatus.CNAME_LOOP, now, None)
            return
        self.cancel_tries(slot)
        slot.asked = target
        slot.tries = 0
        slot.over_tcp = slot.is_paced = False
        self._again(slot)

    def retry(self, slot: PendingQuery, status: DnsStatus, now: float) -> None:
        """Try another server, or end with the most informative status that was seen."""
        if slot.status == DnsStatus.TIMEOUT or status != DnsStatus.TIMEOUT:
            slot.status = status
        # A server that was named explicitly would refuse again.
        is_final = slot.question[3] is not None and status in _REFUSALS
        if is_final or status not in RETRY_ELSEWHERE or slot.tries >= self.config.retries:
            if not (self.run.outages.hold(slot, now) or self._repeat(slot)):
                self._finish(slot, slot.status, now, None)
            return
        slot.tries += 1
        if slot.question[3] is None:
            slot.peer = self.run.other_peer(slot.peer)
        slot.edns = slot.peer.edns and not (
            slot.tries >= _PLAIN_FROM_TRY and slot.status == DnsStatus.TIMEOUT
        )
        slot.over_tcp = slot.is_paced = False
        self.run.engine.stats.retries += 1
        self._again(slot)

    def _repeat(self, slot: PendingQuery) -> bool:
        """Ask again what a server did not answer while it was congested; whether it was."""
        is_lost = slot.status == DnsStatus.TIMEOUT and slot.peer.window.was_congested(slot.began_at)
        if slot.is_repeated or not is_lost or not self.config.retries:
            return False
        slot.is_repeated, slot.tries = True, 0
        slot.is_paced = False
        self.run.engine.stats.retries += 1
        self._again(slot)
        return True

    def miss(self, slot: PendingQuery, now: float) -> None:
        """The time for an answer is over."""
        slot.peer.health.note_silence(now)
        self.retry(slot, DnsStatus.TIMEOUT, now)

    def ask_over_tcp(self, slot: PendingQuery) -> None:
        """Ask the same server by TCP: a cut reply, or one that may be forged."""
        self.run.engine.stats.tcp += 1
        slot.over_tcp = True
        slot.is_paced = False
        self._again(slot)

    def _again(self, slot: PendingQuery) -> None:
        self.run.sender.again.append(slot)

    def _finish(
        self, slot: PendingQuery, status: DnsStatus, now: float, reply: Reply | None
    ) -> None:
        self.cancel_tries(slot)
        parts = slot.parts
        result = Result(
            slot.question,
            status,
            parts[0] if len(parts) == 1 else cname.joined(parts),
            reply.authorities if reply else (),
            slot.peer.label,
            "tcp" if slot.over_tcp else "udp",
            max(1, slot.attempts),
            (now - slot.sent_at) * 1000 if reply and slot.sent_at else None,
            self.run.engine.epoch + now,
            reply.additionals if reply else (),
            bool(reply and reply.authoritative),
            reply.scope if reply else None,
        )
        if not self.run.outages.end_probe(result):
            self.run.end(result)


def _plain_status(reply: Reply) -> DnsStatus:
    if reply.rcode == 3:
        return DnsStatus.NXDOMAIN
    return DnsStatus.NOERROR if reply.answers else DnsStatus.NODATA


def _denies_data(reply: Reply) -> bool:
    # A SOA in the authority section: the server knows the zone, and there is no such data.
    return any(r.type == "SOA" for r in reply.authorities)
