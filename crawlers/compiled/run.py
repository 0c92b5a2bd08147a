"""A run of an engine with usual questions and replies handled by the compiled loop.

The loop sends first queries, matches replies and writes their lines. All policy stays with the
reference engine: before each step it sets the quota of each server, and after it counts the
replies.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, product
from typing import TYPE_CHECKING, Any

from crawlers.compiled import layout as m
from crawlers.compiled.memory import Memory
from crawlers.compiled.slots import LoopRun, Step
from crawlers.dns.message import TYPE_CODES
from crawlers.dns.name_codec import read_question_name
from crawlers.engine.config import Block, EngineConfig, Question, Result
from crawlers.engine.sockets import Channel, Peer

if TYPE_CHECKING:
    from crawlers.engine.engine import Engine

_US = 1_000_000
# The longest step while replies keep coming: windows follow the replies that often. Twice as long
# costs a quarter of the names per second beside a server on another core.
_STEP_US = 5_000
_LONGEST_WAIT_S = 0.05
_POLL_IN = 1
# Permissions of a rate limit that are requested at once.
_MOST_PERMITS = 256


def is_supported(config: EngineConfig) -> bool:
    """Whether the compiled loop keeps all that these options ask for."""
    return not (config.zone_rate or config.additionals)


class CompiledRun(LoopRun):
    """A run over blocks of names, with results as JSON lines, or Results of the slow path."""

    def __init__(
        self,
        engine: "Engine",
        step: Step,
        types: Sequence[str],
        blocks: Iterator[Block],
        nap_us: int = 300,
        *,
        has_records: bool = False,
    ) -> None:
        connected = engine.sockets.connected()
        self._peers = engine.own_peers
        self._channels = [c for peer in self._peers for _, c in connected if c.peer is peer]
        n_peers, n_channels = len(self._peers), len(self._channels)
        memory = Memory(n_peers, n_channels, engine.config.window, has_records=has_records)
        super().__init__(engine, memory, types)
        self._blocks = blocks
        self._step = step
        self._labels = tuple(peer.label for peer in self._peers)
        self._set_constants({id(c): number for number, c in connected}, nap_us)
        self._words[m.HAS_LINES] = int(not has_records)
        self._has_names = True
        self._tags: Any = None
        # Questions for the reference engine that it has not read yet.
        self._singles: deque[Question] = deque()
        self._load_names()

    def ask_singly(self, questions: Iterable[Question]) -> None:
        """Add questions that the reference engine asks."""
        self._singles.extend(questions)
        if not self.sources:
            self.ask(self._read_singles())

    def _read_singles(self) -> Iterator[Question]:
        while self._singles:
            yield self._singles.popleft()

    @property
    def next_tag(self) -> int:
        """Number of the first question that was not read yet."""
        return self._words[m.NEXT_TAG]

    @property
    def is_over(self) -> bool:
        """Whether every question was answered and every result taken."""
        return not self._has_names and super().is_over

    def open_questions(self) -> list[Question]:
        """Questions that were read and have no result yet."""
        return [*super().open_questions(), *self._singles]

    def step(self, wait_s: float = _LONGEST_WAIT_S) -> list[Result]:
        """Send, receive and notice silence; results of the long way, others are lines."""
        words = self._words
        sent = self.send()
        self._load_names()
        permits = self._set_limits()
        now_us = int(self.now() * _US)
        wait_s = 0 if sent or self.done else self.poll_timeout(wait_s)
        words[m.WAIT_UNTIL] = now_us + int(wait_s * _US)
        words[m.STEP_UNTIL] = now_us + _STEP_US
        self._step(self._memory.address)
        self._note_step(permits)
        self._read_unusual()
        self._note_expired()
        self._start_deferred()
        self.receiver.read_all(self.engine.sockets.receive_shared())
        self.receiver.settle()
        self._load_names()
        done, self.done = self.done, []
        return done

    def _set_constants(self, descriptors: dict[int, int], nap_us: int) -> None:
        """Sockets, servers and options, which stay as they are."""
        memory, words, config = self._memory, self._words, self.config
        channels, polled = memory.rows(m.CHANNELS), memory.rows(m.POLLED)
        for number, channel in enumerate(self._channels):
            fd = descriptors[id(channel)]
            channels[number * m.CHANNEL_WORDS + m.C_FD] = fd
            server = self._peers.index(channel.peer)
            channels[number * m.CHANNEL_WORDS + m.C_SERVER] = server
            polled[number] = fd | _POLL_IN << 32
        for number, peer in enumerate(self._peers):
            own = [n for n, c in enumerate(self._channels) if c.peer is peer]
            self._set_server(number, m.S_FIRST_CHANNEL, own[0])
            self._set_server(number, m.S_N_CHANNELS, len(own))
            self._set_label(number, peer)
        memory.set_types([(name, TYPE_CODES[name]) for name in self._types])
        words[m.N_SERVERS], words[m.N_CHANNELS] = len(self._peers), len(self._channels)
        words[m.N_POLLED] = len(self._channels)
        words[m.RECURSION], words[m.CASE_MIXING] = int(config.recursion), int(config.case_mixing)
        words[m.EPOCH] = round(self.engine.epoch * _US)
        words[m.NAP] = nap_us

    def _load_names(self) -> None:
        """Give the loop the next block of names when it has read the last."""
        words = self._words
        if self._has_names and words[m.TEXT_AT] >= words[m.TEXT_END]:
            block = next(self._blocks, None)
            if block is None or not block.text:
                self._has_names = False
                return
            self._memory.set_text(block.text)
            words[m.NEXT_TAG], self._tags = block.first_tag, block.tags
            if block.tags is not None:
                self._memory.set_buffer(m.TAGS, block.tags)
                words[m.NEXT_TAG] = 0

    def _set_limits(self) -> list[int]:
        """Set the query quota of each server; return the permissions used for it."""
        words = self._words
        words[m.ROOM] = self.room.size - self.in_flight
        self._clear_counters()
        available = self.engine.available_peers(self.now())
        if self._has_names and not any(peer.edns for peer in available):
            self._start_block()
        return [self._set_limit(n, peer, peer in available) for n, peer in enumerate(self._peers)]

    def _set_limit(self, number: int, peer: Peer, is_available: bool) -> int:
        others = peer.in_flight - peer.compiled_in_flight
        limit = int(peer.window.size) - others if is_available and peer.edns else 0
        # Second tries that are held go first.
        limit = 0 if peer.held else limit
        free = min(_MOST_PERMITS, limit - peer.compiled_in_flight, self._words[m.ROOM])
        permits, now = m.NEVER, self.now()
        if peer.gate and self._has_names:
            permits = 0
            if free > 0 and now >= peer.opens_at:
                permits, after_s = peer.gate.acquire_many(now, free)
                peer.opens_at = now + after_s
        self._set_server(number, m.S_LIMIT, max(0, limit))
        self._set_server(number, m.S_PERMITS, permits)
        self._set_server(number, m.S_TIMEOUT, int(peer.rtt.timeout_s(0) * _US))
        self._set_server(number, m.S_ANSWERED, 0)
        self._set_server(number, m.S_SENT, 0)
        return permits if peer.gate else 0

    def poll_timeout(self, wait_s: float) -> float:
        """The same, and no longer than until a rate limit permits the next query."""
        now = self.now()
        gates = [peer.opens_at for peer in self._peers if peer.gate and self._has_names]
        return super().poll_timeout(max(0.0, min([wait_s, *(at - now for at in gates)])))

    def _note_step(self, permits: list[int]) -> None:
        """Bring windows, round trips, limits and counters up to date with what came."""
        now = self.now()
        self._lines = self._read_lines(self._labels)
        self._count_replies()
        for number, peer in enumerate(self._peers):
            peer.compiled_in_flight = self._of_server(number, m.S_IN_FLIGHT)
            if permits[number] and peer.gate:
                peer.gate.release(permits[number] - self._of_server(number, m.S_SENT))
            answered = self._of_server(number, m.S_ANSWERED)
            if answered:
                peer.health.note_answer()
                peer.window.note_answers(answered)
                peer.rtt.learn(self._of_server(number, m.S_RTT) / _US)
                self.outages.note_reply(peer, now)
                if self.config.outage_limit:
                    self.outages.note_resolved(peer, self._last_question(), now)

    def _last_question(self) -> Question:
        asked = bytes(self._memory.octets(m.LAST_QUESTION)[: self._words[m.LAST_LENGTH]])
        name, tag = read_question_name(asked), self._words[m.LAST_TAG]
        return self._create_question(name, self._types[0], tag)

    def _create_question(self, name: str, rrtype: str, tag: int) -> Question:
        """A question of the loop as the reference engine has it."""
        return Question(name, rrtype, tag)

    def _channel(self, number: int, source: int) -> Channel:
        return self._channels[number]

    def _channel_of(self, slot: int) -> Channel:
        return self._channels[self._row(slot)[m.Q_CHANNEL]]

    def _start_deferred(self) -> None:
        """Let the reference engine ask what the loop cannot encode, or no socket accepts."""
        rows = self._memory.rows(m.DEFERRED)
        for number in range(self._words[m.N_DEFERRED]):
            begin, end, tag, kind = rows[
                number * m.DEFERRED_WORDS : (number + 1) * m.DEFERRED_WORDS
            ]
            name = self._memory.text_part(begin, end)
            self._start(self._create_question(name, self._types[kind], tag))
        if self._words[m.SEND_ERROR]:
            self._start_block()

    def _start_block(self) -> None:
        """Let the reference engine ask what is left of the present block."""
        words = self._words
        if words[m.TEXT_AT] >= words[m.TEXT_END]:
            return
        names = self._memory.text_part(words[m.TEXT_AT], words[m.TEXT_END]).split("\n")
        pairs = list(product(names, self._types))[words[m.TYPE_AT] :]
        numbers = count(words[m.NEXT_TAG])
        tags = numbers if self._tags is None else (int(self._tags[n]) for n in numbers)
        self.ask_singly([self._create_question(*pair, next(tags)) for pair in pairs])
        words[m.NEXT_TAG] += len(pairs)
        words[m.TYPE_AT], words[m.TEXT_AT] = 0, words[m.TEXT_END]

    def _question(self, slot: int) -> Question:
        row = self._row(slot)
        name = read_question_name(self._asked(slot))
        return self._create_question(name, self._types[row[m.Q_TYPE]], row[m.Q_TAG])
