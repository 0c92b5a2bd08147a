"""Queries that a compiled loop has in flight, as Python sees them.

What the loop leaves (an unusual reply, silence) becomes an ordinary pending query of the same run,
on the same sockets, for the reference engine. Where queries come from, and which are permitted, is
the subclass's.
"""

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.compiled.memory import Memory
from crawlers.engine.config import NO_LINES, Lines, Question
from crawlers.engine.query_run import Run
from crawlers.engine.sockets import Channel, Peer, Waiting

if TYPE_CHECKING:
    from crawlers.engine.engine import Engine

_US, _WORD = 1_000_000, 8
STATUSES = (
    (m.NOERROR, DnsStatus.NOERROR),
    (m.NODATA, DnsStatus.NODATA),
    (m.NXDOMAIN, DnsStatus.NXDOMAIN),
)
_COUNTERS = (
    *(m.OUT_AT, m.N_EXPIRED, m.N_DEFERRED, m.N_UNUSUAL, m.N_RESULTS, m.SENT),
    *(m.SEND_ERROR, m.N_RECORDS),
    *(counter for counter, _ in STATUSES),
)
Step = Callable[[int], int]


class LoopRun(Run):
    """A run with a compiled loop; ``memory`` is what the two share."""

    def __init__(self, engine: "Engine", memory: Memory, types: Sequence[str]) -> None:
        engine.end_runs()
        super().__init__(engine)
        self._lines = NO_LINES
        self._types = tuple(types)
        self._memory = memory
        self._words = memory.words
        self._servers = memory.rows(m.SERVERS)
        self._slots = memory.rows(m.SLOTS)
        self._free = memory.rows(m.FREE)
        self._deadlines = memory.rows(m.DEADLINES)
        self._questions = memory.octets(m.QUESTIONS)

    def _channel(self, number: int, source: int) -> Channel | None:
        """The channel of a packet by its socket's number and where it came from, if known."""
        raise NotImplementedError

    def _channel_of(self, slot: int) -> Channel:
        """The channel of a query in flight."""
        raise NotImplementedError

    def _question(self, slot: int) -> Question:
        """The question of a query in flight."""
        raise NotImplementedError

    def _note_released(self, slot: int, peer: Peer) -> None:
        """A query has left its slot for the reference engine."""

    def pop_lines(self) -> Lines:
        """The results of the last step that the loop has written; good until the next step."""
        lines, self._lines = self._lines, NO_LINES
        return lines

    @property
    def is_over(self) -> bool:
        """Whether every question was answered and every result taken."""
        return not (self._words[m.IN_FLIGHT] or self._lines.text) and super().is_over

    def open_questions(self) -> list[Question]:
        """Questions that were read and have no result yet."""
        return [*super().open_questions(), *map(self._question, self._used_slots())]

    def _set_server(self, server: int, column: int, value: int) -> None:
        self._servers[server * m.SERVER_WORDS + column] = value

    def _of_server(self, server: int, column: int) -> int:
        return self._servers[server * m.SERVER_WORDS + column]

    def _set_label(self, server: int, peer: Peer) -> None:
        """Set the part of a line that names the server."""
        fixed = f'],"resolver":"{peer.label}","protocol":"udp","attempts":1,"rtt_ms":'.encode()
        start = server * m.SERVER_TEXT
        self._memory.octets(m.SERVER_TEXTS)[start : start + len(fixed)] = fixed
        self._set_server(server, m.S_TEXT_LENGTH, len(fixed))

    def _read_lines(self, servers: Sequence[str]) -> Lines:
        """The results of the step, without a copy."""
        words, memory = self._words, self._memory
        rows = memory.octets(m.RESULTS)[: words[m.N_RESULTS] * m.RESULT_WORDS * _WORD]
        records = memory.octets(m.RECORDS)[: words[m.N_RECORDS] * m.RECORD_WORDS * _WORD]
        text = memory.octets(m.OUT)[: words[m.OUT_AT]]
        return Lines(text, rows, words[m.N_RESULTS], records, self._types, servers)

    def _read_unusual(self) -> None:
        """Let the reference engine read packets that the loop left: those of a socket together."""
        rows, packets = self._memory.rows(m.UNUSUAL), self._memory.octets(m.UNUSUAL_PACKETS)
        # By channel and time of arrival, the slot and packet of each id.
        found: dict[tuple[Channel, int], dict[bytes, tuple[int, bytes]]] = {}
        for number in range(self._words[m.N_UNUSUAL]):
            row = rows[number * m.UNUSUAL_WORDS : (number + 1) * m.UNUSUAL_WORDS]
            start = number * m.RECEIVE_CELL
            packet = bytes(packets[start : start + row[m.U_SIZE]])
            channel = self._channel(row[m.U_CHANNEL], row[m.U_SOURCE])
            if channel is None:
                self.engine.stats.stray += 1
                continue
            place, slot = (channel, row[m.U_AT]), row[m.U_SLOT]
            if self._read_usual(channel, slot, packet, row[m.U_AT]):
                continue
            replies = found.setdefault(place, {})
            if packet[:2] in replies:
                # A second reply with this id has to be matched after the first one.
                self._read_for_slots(*place, found.pop(place))
                replies = found.setdefault(place, {})
            replies[packet[:2]] = (slot, packet)
        for place, replies in found.items():
            self._read_for_slots(*place, replies)

    def _read_usual(self, channel: Channel, slot: int, packet: bytes, at_us: int) -> bool:
        """Read a reply without the reference engine; whether it was done."""
        return False

    def _read_for_slots(
        self, channel: Channel, at_us: int, replies: dict[bytes, tuple[int, bytes]]
    ) -> None:
        """Read packets by id; each waits for one of the loop's queries (``NOTHING``: for none)."""
        claimed = dict[bytes, tuple[int, Waiting]]()
        for ident, (slot, _) in replies.items():
            # A retransmission has the same id by chance: it is more likely the one that is meant.
            # The slot may have been used again since, for a query with another id.
            if (
                slot != m.NOTHING
                and self._is_used(slot)
                and self._place(slot) == (channel, ident)
                and ident not in channel.pending
            ):
                claimed[ident] = slot, self._waiting(slot)
                channel.pending[ident] = claimed[ident][1]
        self.in_flight += len(claimed)
        self.receiver.read(channel, [packet for _, packet in replies.values()], at_us / _US)
        for ident, (slot, waiting) in claimed.items():
            if channel.pending.get(ident) is waiting:
                # The packet was no reply to it.
                del channel.pending[ident]
                self.in_flight -= 1
            else:
                self._release(slot)

    def _note_expired(self) -> None:
        """Let the reference engine ask again what was not answered in time."""
        expired, now = self._memory.rows(m.EXPIRED), self.now()
        for slot in expired[: self._words[m.N_EXPIRED]]:
            if not self._is_used(slot):
                continue
            channel, ident = self._place(slot)
            waiting = self._waiting(slot)
            self._release(slot)
            self.in_flight += 1
            if ident in channel.pending:
                asked, sent_at, question = waiting
                assert isinstance(question, Question)
                again = self.pending_queries.resume(question, channel, asked, sent_at)
                channel.peer.window.note_missing(sent_at, now, channel.peer.in_flight)
                self.pending_queries.miss(again, now)
            else:
                channel.pending[ident] = waiting
                self.receiver.miss(channel, ident, now)

    def _start(self, question: Question) -> None:
        self.in_flight += 1
        self.sender.start(question)

    def _used_slots(self) -> list[int]:
        return [slot for slot in range(self._words[m.N_SLOTS]) if self._is_used(slot)]

    def _row(self, slot: int) -> memoryview:
        return self._slots[slot * m.SLOT_WORDS : (slot + 1) * m.SLOT_WORDS]

    def _is_used(self, slot: int) -> bool:
        return self._memory.is_linked(slot)

    def _place(self, slot: int) -> tuple[Channel, bytes]:
        return self._channel_of(slot), self._row(slot)[m.Q_IDENT].to_bytes(2, "big")

    def _asked(self, slot: int) -> bytes:
        start = slot * m.QUESTION_CELL
        return bytes(self._questions[start : start + self._row(slot)[m.Q_LENGTH]])

    def _waiting(self, slot: int) -> Waiting:
        """What waits in this slot, in the form of a channel's pending queries."""
        return self._asked(slot), self._row(slot)[m.Q_SENT_AT] / _US, self._question(slot)

    def _release(self, slot: int) -> None:
        """Free a slot and its id, as the loop does."""
        row, words, peer = self._row(slot), self._words, self._channel_of(slot).peer
        self._memory.unlink_slot(slot)
        self._deadlines[slot] = m.NEVER
        self._free[words[m.N_FREE]] = slot
        words[m.N_FREE] += 1
        words[m.IN_FLIGHT] -= 1
        server = row[m.Q_SERVER]
        self._set_server(server, m.S_IN_FLIGHT, self._of_server(server, m.S_IN_FLIGHT) - 1)
        peer.compiled_in_flight -= 1
        self._note_released(slot, peer)

    def _clear_counters(self) -> None:
        """Set the counters of a step to zero, and renew its random octets."""
        words = self._words
        if words[m.RANDOM_END] - words[m.RANDOM_AT] < m.RANDOM_OCTETS // 2:
            self._memory.octets(m.RANDOM)[:] = os.urandom(m.RANDOM_OCTETS)
            words[m.RANDOM_AT], words[m.RANDOM_END] = 0, m.RANDOM_OCTETS
        for counter in _COUNTERS:
            words[counter] = 0

    def _count_replies(self) -> None:
        """Add the replies of a step to the engine's counters."""
        words, stats = self._words, self.engine.stats
        for counter, status in STATUSES:
            if words[counter]:
                stats.count(status, words[counter])
        stats.queries += words[m.SENT]
