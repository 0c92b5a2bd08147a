"""One run of an engine: send queries, match replies, notice timeouts, return results.

Most questions take the fast path: one query and one reply that holds the whole answer. It creates
no object per packet; every other case becomes a ``PendingQuery``.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from crawlers.engine.config import Question, Result
from crawlers.engine.outages import Outages
from crawlers.engine.receiver import Receiver
from crawlers.engine.retransmit_timer import ReceiveWindow
from crawlers.engine.retry import PendingQueries, PendingQuery
from crawlers.engine.sender import Sender
from crawlers.engine.sockets import Peer, Silence

if TYPE_CHECKING:
    from crawlers.engine.engine import Engine

_LONGEST_WAIT_S = 0.05
# TCP answers come from threads and do not wake the sockets' poll.
_TCP_WAIT_S = 0.002


class Run:
    """Questions in, results out; open it with ``Engine.open_run``."""

    def __init__(self, engine: "Engine") -> None:
        self.engine = engine
        self.config = engine.config
        self.now = time.monotonic
        self.in_flight = 0
        self.sources: deque[Iterator[Question]] = deque()
        self.done: list[Result] = []
        # One queue per waiting time: within a queue deadlines come in order.
        self.silences: dict[float, deque[Silence]] = {}
        self.room = ReceiveWindow(engine.config.window)
        self.pending_queries = PendingQueries(self)
        self.outages = Outages(self, engine.config.outage_limit)
        self.sender = Sender(self)
        self.receiver = Receiver(self)
        self._turn = 0

    def ask(self, questions: Iterable[Question]) -> None:
        """Add questions; they are read only as there is space in the window."""
        self.sources.append(iter(questions))

    @property
    def is_over(self) -> bool:
        """Whether every question was answered and every result taken."""
        return not (self.sources or self.in_flight or self.done)

    def step(self, wait_s: float = _LONGEST_WAIT_S) -> list[Result]:
        """Send, receive and notice silence once; waits only where nothing else is to do."""
        sent = self.send()
        self.receiver.receive(0 if sent or self.done else self.poll_timeout(wait_s))
        done, self.done = self.done, []
        return done

    def send(self) -> int:
        """Adapt to the sockets' buffers and send what may be sent; returns how many queries."""
        now = self.now()
        if self.room.is_due(now):
            self.engine.stats.overflows = self.engine.sockets.count_overflows()
            self.room.adapt(now, self.engine.stats.overflows)
        self.outages.step(now)
        return self.sender.fill()

    def poll_timeout(self, wait_s: float) -> float:
        """Seconds that this run may wait for replies, at most ``wait_s``."""
        now = self.now()
        ends = [queue[0][0] + after_s for after_s, queue in self.silences.items() if queue]
        opens_at = self.sender.opens_at()
        if opens_at is not None:
            ends.append(opens_at)
        resend_at = self.receiver.resends_at()
        if resend_at is not None:
            ends.append(resend_at)
        if self.receiver.over_tcp:
            wait_s = min(wait_s, _TCP_WAIT_S)
        return max(0.0, min([wait_s, *(end - now for end in ends)]))

    def open_questions(self) -> list[Question]:
        """Questions that were read and have no result yet."""
        waiting: list[Question | PendingQuery] = [
            *self.sender.waiting(),
            *self.receiver.waiting(),
            *self.outages.held,
        ]
        for channel in self.engine.sockets.channels():
            waiting += [question for *_, question in channel.pending.values()]
        slots = [w for w in waiting if isinstance(w, PendingQuery) and not w.is_over]
        return [w for w in waiting if not isinstance(w, PendingQuery)] + [
            slot.question for slot in slots
        ]

    def end(self, result: Result) -> None:
        """Note the final result of one question."""
        self.engine.stats.count(result.status)
        self.in_flight -= 1
        self.done.append(result)

    def queue_of(self, wait_s: float) -> deque[Silence]:
        """Pending queries by how long they have waited."""
        found = self.silences.get(wait_s)
        if found is None:
            found = self.silences[wait_s] = deque()
        return found

    def next_peer(self) -> Peer:
        """The engine's own servers in turn, without those that rest."""
        self._turn += 1
        peers = self.engine.available_peers(self.now())
        return peers[self._turn % len(peers)]

    def other_peer(self, peer: Peer) -> Peer:
        """Another server than this one, where there is one."""
        peers = self.engine.available_peers(self.now())
        if peer not in peers:
            return peers[0]
        return peers[(peers.index(peer) + 1) % len(peers)]
