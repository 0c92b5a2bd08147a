"""Outages of an engine's own servers: hold queries and probe until a server replies.

A missing reply is evidence about its name only if the servers answered any other query meanwhile;
SERVFAIL only if they resolved any other name (a resolver without upstream connection fails for all
names). Otherwise the query is held while one probe at a time tests the servers, and it is sent
again once they answer.
"""

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING

from core.errors import Unavailable
from core.statuses import DnsStatus
from crawlers.dns.name_codec import random_label
from crawlers.engine.config import OutageLimit, Question, Result

if TYPE_CHECKING:
    from crawlers.engine.query_run import Run
    from crawlers.engine.retry import PendingQuery
    from crawlers.engine.sockets import Peer

# Resolvers answer this domain by themselves (RFC 6761 section 6.4), and any reply will do.
PROBE = Question("invalid", "NS")
SILENCE = frozenset({DnsStatus.TIMEOUT, DnsStatus.NETWORK})
_PROBE_EVERY_S = 1.0
# SERVFAIL for names of fewer zones than this is what broken zones give.
_LEAST_ZONES = 5
# A probe below a zone that was resolved before, or below this one, cannot come from a cache.
_KEPT_ZONES, _LAST_ZONE = 3, "arpa"


class Resend(Enum):
    """Why a question that failed with all its tries was queried again."""

    NONE = 0
    GAP = 1  # its last try went while the servers were silent, and they have replied since
    PROBE = 2  # nothing else was queried meanwhile, and a probe was answered


