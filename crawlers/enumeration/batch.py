"""A batch of domains and the engine that resolves their names.

Every question of an enumeration is asked here, so that answers are counted per domain and progress
is reported in one place.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from core.records import Answer
from core.statuses import ANSWERED
from crawlers.engine.engine import Engine, Question
from crawlers.engine.nameservers import Network, Server
from crawlers.engine.policy import OptOut, contactable
from crawlers.enumeration.domain_state import DomainState, Progress
from crawlers.enumeration.interleave import spread
from crawlers.sources.base import Source

# (number of the domain, name, type)
Asking = tuple[int, str, str]
Report = Callable[[Progress], None]
OPTED_OUT = "OPTED_OUT"
_REPORT_EVERY = 200


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """Options of the queries for each domain; ``opt_out`` domains are not queried.

    ``sources`` are asked beside zone transfers (``axfr``) and the word list.
    """

    wordlist: tuple[str, ...]
    axfr: bool = True
    aaaa: bool = True
    allowed_networks: tuple[Network, ...] = ()
    opt_out: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """Names of one domain to be asked, and how many are expected."""

    state: DomainState
    names: Iterable[str]
    length: int


class Batch:
    """Domains that are crawled together."""

    def __init__(
        self,
        states: list[DomainState],
        engine: Engine,
        config: CrawlConfig,
        on_progress: Report | None = None,
    ) -> None:
        self.states = states
        self.engine = engine
        self.config = config
        self.progress = Progress()
        self.opt_out = OptOut(config.opt_out)
        self.host_answers: dict[str, Answer] = {}
        self._on_progress = on_progress
        self._before = engine.stats.queries
        # Only spreads the load: nothing that is found depends on it.
        self._rng = random.Random(len(states))

    def ask(self, asked: Iterable[Asking]) -> Iterator[tuple[int, Answer]]:
        """Ask, and count what it cost the domain."""
        states = self.states
        questions = (Question(n, t, number, zone=states[number].domain) for number, n, t in asked)
        for question, answer in self.engine.resolve(questions):
            states[question.tag].counts["queries"] += answer.attempts
            self._count(answer)
            yield question.tag, answer

    def ask_columns(
        self, columns: Iterable[Column], rrtype: str = "A"
    ) -> Iterator[tuple[DomainState, Answer]]:
        """Ask the names of many domains, spread over all of them."""
        states = self.states
        mixed = spread(((c.length, self._questions(c, rrtype)) for c in columns), self._rng)
        for number, answer in self.ask(mixed):
            yield states[number], answer

    def _questions(self, column: Column, rrtype: str) -> Iterator[Asking]:
        state, names = column.state, column.names
        if self.opt_out.reaches_into(state.domain):
            names = self._permitted(state, names)
        return ((state.number, name, rrtype) for name in names)

    def _permitted(self, state: DomainState, names: Iterable[str]) -> Iterator[str]:
        for name in names:
            if self.opt_out.covers(name):
                state.skip(1, OPTED_OUT)
            else:
                yield name

    def _count(self, answer: Answer) -> None:
        progress = self.progress
        progress.answered += 1
        if answer.status not in ANSWERED:
            progress.failed[str(answer.status)] += 1
        if not progress.answered % _REPORT_EVERY:
            self.report()

    def report(self) -> None:
        """Report the progress."""
        progress = self.progress
        progress.queries = self.engine.stats.queries - self._before
        progress.found = sum(state.counts["found"] for state in self.states)
        if self._on_progress:
            self._on_progress(progress)

    def servers_of(self, state: DomainState) -> tuple[Server, ...]:
        """The authoritative servers of a domain that may be contacted."""
        addresses = [a for host in state.hosts for a in self.host_answers[host].addresses]
        return contactable(addresses, self.engine.servers, self.config.allowed_networks)
