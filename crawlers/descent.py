"""One run of the iterative resolver: each name goes down from cut to cut until somebody knows.

Questions go in, results come out in the order in which they end. Names that need the same
delegation wait for one question, and equal questions are asked once.
"""

import time
from collections import deque
from dataclasses import dataclass

from core.records import Record
from core.statuses import DnsStatus
from crawlers.chains import MAX_CHAIN
from crawlers.delegations import Cut, Delegations, Health
from crawlers.engine import Engine
from crawlers.fetches import Fetches
from crawlers.questions import EngineStats, Question, Result
from crawlers.referrals import Kind, Referral, Verdict, is_within, judge
from crawlers.walks import MAX_DEPTH, Account, Walk, more_telling

_ANSWERS = frozenset({DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN})
_SILENCE = frozenset({DnsStatus.TIMEOUT, DnsStatus.NETWORK})
# Names right below a cut that are known to be none, before they are forgotten.
_MAX_FLAT = 1_000


@dataclass(slots=True)
class IterationStats(EngineStats):
    """Counters since the resolver was opened; ``by_status`` counts names, not queries."""

    referrals: int = 0
    lame: int = 0
    host_lookups: int = 0
    coalesced: int = 0


class Descent:
    """The walks of one run; ``ask`` and ``step`` as those of an engine's run."""

    def __init__(self, engine: Engine, delegations: Delegations, stats: IterationStats) -> None:
        self.run = engine.open_run()
        self.epoch = engine.epoch
        self.delegations = delegations
        self.stats = stats
        # Walks whose turn it is.
        self.due: deque[Walk] = deque()
        self.fetches = Fetches(self)
        # Questions that were taken and have no result yet.
        self.in_flight = 0
        self._ended: list[Result] = []
        self._outbox: list[Question] = []
        self._sent: dict[int, Walk] = {}
        self._tag = 0
        self._leads: dict[str, list[Walk]] = {}
        self._equals: dict[tuple[str, str, str], list[Question]] = {}

    def ask(self, question: Question) -> None:
        """Take a question; the same question in flight is not asked a second time."""
        self.in_flight += 1
        name = question[0].lower().rstrip(".")
        key = (name, question[1], question[4])
        same = self._equals.get(key)
        if same is not None:
            same.append(question)
            self.stats.coalesced += 1
            return
        self._equals[key] = []
        walk = Walk(question, Account())
        walk.name = name
        self.due.append(walk)

    def step(self) -> list[Result]:
        """Send, receive, and let every walk go on that can; returns what ended."""
        self._advance_all()
        if self._outbox:
            self.run.ask(self._outbox)
            self._outbox = []
        for result in self.run.step():
            self._take(result, time.monotonic())
        ended, self._ended = self._ended, []
        return ended

    def _advance_all(self) -> None:
        now, due = time.monotonic(), self.due
        while due:
            self._advance(due.popleft(), now)

    def _advance(self, walk: Walk, now: float) -> None:
        """Ask the deepest known servers for a walk, or let it wait for somebody's answer."""
        if walk.gives_up or self._is_out_of_bounds(walk):
            self._end(walk, DnsStatus.SERVFAIL)
            return
        # A zone's DS records stand on the other side of the cut.
        start = walk.name if walk.type != "DS" else walk.name.partition(".")[2]
        cut, child = self.delegations.find(start, now)
        if cut is not walk.cut:
            walk.cut, walk.tried, walk.again, walk.status = cut, [], False, None
        if not cut.ready:
            cut.order(now)
        if walk.tried or not cut.ready:
            self._try_another(walk, cut, now)
        elif not (cut.delegates and child not in cut.flat and self._follows(walk, child)):
            self._send(walk, cut, cut.pick(now))

    def _is_out_of_bounds(self, walk: Walk) -> bool:
        if not walk.account.is_spent and walk.depth <= MAX_DEPTH:
            return False
        walk.is_spoiled = True
        return True

    def _follows(self, walk: Walk, child: str) -> bool:
        """Whether another walk asks for the same delegation; if not, this one leads from now."""
        followers = self._leads.get(child)
        if followers is not None:
            followers.append(walk)
            return True
        self._leads[child] = []
        walk.leads = child
        return False

    def _send(self, walk: Walk, cut: Cut, health: Health) -> None:
        walk.health = health
        walk.account.queries += 1
        self._tag = tag = self._tag + 1
        self._sent[tag] = walk
        subnet = walk.question[4]
        question = Question(walk.name, walk.type, tag, health.server, subnet, cut.zone)
        self._outbox.append(question)

    def _try_another(self, walk: Walk, cut: Cut, now: float) -> None:
        """Ask a server that was not asked yet, find further ones, or give up."""
        if self._is_out_of_bounds(walk):
            self._end(walk, DnsStatus.SERVFAIL)
        elif left := cut.others(walk.tried, now):
            self._send(walk, cut, left[0])
        elif self.fetches.may_help(cut):
            self._release(walk)
            self.fetches.wait(walk, cut, now)
        elif walk.status in _SILENCE and not walk.again and (left := cut.others((), now)):
            walk.again, walk.tried = True, []
            self._send(walk, cut, left[0])
        else:
            self._end(walk, walk.status or DnsStatus.SERVFAIL)

    def _take(self, result: Result, now: float) -> None:
        """One server's reply, or its silence."""
        walk = self._sent.pop(result[0][2])
        cut, health = walk.cut, walk.health
        assert cut is not None
        assert health is not None
        walk.account.queries += result[6] - 1
        status = result[1]
        if status in _ANSWERS:
            self.delegations.hear(health, result[7], now)
            self._judge(walk, cut, result, now)
            return
        if status in _SILENCE:
            self.delegations.miss(cut, health, now)
        else:
            self.delegations.hear(health, result[7], now)
            cut.blame(health, now, lasting=status is DnsStatus.REFUSED)
        self._note_failure(walk, cut, health, status, now)

    def _note_failure(
        self, walk: Walk, cut: Cut, health: Health, status: DnsStatus, now: float
    ) -> None:
        walk.tried.append(health.server.address)
        walk.status = more_telling(walk.status, status)
        self._try_another(walk, cut, now)

    def _judge(self, walk: Walk, cut: Cut, result: Result, now: float) -> None:
        answers = result[2]
        if result[10] and len(answers) == 1 and answers[0][:2] == (walk.name, walk.type):
            self._end(walk, DnsStatus.NOERROR, answers, result)
            return
        assert walk.health is not None
        verdict = judge(cut.zone, walk.name, walk.type, result)
        if verdict.kind is Kind.LAME:
            self.stats.lame += 1
            cut.blame(walk.health, now, lasting=True)
            self._note_failure(walk, cut, walk.health, DnsStatus.SERVFAIL, now)
            return
        if cut.faults:
            cut.clear(walk.health, now)
        if verdict.kind is Kind.ANSWER:
            self._end(walk, verdict.status, verdict.records, result)
        elif verdict.kind is Kind.ALIAS:
            self._follow_alias(walk, verdict)
        elif verdict.referral is not None:
            self._go_down(walk, cut, verdict.referral, now)

    def _go_down(self, walk: Walk, cut: Cut, referral: Referral, now: float) -> None:
        cut.delegates = True
        self.stats.referrals += 1
        self.delegations.add(referral, now)
        self._release(walk)
        self.due.append(walk)

    def _follow_alias(self, walk: Walk, verdict: Verdict) -> None:
        self._note_flat(walk)
        walk.parts += verdict.records
        names = {record.name for record in walk.parts}
        if verdict.target in names or len(walk.parts) > MAX_CHAIN:
            self._end(walk, DnsStatus.CNAME_LOOP)
            return
        walk.name, walk.cut = verdict.target, None
        self.due.append(walk)

    def _note_flat(self, walk: Walk) -> None:
        """There is no cut at the name that this walk led: nobody has to wait there again."""
        if walk.leads and walk.cut is not None:
            flat = walk.cut.flat
            if len(flat) >= _MAX_FLAT:
                flat.clear()
            flat.add(walk.leads)
            self._release(walk)

    def _release(self, walk: Walk) -> None:
        """Let those go on who wait for the same delegation."""
        if walk.leads:
            self.due.extend(self._leads.pop(walk.leads))
            walk.leads = ""

    def _end(
        self,
        walk: Walk,
        status: DnsStatus,
        records: tuple[Record, ...] = (),
        result: Result | None = None,
    ) -> None:
        if walk.leads and result is not None:
            self._note_flat(walk)
        elif walk.leads:
            self._end_followers(walk, status)
        if walk.wanted:
            self.fetches.take(walk, status, records, time.monotonic())
        else:
            self._give_out(walk, status, walk.parts + records, result)

    def _end_followers(self, walk: Walk, status: DnsStatus) -> None:
        """Who waited for a delegation that nobody gives fails with the walk that asked."""
        if walk.is_spoiled:
            self._release(walk)
            return
        followers = self._leads.pop(walk.leads)
        walk.leads = ""
        for follower in followers:
            self._end(follower, status)

    def _give_out(
        self, walk: Walk, status: DnsStatus, answers: tuple[Record, ...], result: Result | None
    ) -> None:
        question, zone = walk.question, walk.cut.zone if walk.cut else ""
        authorities = result[3] if result else ()
        # What a server says about zones beside its own is worth nothing.
        if authorities and not all(is_within(r[0], zone) for r in authorities):
            authorities = tuple(r for r in authorities if is_within(r[0], zone))
        given = Result(
            question,
            status,
            answers,
            authorities,
            result[4] if result else "",
            result[5] if result else "udp",
            walk.account.queries,
            result[7] if result else None,
            self.epoch + time.monotonic(),
            authoritative=bool(result and result[10]),
        )
        key = (question[0].lower().rstrip("."), question[1], question[4])
        for same in (question, *self._equals.pop(key)):
            self.in_flight -= 1
            self.stats.count(status)
            self._ended.append(given._replace(question=same))
