"""Send queries: first tries in batches, retransmissions as limits and socket buffers allow."""

import heapq
from collections import deque
from collections.abc import Sequence
from itertools import count, islice, repeat
from typing import TYPE_CHECKING

from core.statuses import DnsStatus
from crawlers.engine.config import Question
from crawlers.engine.query_encoder import OPT_RECORD, Encoder
from crawlers.engine.retransmit_timer import ZoneLimit
from crawlers.engine.retry import PendingQuery
from crawlers.engine.sockets import Channel, Peer
from crawlers.engine.udp_batch import BATCH

if TYPE_CHECKING:
    from crawlers.engine.query_run import Run

# Sent in one turn: little enough that a server's receive buffer is not overrun.
_BURST = 256


class Sender:
    """Sends the questions of one run."""

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.engine = run.engine
        self.config = run.config
        # Slots that are sent in the next turn.
        self.again: deque[PendingQuery] = deque()
        self._encoder = Encoder(self.config)
        self._turn = 0
        self._gated: set[Peer] = set()
        self._later: list[tuple[float, int, PendingQuery]] = []
        self._order = count()
        # First tries that wait for a permission of the engine's own servers, at most one batch.
        self._own: list[Question] = []
        self._sections: list[bytes] = []
        # Whether first tries can be sent together: no limit that differs among them.
        self._short_way = not self.config.zone_rate
        self._zones = ZoneLimit(self.config.zone_rate) if self.config.zone_rate else None

    def fill(self) -> int:
        """Send second tries, then new questions while there is space; returns how many."""
        run = self.run
        sent = self._send_again() + self._send_own()
        while run.sources and not self._own and sent < _BURST:
            room = min(run.room.size - run.in_flight, BATCH)
            if room <= 0:
                break
            batch = list(islice(run.sources[0], room))
            if len(batch) < room:
                run.sources.popleft()
            run.in_flight += len(batch)
            sent += self._send_new(batch) if self._short_way else self._start_all(batch)
        return sent + self._send_again()

    def opens_at(self) -> float | None:
        """When the next question that waits for a permission may go; none waits: ``None``."""
        times = [self._later[0][0]] if self._later else []
        peers = list(self._gated)
        if self._own:
            peers += [p for p in self.engine.available_peers(self.run.now()) if p.edns]
        # One without space is awaited by its answers and time-outs.
        times += [peer.opens_at for peer in peers if peer.free_slots > 0]
        return min(times, default=None)

    def waiting(self) -> list[PendingQuery | Question]:
        """What is on no socket."""
        held = [slot for peer in self._gated for slot in peer.held]
        return [*self.again, *(slot for *_, slot in self._later), *held, *self._own]

    def _send_new(self, batch: list[Question]) -> int:
        """The short way of first tries: encoded, noted and sent together."""
        fit, sections = self._encoder.encode_short(batch)
        if len(fit) < len(batch):
            known = set(map(id, fit))
            self._start_all([question for question in batch if id(question) not in known])
        if any(question[3] is not None for question in fit):
            self._send_to_named_servers(fit, sections)
        else:
            self._own, self._sections = fit, sections
            self._send_own()
        return len(batch)

    def _send_own(self) -> int:
        """Send questions to the engine's own servers, as far as these permit it."""
        sent = 0
        while self._own:
            channel, n = self._next_channel(len(self._own))
            if channel is None:
                # No server takes what most servers take, or none permits it now.
                if not any(peer.edns for peer in self.engine.available_peers(self.run.now())):
                    self._start_all(self._own)
                    self._own = []
                break
            fit, sections = self._own[:n], self._sections[:n]
            self._own, self._sections = self._own[n:], self._sections[n:]
            self._send_to_one_server(channel, fit, sections)
            sent += n
        return sent

    def _send_to_one_server(
        self, channel: Channel, fit: list[Question], sections: list[bytes]
    ) -> None:
        pending, head = channel.pending, self._encoder.head
        if self.config.case_mixing:
            sections = list(map(self._encoder.mix_cases, sections))
        idents = self.engine.allocate_ids(len(fit), pending)
        packets = [
            i + head + section + OPT_RECORD for i, section in zip(idents, sections, strict=True)
        ]
        sent_at = self.run.now()
        n = channel.send_batch(packets)
        if n < len(fit):
            self._start_all(fit[n:])
        waiting = zip(sections, repeat(sent_at), fit, strict=False)
        pending.update(zip(idents[:n], waiting, strict=False))
        silence = (sent_at, idents[:n], channel)
        self.run.queue_of(channel.peer.rtt.timeout_s(0)).append(silence)
        self.engine.stats.queries += n

    def _send_to_named_servers(self, fit: list[Question], sections: list[bytes]) -> None:
        """The same for questions of which some name their server."""
        engine, head, sent_at = self.engine, self._encoder.head, self.run.now()
        for question, section in zip(fit, sections, strict=True):
            server = question[3]
            peer = engine.peer_of(server) if server else None
            if peer is None or peer.gate or not peer.edns or peer.held or peer.free_slots <= 0:
                self.start(question)
                continue
            channel = peer.next_channel()
            section = self._encoder.mix_cases(section)
            (ident,) = engine.allocate_ids(1, channel.pending)
            try:
                channel.send(ident + head + section + OPT_RECORD)
            except OSError:
                self.start(question)
                continue
            channel.pending[ident] = (section, sent_at, question)
            wait_s = channel.peer.rtt.timeout_s(0)
            self.run.queue_of(wait_s).append((sent_at, (ident,), channel))
            engine.stats.queries += 1

    def _next_channel(self, wanted: int) -> tuple[Channel | None, int]:
        """A socket of the next server in turn that takes what most servers take.

        The second value is how many of the ``wanted`` queries this server permits now.
        """
        peers = self.engine.available_peers(self.run.now())
        for _ in peers:
            self._turn += 1
            peer = peers[self._turn % len(peers)]
            permitted = self._permitted(peer, wanted) if peer.edns else 0
            if permitted:
                return peer.next_channel(), permitted
        return None, 0

    def _permitted(self, peer: Peer, wanted: int) -> int:
        # Second tries that are held go first.
        wanted = 0 if peer.held else min(wanted, peer.free_slots)
        if wanted <= 0 or peer.gate is None:
            return max(0, wanted)
        # A gate wants a fresh clock.
        now = self.run.now()
        if now < peer.opens_at:
            return 0
        permitted, wait_s = peer.gate.acquire_many(now, wanted)
        peer.opens_at = now + wait_s
        return permitted

    def _start_all(self, batch: Sequence[Question]) -> int:
        for question in batch:
            self.start(question)
        return len(batch)

    def start(self, question: Question) -> None:
        """Begin a question that cannot take the short way."""
        slot = self.run.pending_queries.open(question)
        if slot:
            self.again.append(slot)

    def _send_again(self) -> int:
        """Send what is on the long way, as far as limits allow."""
        sent, again, now = 0, self.again, self.run.now()
        while self._later and self._later[0][0] <= now:
            again.append(heapq.heappop(self._later)[2])
        for _ in range(len(again)):
            sent += self._admit(again.popleft(), now)
        for peer in list(self._gated):
            sent += self._pass_gate(peer)
        return sent

    def _admit(self, slot: PendingQuery, now: float) -> int:
        """Send a slot, or put it where it waits for its zone's or server's permission."""
        if slot.is_over:
            return 0
        zone = slot.question[5]
        if self._zones and zone and not slot.is_paced:
            slot.is_paced = True
            at = self._zones.reserve(zone, now)
            if at > now:
                heapq.heappush(self._later, (at, next(self._order), slot))
                return 0
        if slot.peer.gate or slot.peer.held or slot.peer.free_slots <= 0:
            slot.peer.held.append(slot)
            self._gated.add(slot.peer)
            return 0
        return self._transmit(slot)

    def _pass_gate(self, peer: Peer) -> int:
        """Send what one server's window and limit allow now."""
        sent, held = 0, peer.held
        while held:
            if held[0].is_over:
                held.popleft()
                continue
            if peer.free_slots <= 0 or not peer.acquire(self.run.now()):
                return sent
            sent += self._transmit(held.popleft())
        if not held:
            self._gated.discard(peer)
        return sent

    def _transmit(self, slot: PendingQuery) -> int:
        """Send one slot's query now."""
        if slot.over_tcp:
            query = self._encoder.encode_query(
                self.engine.allocate_id(), slot.wire, edns=slot.edns, subnet=slot.question[4]
            )
            self.run.receiver.ask_over_tcp(slot, query)
            return 1
        channel = slot.peer.next_channel()
        asked = self._encoder.mix_cases(slot.wire)
        (ident,) = self.engine.allocate_ids(1, channel.pending)
        packet = self._encoder.encode_query(ident, asked, edns=slot.edns, subnet=slot.question[4])
        try:
            channel.send(packet)
        except BlockingIOError:
            self.again.append(slot)
            return 0
        except OSError:
            slot.attempts += 1
            slot.sent_at = self.run.now()
            self.run.pending_queries.retry(slot, DnsStatus.NETWORK, self.run.now())
            return 1
        self.engine.stats.queries += 1
        slot.attempts += 1
        slot.sent_at = self.run.now()
        slot.began_at = slot.began_at or slot.sent_at
        channel.pending[ident] = (asked, slot.sent_at, slot)
        slot.sent.append((channel, ident))
        wait_s = slot.peer.rtt.timeout_s(0)
        self.run.queue_of(wait_s).append((slot.sent_at, (ident,), channel))
        return 1