class Outages:
    """What one run holds back while its servers are silent."""

    def __init__(self, run: "Run", outage_limit: OutageLimit | None) -> None:
        self.run = run
        self.outage_limit = outage_limit
        self.held: list[PendingQuery] = []
        # All tries of a question may be lost in a longer silence than this.
        config = run.config
        self._gap_s = config.timeout_s * max(1, config.retries - 1) / 2
        self._replied_at = 0.0
        # The last such silence, from and to.
        self._gap = (0.0, 0.0)
        # Probes under way, one per server.
        self._n_probes = 0
        self._is_confirmed = False
        self._silent_since = 0.0
        self._probe_at = 0.0
        self._probe = PROBE
        # When a server resolved a name, and zones of such names; when a failed one was held.
        self._resolved_at = self._failed_at = 0.0
        self._zones: deque[str] = deque(maxlen=_KEPT_ZONES)

    def note_reply(self, peer: "Peer", now: float) -> None:
        """Note that a server has replied."""
        if self.outage_limit is None or not peer.is_own:
            return
        if now - self._replied_at > self._gap_s:
            self._gap = (self._replied_at, now)
        self._replied_at = now

    def note_resolved(self, peer: "Peer", question: Question, now: float) -> None:
        """Note that a server has answered a question with records or a denial."""
        if self.outage_limit is None or not peer.is_own or question is self._probe:
            return
        self._resolved_at = now
        zone = question[5] or question[0]
        if zone not in self._zones:
            self._zones.append(zone)

    def hold(self, slot: "PendingQuery", now: float) -> bool:
        """Hold a query without reply, unless its servers answered others meanwhile."""
        is_failed = slot.status == DnsStatus.SERVFAIL
        is_outage = is_failed or slot.status in SILENCE
        if self.outage_limit is None or not is_outage or not slot.peer.is_own:
            return False
        if slot.question is self._probe:
            return self._end_failed_probe(slot, now)
        return self._hold_failed(slot, now) if is_failed else self._hold_silent(slot, now)

    def _hold_failed(self, slot: "PendingQuery", now: float) -> bool:
        if slot.resend is Resend.PROBE or self._resolved_at > slot.sent_at:
            return False
        self._hold(slot, now)
        self._failed_at = now
        return True

    def _hold_silent(self, slot: "PendingQuery", now: float) -> bool:
        # Replies that came within a round trip of the last try may have been on their way already.
        round_trip_s = slot.peer.rtt.mean_s + slot.peer.rtt.spread_s
        if self._replied_at > slot.sent_at + round_trip_s:
            return self._ask_after_gap(slot)
        if slot.resend is Resend.PROBE:
            return False
        self._hold(slot, now)
        return True

    def _hold(self, slot: "PendingQuery", now: float) -> None:
        if not self.held:
            self._silent_since = slot.sent_at
            self._probe_at = max(now, self._probe_at)
        self.held.append(slot)

    def _failed(self) -> list["PendingQuery"]:
        return [slot for slot in self.held if slot.status == DnsStatus.SERVFAIL]

    def _ask_after_gap(self, slot: "PendingQuery") -> bool:
        """Send queries again that were sent during an outage; return whether there were any."""
        began, ended = self._gap
        if slot.resend is not Resend.NONE or not began < slot.sent_at < ended:
            return False
        self._ask_again(slot, Resend.GAP, tries=0)
        return True

    def _ask_again(self, slot: "PendingQuery", resend: Resend, tries: int) -> None:
        slot.resend, slot.tries = resend, tries
        slot.status = DnsStatus.TIMEOUT
        slot.over_tcp = slot.is_paced = False
        self.run.sender.again.append(slot)

    def end_probe(self, result: Result) -> bool:
        """Whether a result was the probe's; then what was held is queried again."""
        if result.question is not self._probe:
            return False
        self.run.in_flight -= 1
        self._n_probes -= 1
        self._release(self.held)
        self._is_confirmed = False
        return True

    def _release(self, slots: list["PendingQuery"]) -> None:
        """Ask held questions again."""
        released = set(map(id, slots))
        self.held = [slot for slot in self.held if id(slot) not in released]
        for slot in slots:
            if self._is_confirmed:
                self._ask_again(slot, Resend.NONE, tries=0)
            else:
                # One more try will do, since the servers have just answered.
                self._ask_again(slot, Resend.PROBE, tries=self.run.config.retries)

    def step(self, now: float) -> None:
        """Send a probe to each server when it is due."""
        if not self.held or self._n_probes:
            return
        if self._resolved_at > self._failed_at > 0 and not self._is_confirmed:
            self._release(self._failed())
        if not self.held or now < self._probe_at:
            return
        self._probe_at = now + _PROBE_EVERY_S
        self._probe = self._next_probe()
        for peer in self.run.engine.own_peers:
            slot = self.run.pending_queries.open(self._probe)
            if slot is not None:
                slot.peer, slot.edns = peer, peer.edns
                slot.tries = self.run.config.retries
                self._n_probes += 1
                self.run.in_flight += 1
                self.run.sender.again.append(slot)

    def _next_probe(self) -> Question:
        """A question that any server answers or, where SERVFAIL is held, that any resolves."""
        if not self._failed():
            return PROBE
        zone = self._zones.popleft() if self._zones else _LAST_ZONE
        return Question(f"{random_label()}.{zone}", "NS")

    def _end_failed_probe(self, slot: "PendingQuery", now: float) -> bool:
        """Note that a probe failed; whether that was not a reply which ends the outage."""
        if slot.status not in SILENCE and self._probe is PROBE:
            return False
        self.run.pending_queries.cancel_tries(slot)
        self._miss_probe(now)
        return True

    def _miss_probe(self, now: float) -> None:
        """Record an unanswered probe; raise ``Unavailable`` after the outage limit."""
        self.run.in_flight -= 1
        self._n_probes -= 1
        if self._n_probes or not self.held:
            return
        failed = self._failed()
        if failed and len({slot.question[5] or slot.question[0] for slot in failed}) < _LEAST_ZONES:
            # Too few to distinguish a lost connection from broken zones.
            self._release(failed)
            return
        self._is_confirmed = True
        silent_s = now - self._silent_since
        assert self.outage_limit is not None
        self.outage_limit.report(silent_s)
        if silent_s > self.outage_limit.limit_s:
            names = ", ".join(str(server) for server in self.run.engine.servers)
            found = "nothing but SERVFAIL" if failed else "no answer"
            raise Unavailable(f"{found} from {names} for {silent_s:.0f} s")
