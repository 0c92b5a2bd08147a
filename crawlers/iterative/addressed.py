"""An engine's run with a compiled loop for queries that name their server (IPv4).

Python chooses the server of each query and keeps all limits; the loop sends, matches each reply by
socket, id, source and question, and writes those that end their query as JSON lines. All others
become pending queries of the reference engine, on the same sockets.
"""

import contextlib
import socket
import struct
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from crawlers.compiled import layout as m
from crawlers.compiled.memory import Memory
from crawlers.compiled.slots import LoopRun, Step
from crawlers.dns.message import TYPE_CODES
from crawlers.engine.config import Lines, Question, Result
from crawlers.engine.sockets import Channel, Peer

if TYPE_CHECKING:
    from crawlers.engine.engine import Engine

_US = 1_000_000
_STEP_US = 5_000
_LONGEST_WAIT_S = 0.05
_NAP_US = 300
_POLL_IN, _POLL_EVENTS = 1, 48
# Servers that the loop knows at a time; row 0 holds the limits of all of them.
_ROWS = 1 << 14
_MOST_OTHERS = 1_024
_ADDRESS = struct.Struct("=H2s4s")
# Types of one run at most.
_MOST_TYPES = 16


class Written(NamedTuple):
    """Results of a step that are lines: tag and round trip in microseconds of each."""

    lines: Lines
    tags: Sequence[int]
    rtts_us: Sequence[int]


