"""One run of the iterative resolver: each name follows referrals until a server answers it.

Results are returned in the order in which they end. Names that need the same delegation wait for
one query, and equal questions are queried once. Where there is a compiled loop, it sends first
queries and writes answers of a zone's own servers; every other reply is classified here.
"""

import json
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.errors import BadInput
from core.records import Record
from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.compiled.slots import STATUSES, Step
from crawlers.dns.cname import MAX_CHAIN
from crawlers.dns.message import encode_question
from crawlers.engine.config import NO_LINES, EngineStats, Lines, Question, Result
from crawlers.engine.engine import Engine
from crawlers.iterative.address_lookups import AddressLookups
from crawlers.iterative.addressed import AddressedRun, Written
from crawlers.iterative.delegation_cache import DelegationCache, ServerHealth, ZoneCut
from crawlers.iterative.referral import Kind, Referral, Verdict, classify_reply, is_within
from crawlers.iterative.state import MAX_DEPTH, Account, Resolution, more_severe

_ANSWERS = frozenset({DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN})
_SILENCE = frozenset({DnsStatus.TIMEOUT, DnsStatus.NETWORK})
# A name shorter than this has no label that is too long.
_SHORT = 64
_MAKE = tuple.__new__
_BY_NUMBER = [status for _, status in STATUSES]


@dataclass(slots=True)
class IterationStats(EngineStats):
    """Counters since the resolver was opened; ``by_status`` counts names, not queries.

    ``stuck`` are walks that nothing would ever have ended; there should be none.
    """

    referrals: int = 0
    lame: int = 0
    host_lookups: int = 0
    coalesced: int = 0
    stuck: int = 0


class Loop(NamedTuple):
    """A compiled loop, and the types that it may ask for."""

    step: Step
    types: Sequence[str]


