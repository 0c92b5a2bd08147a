"""Outages of an engine's own servers: hold questions and probe until a server replies.

A question that got no reply says something about its name only if the servers answered anything
else meanwhile. Where they did not, it is held while one probe at a time asks whether they are there
at all, and it is asked again once they are.
"""

from enum import Enum
from typing import TYPE_CHECKING

from core.errors import Unavailable
from core.statuses import DnsStatus
from crawlers.questions import Patience, Question, Result

if TYPE_CHECKING:
    from crawlers.channels import Peer
    from crawlers.run import Run
    from crawlers.slots import Slot

# Resolvers answer this domain by themselves (RFC 6761 section 6.4), and any reply will do.
PROBE = Question("invalid", "NS")
SILENCE = frozenset({DnsStatus.TIMEOUT, DnsStatus.NETWORK})
_PROBE_EVERY_S = 1.0


class Doubt(Enum):
    """Why a question that nobody answered was asked again."""

    NONE = 0
    GAP = 1  # its last try went while the servers were silent, and they have spoken since
    PROBE = 2  # nothing else was asked meanwhile, and a probe was answered


class Outages:
    """What one run holds back while its servers are silent."""

    def __init__(self, run: "Run", patience: Patience | None) -> None:
        self.run = run
        self.patience = patience
        self.held: list[Slot] = []
        # All tries of a question may be lost in a longer silence than this.
        config = run.config
        self._gap_s = config.timeout_s * max(1, config.retries - 1) / 2
        self._heard_at = 0.0
        # The last such silence, from and to.
        self._gap = (0.0, 0.0)
        # Probes under way, one per server.
        self._n_probes = 0
        self._is_confirmed = False
        self._silent_since = 0.0
        self._probe_at = 0.0

    def hear(self, peer: "Peer", now: float) -> None:
        """Note that a server has replied."""
        if self.patience is None or not peer.is_own:
            return
        if now - self._heard_at > self._gap_s:
            self._gap = (self._heard_at, now)
        self._heard_at = now

    def hold(self, slot: "Slot", now: float) -> bool:
        """Keep a question that nobody answered, unless its servers answered others meanwhile."""
        if self.patience is None or slot.status not in SILENCE or not slot.peer.is_own:
            return False
        if slot.question is PROBE:
            self.run.cases.forget_tries(slot)
            self._miss_probe(now)
            return True
        # Replies that came within a round trip of the last try may have been on their way already.
        round_trip_s = slot.peer.rtt.mean_s + slot.peer.rtt.spread_s
        if self._heard_at > slot.sent_at + round_trip_s:
            return self._ask_after_gap(slot)
        if slot.doubt is Doubt.PROBE:
            return False
        if not self.held:
            self._silent_since = slot.sent_at
            self._probe_at = now
        self.held.append(slot)
        return True

    def _ask_after_gap(self, slot: "Slot") -> bool:
        """Ask once more what went while nobody was there to take it; whether it did."""
        began, ended = self._gap
        if slot.doubt is not Doubt.NONE or not began < slot.sent_at < ended:
            return False
        self._ask_again(slot, Doubt.GAP, tries=0)
        return True

    def _ask_again(self, slot: "Slot", doubt: Doubt, tries: int) -> None:
        slot.doubt, slot.tries = doubt, tries
        slot.status = DnsStatus.TIMEOUT
        slot.over_tcp = slot.is_paced = False
        self.run.sender.again.append(slot)

    def end_probe(self, result: Result) -> bool:
        """Whether a result was the probe's; then what was held is asked again."""
        if result.question is not PROBE:
            return False
        self.run.in_flight -= 1
        self._n_probes -= 1
        held, self.held = self.held, []
        for slot in held:
            if self._is_confirmed:
                self._ask_again(slot, Doubt.NONE, tries=0)
            else:
                # One more try will do, since the servers have just answered.
                self._ask_again(slot, Doubt.PROBE, tries=self.run.config.retries)
        self._is_confirmed = False
        return True

    def step(self, now: float) -> None:
        """Send a probe to each server when it is due."""
        if not self.held or self._n_probes or now < self._probe_at:
            return
        self._probe_at = now + _PROBE_EVERY_S
        for peer in self.run.engine.own_peers:
            slot = self.run.cases.begin(PROBE)
            if slot is not None:
                slot.peer, slot.edns = peer, peer.edns
                slot.tries = self.run.config.retries
                self._n_probes += 1
                self.run.in_flight += 1
                self.run.sender.again.append(slot)

    def _miss_probe(self, now: float) -> None:
        """Note that a probe got no reply; raises ``Unavailable`` when patience is over."""
        self.run.in_flight -= 1
        self._n_probes -= 1
        if self._n_probes or not self.held:
            return
        self._is_confirmed = True
        silent_s = now - self._silent_since
        assert self.patience is not None
        self.patience.tell(silent_s)
        if silent_s > self.patience.limit_s:
            names = ", ".join(str(server) for server in self.run.engine.servers)
            raise Unavailable(f"no answer from {names} for {silent_s:.0f} s")