class AddressedRun(LoopRun):
    """A run of an engine; questions to found servers may go through the compiled loop."""

    def __init__(self, engine: "Engine", step: Step, types: Sequence[str]) -> None:
        self._descriptors = engine.sockets.open_shared(socket.AF_INET)
        with contextlib.suppress(OSError):
            engine.sockets.open_shared(socket.AF_INET6)
        others = set(engine.sockets.descriptors()).difference(self._descriptors)
        self._others = sorted(others)[:_MOST_OTHERS]
        n_channels = len(self._descriptors)
        polled = n_channels + len(self._others)
        window = engine.config.window
        memory = Memory(_ROWS, n_channels, window, polled=polled, has_records=True)
        super().__init__(engine, memory, types)
        self._step = step
        self._kinds = {name: number for number, name in enumerate(self._types[:_MOST_TYPES])}
        self._polled = memory.rows(m.POLLED)
        # Peers by row, and by the source of their packets.
        self._peers: list[Peer | None] = [None]
        self._free_rows: list[int] = []
        self._by_source: dict[int, Peer] = {}
        self._labels = [""]
        # What the loop has, by tag, and what it is given with the next block.
        self._taken: dict[int, Question] = {}
        # Replies of this step by server.
        self._answered: dict[Peer, int] = {}
        self._names: list[str] = []
        self._queries: list[int] = []
        self._set_constants()

    def _set_constants(self) -> None:
        memory, words, config = self._memory, self._words, self.config
        channels = memory.rows(m.CHANNELS)
        for number, fd in enumerate(self._descriptors):
            channels[number * m.CHANNEL_WORDS + m.C_FD] = fd
            channels[number * m.CHANNEL_WORDS + m.C_SERVER] = 0
        for number, fd in enumerate([*self._descriptors, *self._others]):
            self._polled[number] = fd | _POLL_IN << 32
        for column, value in (
            (m.S_LIMIT, m.NEVER),
            (m.S_FIRST_CHANNEL, 0),
            (m.S_N_CHANNELS, len(self._descriptors)),
        ):
            self._set_server(0, column, value)
        memory.set_types([(name, TYPE_CODES[name]) for name in self._kinds])
        memory.set_buffer(m.QUERIES, array("q", bytes(8 * m.QUERY_WORDS)))
        memory.record_sources()
        # Each name has one type, that of its query.
        words[m.N_TYPES] = words[m.N_SERVERS] = 1
        words[m.N_CHANNELS] = len(self._descriptors)
        words[m.N_POLLED] = len(self._descriptors) + len(self._others)
        words[m.RECURSION], words[m.CASE_MIXING] = int(config.recursion), int(config.case_mixing)
        words[m.EPOCH] = round(self.engine.epoch * _US)
        words[m.NAP] = _NAP_US

    def ask_in_loop(self, questions: Iterable[Question]) -> None:
        """Ask servers by the loop, as far as they take what most servers take and permit it now.

        Names are in lower case, without a dot at the end; tags are those of no other question.
        The result of one with a tag below 0 is never a line.
        """
        rest, names, queries = list[Question](), self._names, self._queries
        for question in questions:
            name, rrtype, tag, server, _, zone = question
            peer = self.engine.peer_of(server) if server else None
            kind = self._kinds.get(rrtype)
            if peer is None or kind is None or not (row := self._find_row(peer)):
                rest.append(question)
                continue
            peer.compiled_in_flight += 1
            self._taken[tag] = question
            names.append(name)
            queries += (tag, row, len(zone) if tag >= 0 else m.NOTHING, kind)
        if rest:
            self.ask(rest)

    def _find_row(self, peer: Peer) -> int:
        """The row of a server that permits one more query now, which it then has got; else 0."""
        if peer.is_own or not peer.edns or peer.held or peer.server.is_ipv6:
            return 0
        if peer.free_slots <= 0:
            return 0
        row = peer.row or self._add_row(peer)
        return row if row and peer.acquire(self.now()) else 0

    def _add_row(self, peer: Peer) -> int:
        """Make a server known to the loop; 0 where all rows are in use."""
        if self._free_rows:
            row = self._free_rows.pop()
        elif len(self._peers) < _ROWS:
            row = len(self._peers)
            self._peers.append(peer)
            self._labels.append("")
        else:
            self._free_idle_rows()
            return self._add_row(peer) if self._free_rows else 0
        self._peers[row], self._labels[row], peer.row = peer, peer.label, row
        server = peer.server
        port = server.port.to_bytes(2, "big")
        packed = _ADDRESS.pack(socket.AF_INET, port, socket.inet_aton(server.address))
        source = int.from_bytes(packed, "little")
        self._set_server(row, m.S_ADDRESS, source - (source >> 63 << 64))
        self._set_server(row, m.S_ADDRESS + 1, 0)
        self._set_label(row, peer)
        self._set_timeout(peer)
        self._by_source[self._of_server(row, m.S_ADDRESS)] = peer
        return row

    def _free_idle_rows(self) -> None:
        for row, peer in enumerate(self._peers):
            if peer and not peer.compiled_in_flight:
                self._by_source.pop(self._of_server(row, m.S_ADDRESS), None)
                self._free_rows.append(row)
                self._peers[row], peer.row = None, 0

    def _set_timeout(self, peer: Peer) -> None:
        self._set_server(peer.row, m.S_TIMEOUT, int(peer.rtt.timeout_s(0) * _US))

    def step(self, wait_s: float = _LONGEST_WAIT_S) -> list[Result]:
        """Send, receive and notice silence; ``pop_written`` gives the results that are lines."""
        sent = self.send()
        self._load_queries()
        wait_s = 0 if sent or self.done else self.poll_timeout(wait_s)
        if self._words[m.IN_FLIGHT] or self._words[m.TEXT_AT] < self._words[m.TEXT_END]:
            self._run_loop(wait_s)
        else:
            self.receiver.receive(wait_s)
        done, self.done = self.done, []
        return done

    def _run_loop(self, wait_s: float) -> None:
        words, now_us = self._words, int(self.now() * _US)
        self._clear_counters()
        words[m.ROOM] = self.room.size - self.in_flight
        self._set_server(0, m.S_PERMITS, m.NEVER)
        words[m.WAIT_UNTIL] = now_us + int(wait_s * _US)
        words[m.STEP_UNTIL] = now_us + _STEP_US
        self._step(self._memory.address)
        self._lines = self._read_lines(self._labels)
        self._count_replies()
        self._read_unusual()
        self._note_expired()
        self._start_deferred()
        first = len(self._descriptors)
        for number, fd in enumerate(self._others, first):
            if self._polled[number] >> _POLL_EVENTS:
                self.receiver.read_all(self.engine.sockets.receive_from(fd))
        self.receiver.settle()

    def pop_written(self) -> Written:
        """The lines of the last step, after windows and round trips were brought up to date."""
        lines = self.pop_lines()
        words, n = memoryview(lines.rows).cast("q").tolist(), m.RESULT_WORDS
        tags, rows, rtts_us = (words[c::n] for c in (m.R_TAG, m.R_SERVER, m.R_RTT))
        for row, count in Counter(rows).items():
            peer = self._peers[row]
            assert peer is not None
            peer.compiled_in_flight -= count
            self._answered[peer] = self._answered.get(peer, 0) + count
        for tag in tags:
            del self._taken[tag]
        for peer, count in self._answered.items():
            peer.health.note_answer()
            peer.window.note_answers(count)
            peer.rtt.learn(self._of_server(peer.row, m.S_RTT) / _US)
            self._set_timeout(peer)
        self._answered = {}
        return Written(lines, tags, rtts_us)

    def _read_usual(self, channel: Channel, slot: int, packet: bytes, at_us: int) -> bool:
        """Read a reply that is complete, such as a referral, without a pending query."""
        if slot == m.NOTHING or not self._is_used(slot):
            return False
        if self._place(slot) != (channel, packet[:2]) or packet[:2] in channel.pending:
            return False
        sent_us = self._row(slot)[m.Q_SENT_AT]
        waiting = (self._asked(slot), sent_us / _US, self._question(slot))
        result = self.receiver.read_usual(channel, waiting, packet, at_us / _US)
        if result is None:
            return False
        peer = channel.peer
        self._set_server(peer.row, m.S_RTT, at_us - sent_us)
        self._answered[peer] = self._answered.get(peer, 0) + 1
        self._release(slot)
        self.done.append(result)
        self.engine.stats.count(result.status)
        return True

    @property
    def is_over(self) -> bool:
        """Whether every question was answered and every result popped."""
        return not (self._names or self._taken) and super().is_over

    def _load_queries(self) -> None:
        """Give the loop its next queries when it has sent all others."""
        if not self._names or self._words[m.TEXT_AT] < self._words[m.TEXT_END]:
            return
        self._memory.set_text("\n".join(self._names).encode("ascii"))
        self._memory.set_buffer(m.QUERIES, array("q", self._queries))
        self._words[m.NEXT_TAG] = 0
        self._names, self._queries = [], []

    def _channel(self, number: int, source: int) -> Channel | None:
        peer = self._by_source.get(source)
        if peer is not None:
            return peer.channels[number]
        packed = (source & (1 << 64) - 1).to_bytes(8, "little")
        _, port, address = _ADDRESS.unpack(packed)
        where = (socket.inet_ntoa(address), int.from_bytes(port, "big"))
        return self.engine.sockets.shared_channel(self._descriptors[number], where)

    def _channel_of(self, slot: int) -> Channel:
        row = self._row(slot)
        peer = self._peers[row[m.Q_SERVER]]
        assert peer is not None
        return peer.channels[row[m.Q_CHANNEL]]

    def _question(self, slot: int) -> Question:
        return self._taken[self._row(slot)[m.Q_TAG]]

    def _note_released(self, slot: int, peer: Peer) -> None:
        del self._taken[self._row(slot)[m.Q_TAG]]

    def _start_deferred(self) -> None:
        """Let the reference engine ask what the loop cannot encode, or no socket accepts."""
        words, rows = self._words, self._memory.rows(m.DEFERRED)
        n = words[m.N_DEFERRED] * m.DEFERRED_WORDS
        self._start_all(rows[m.D_TAG : n : m.DEFERRED_WORDS].tolist())
        if words[m.SEND_ERROR] and words[m.TEXT_AT] < words[m.TEXT_END]:
            queries = self._memory.buffer(m.QUERIES)
            first = words[m.NEXT_TAG] * m.QUERY_WORDS + m.W_TAG
            self._start_all(islice(queries, first, None, m.QUERY_WORDS))
            words[m.TEXT_AT] = words[m.TEXT_END]

    def _start_all(self, tags: Iterable[int]) -> None:
        for tag in tags:
            question = self._taken.pop(tag)
            assert question.server is not None
            self.engine.peer_of(question.server).compiled_in_flight -= 1
            self._start(question)