class IterativeRun:
    """The walks of one run; ``ask`` and ``step`` as those of an engine's run."""

    def __init__(
        self,
        engine: Engine,
        delegations: DelegationCache,
        stats: IterationStats,
        loop: Loop | None = None,
    ) -> None:
        self._in_loop = AddressedRun(engine, *loop) if loop else None
        self.run = self._in_loop or engine.open_run()
        self._ask_in_loop = self._in_loop.ask_in_loop if self._in_loop else self.run.ask
        self._lines = NO_LINES
        self.epoch = engine.epoch
        self.delegations = delegations
        self.stats = stats
        # One reading of the clock serves all that happens in a turn.
        self.now = time.monotonic()
        # Walks that can continue.
        self.due: deque[Resolution] = deque()
        self.fetches = AddressLookups(self)
        # Questions that were taken and have no result yet.
        self.in_flight = 0
        self._ended: list[Result] = []
        self._outbox: list[Question] = []
        self._loop_outbox: list[Question] = []
        self._sent: dict[int, Resolution] = {}
        self._tag = 0
        self._leads: dict[str, list[Resolution]] = {}
        self._equals: dict[tuple[str, str, str], tuple[Question, ...]] = {}

    def ask(self, question: Question) -> None:
        """Take a question; the same question in flight is not asked a second time."""
        self.in_flight += 1
        name = question[0].lower().rstrip(".")
        key = (name, question[1], question[4])
        if key in self._equals:
            self._equals[key] += (question,)
            self.stats.coalesced += 1
            return
        self._equals[key] = (question,)
        walk = Resolution(question, name, Account())
        if _can_be_written(name, question[1]):
            self.due.append(walk)
        else:
            self._end(walk, DnsStatus.MALFORMED)

    def step(self) -> list[Result]:
        """Send, receive, and let every walk continue that can; returns what ended."""
        self.now = time.monotonic()
        while self.due:
            self._advance(self.due.popleft())
        if self._outbox:
            self.run.ask(self._outbox)
            self._outbox = []
        if self._loop_outbox:
            self._ask_in_loop(self._loop_outbox)
            self._loop_outbox = []
        results = self.run.step()
        self.now = time.monotonic()
        if self._in_loop:
            self._note_written(self._in_loop.pop_written())
        for result in results:
            self._handle_result(result)
        if not (self._sent or self.due or self._ended):
            # No packet and no walk is on its way, so what waits would wait indefinitely.
            self.stats.stuck += self.fetches.end_all()
        ended, self._ended = self._ended, []
        return ended

    def _advance(self, walk: Resolution) -> None:
        """Query the deepest known servers for a resolution, or let it wait for another's reply."""
        if walk.gives_up or self._is_out_of_bounds(walk):
            self._end(walk, DnsStatus.SERVFAIL)
            return
        # A zone's DS records are on the other side of the cut.
        start = walk.name if walk.type != "DS" else walk.name.partition(".")[2]
        cut, child = self.delegations.find(start, self.now)
        if cut is not walk.cut:
            walk.cut, walk.tried, walk.again, walk.status = cut, (), False, None
        if not cut.ready:
            cut.order(self.now)
        if walk.tried or not cut.ready:
            self._try_another(walk, cut)
        elif not (cut.delegates and self._follows(walk, cut, child)):
            self._send(walk, cut, cut.pick(self.now))

    def _is_out_of_bounds(self, walk: Resolution) -> bool:
        if not walk.account.is_spent and walk.depth <= MAX_DEPTH:
            return False
        walk.is_budget_failure = True
        return True

    def _follows(self, walk: Resolution, cut: ZoneCut, child: str) -> bool:
        """Whether another walk asks for the same delegation; if not, this one leads from now."""
        name = walk.name
        while child in cut.flat:
            if child == name:
                return False
            child = name[name.rfind(".", 0, -len(child) - 1) + 1 :]
        followers = self._leads.get(child)
        if followers is not None:
            followers.append(walk)
            return True
        self._leads[child] = []
        walk.leads = child
        return False

    def _send(self, walk: Resolution, cut: ZoneCut, health: ServerHealth) -> None:
        walk.health = health
        question = walk.question
        # The result may be a line, which has the tag of its question.
        tag = question[2] if self._in_loop and walk.is_fresh and walk.name == question[0] else -1
        if tag < 0 or tag in self._sent:
            self._tag = tag = self._tag - 1
        walk.account.queries += 1
        self._sent[tag] = walk
        outbox = self._outbox if question[4] or walk.tried else self._loop_outbox
        outbox.append(Question(walk.name, walk.type, tag, health.server, question[4], cut.zone))

    def _try_another(self, walk: Resolution, cut: ZoneCut) -> None:
        """Ask a server that was not asked yet, find further ones, or give up."""
        if self._is_out_of_bounds(walk):
            self._end(walk, DnsStatus.SERVFAIL)
        elif left := cut.others(walk.tried, self.now):
            self._send(walk, cut, left[0])
        elif self.fetches.may_help(cut):
            self._release(walk)
            self.fetches.wait(walk, cut, self.now)
        elif walk.status in _SILENCE and not walk.again and (left := cut.others((), self.now)):
            walk.again, walk.tried = True, ()
            self._send(walk, cut, left[0])
        else:
            self._end(walk, walk.status or DnsStatus.SERVFAIL)

    def _handle_result(self, result: Result) -> None:
        """One server's reply, or its silence."""
        walk = self._sent.pop(result[0][2])
        cut, health = walk.cut, walk.health
        assert cut is not None
        assert health is not None
        walk.account.queries += result[6] - 1
        status = result[1]
        if status in _ANSWERS:
            self.delegations.record_reply(health, result[7], self.now)
            self._handle_reply(walk, cut, result)
            return
        if status in _SILENCE:
            self.delegations.record_silence(cut, health, self.now)
        else:
            self.delegations.record_reply(health, result[7], self.now)
            cut.record_fault(health, self.now, lasting=status is DnsStatus.REFUSED)
        self._note_failure(walk, cut, health, status)

    def pop_lines(self) -> Lines:
        """The results of the last step that the loop has written; good until the next step."""
        lines, self._lines = self._lines, NO_LINES
        return lines

    def _note_written(self, written: Written) -> None:
        """Note the results that are lines; equal questions are answered from the same line."""
        self._lines, now, texts = written.lines, self.now, list[bytes]()
        for number, (tag, rtt_us) in enumerate(zip(written.tags, written.rtts_us, strict=True)):
            walk = self._sent.pop(tag)
            cut, health = walk.cut, walk.health
            assert cut is not None
            assert health is not None
            self.delegations.record_reply(health, rtt_us / 1000, now)
            if cut.faults:
                cut.clear(health, now)
            if walk.leads:
                self._note_flat(walk)
            question = walk.question
            same = self._equals.pop((question[0], question[1], question[4]))
            self.in_flight -= len(same)
            if len(same) > 1:
                texts = texts or bytes(written.lines.text).splitlines()
                self._answer_alike(same, texts[number])
        rows = memoryview(written.lines.rows).cast("q")
        for status, n in Counter(rows[m.R_STATUS :: m.RESULT_WORDS].tolist()).items():
            self.stats.count(_BY_NUMBER[status], n)

    def _answer_alike(self, same: Sequence[Question], line: bytes) -> None:
        """Answer further questions with the result that a line holds."""
        first = read_line(line, same[0], self.epoch + self.now)
        for question in same[1:]:
            self.stats.count(first.status)
            self._ended.append(first._replace(question=question))

    def _note_failure(
        self, walk: Resolution, cut: ZoneCut, health: ServerHealth, status: DnsStatus
    ) -> None:
        walk.tried += (health.server.address,)
        walk.status = more_severe(walk.status, status)
        self._try_another(walk, cut)

    def _handle_reply(self, walk: Resolution, cut: ZoneCut, result: Result) -> None:
        answers = result[2]
        if result[10] and len(answers) == 1 and answers[0][:2] == (walk.name, walk.type):
            self._end(walk, DnsStatus.NOERROR, answers, result)
            return
        assert walk.health is not None
        verdict = classify_reply(cut.zone, walk.name, walk.type, result)
        if verdict.kind is Kind.LAME:
            self.stats.lame += 1
            cut.record_fault(walk.health, self.now, lasting=True)
            self._note_failure(walk, cut, walk.health, DnsStatus.SERVFAIL)
            return
        if cut.faults:
            cut.clear(walk.health, self.now)
        if verdict.kind is Kind.ANSWER:
            self._end(walk, verdict.status, verdict.records, result)
        elif verdict.kind is Kind.ALIAS:
            self._follow_alias(walk, verdict)
        elif verdict.referral is not None:
            self._follow_referral(walk, cut, verdict.referral)

    def _follow_referral(self, walk: Resolution, cut: ZoneCut, referral: Referral) -> None:
        cut.delegates = True
        self.stats.referrals += 1
        self.delegations.add(referral, self.now)
        if walk.type == "DS" and referral.zone == walk.name:
            self._end(walk, DnsStatus.NODATA)
            return
        if walk.leads and not is_within(walk.leads, referral.zone):
            # The servers of a zone and of one below it are the same, as with "uk" and "co.uk".
            self._note_flat(walk)
        self._release(walk)
        self.due.append(walk)

    def _follow_alias(self, walk: Resolution, verdict: Verdict) -> None:
        self._note_flat(walk)
        walk.parts += verdict.records
        names = {record.name for record in walk.parts}
        if verdict.target in names or len(walk.parts) > MAX_CHAIN:
            self._end(walk, DnsStatus.CNAME_LOOP)
            return
        walk.name, walk.cut = verdict.target, None
        self.due.append(walk)

    def _note_flat(self, walk: Resolution) -> None:
        """Record that there is no zone cut at a name, so that no resolution waits there again."""
        if walk.leads and walk.cut is not None:
            walk.cut.note_flat(walk.leads)
            self._release(walk)

    def _release(self, walk: Resolution) -> None:
        """Let those continue who wait for the same delegation."""
        if walk.leads:
            self.due.extend(self._leads.pop(walk.leads))
            walk.leads = ""

    def _end(
        self,
        walk: Resolution,
        status: DnsStatus,
        records: tuple[Record, ...] = (),
        result: Result | None = None,
    ) -> None:
        if walk.leads and result is not None:
            self._note_flat(walk)
        elif walk.leads:
            self._end_followers(walk, status)
        if walk.wanted:
            self.fetches.end_walk(walk, status, records, self.now)
        else:
            self._emit(walk, status, walk.parts + records, result)

    def _end_followers(self, walk: Resolution, status: DnsStatus) -> None:
        """Fail the resolutions that waited for a delegation, if no server answers at all.

        Other failures may concern the one name, so the others query by themselves.
        """
        if walk.is_budget_failure:
            self._release(walk)
            return
        if status not in _SILENCE:
            self._note_flat(walk)
            return
        followers = self._leads.pop(walk.leads)
        walk.leads = ""
        for follower in followers:
            self._end(follower, status)

    def _emit(
        self,
        walk: Resolution,
        status: DnsStatus,
        answers: tuple[Record, ...],
        result: Result | None,
    ) -> None:
        question, zone = walk.question, walk.cut.zone if walk.cut else ""
        authorities = result[3] if result else ()
        # Records out of bailiwick are ignored.
        if authorities and not all(is_within(r[0], zone) for r in authorities):
            authorities = tuple(r for r in authorities if is_within(r[0], zone))
        fate = (status, answers, authorities)
        how = (result[4], result[5]) if result else ("", "udp")
        rtt_ms = result[7] if result else None
        rest = (
            *how,
            walk.account.queries,
            rtt_ms,
            self.epoch + self.now,
            (),
            bool(result and result[10]),
            None,
        )
        for same in self._equals.pop((question[0].lower().rstrip("."), question[1], question[4])):
            self.in_flight -= 1
            self.stats.count(status)
            self._ended.append(_MAKE(Result, (same, *fate, *rest)))


def read_line(line: bytes, question: Question, at: float) -> Result:
    """The result that a line of the loop holds, at a time."""
    row = json.loads(line)
    answers, authorities = (
        tuple(Record(**record) for record in row[part]) for part in ("answers", "authorities")
    )
    fate = (question, DnsStatus(row["status"]), answers, authorities)
    how = (row["resolver"], row["protocol"], row["attempts"], row["rtt_ms"])
    return Result(*fate, *how, at, authoritative=True)


def _can_be_written(name: str, rrtype: str) -> bool:
    is_short = len(name) < _SHORT and name.isascii()
    if rrtype == "A" and is_short and ".." not in name and name[:1] not in ("", "."):
        return True
    try:
        encode_question(name, rrtype)
    except (BadInput, KeyError):
        return False
    return True
