"""A batch of domains and the engine that resolves their names.

Every query of an enumeration is sent here, so that answers are counted per domain and progress
is reported in one place.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.records import Answer
from core.statuses import ANSWERED
from crawlers.engine.engine import Engine, Question
from crawlers.engine.nameservers import Network, Server
from crawlers.engine.policy import DomainSet, contactable
from crawlers.enumeration.bulk_queries import Denials, ask_blocks, find_step
from crawlers.enumeration.columns import Column, NameBlocks
from crawlers.enumeration.domain_state import DomainState, Progress
from crawlers.enumeration.interleave import order
from crawlers.sources.base import Source

# (number of the domain, name, type)
Asking = tuple[int, str, str]
Report = Callable[[Progress], None]
# A domain, and how many of its guesses exist without the type, or do not exist.
OnDenials = Callable[[DomainState, int, int], None]
OPTED_OUT = "OPTED_OUT"
_REPORT_EVERY = 200


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """Options of the queries for each domain; ``opt_out`` domains are not queried.

    Zone transfers and NSEC walks are limited to ``transfer_domains`` and what is below them, where
    these are given; servers in ``denied_networks`` are not contacted. ``sources`` are used in
    addition to zone transfers (``axfr``) and the word list. ``compiled`` permits the compiled loop
    for questions of which most are denied.
    """

    wordlist: tuple[str, ...]
    axfr: bool = True
    aaaa: bool = True
    allowed_networks: tuple[Network, ...] = ()
    denied_networks: tuple[Network, ...] = ()
    transfer_domains: frozenset[str] | None = None
    opt_out: frozenset[str] = frozenset()
    sources: tuple[Source, ...] = ()
    compiled: bool = True


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
        self.opt_out = DomainSet(config.opt_out)
        permitted = config.transfer_domains
        self._transferable = None if permitted is None else DomainSet(permitted)
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
        self,
        columns: Iterable[Column],
        rrtype: str = "A",
        on_denials: OnDenials | None = None,
    ) -> Iterator[tuple[DomainState, Answer]]:
        """Ask the names of many domains, spread over all of them.

        ``on_denials`` gets how many guesses of a domain exist without the type, and how many do
        not exist, where these are counted together; no answers are yielded for them.
        """
        permitted = [self._permit(column) for column in columns]
        n_questions = sum(map(len, permitted))
        states, engine = self.states, self.engine
        step = find_step(engine.config, n_questions) if self.config.compiled else None
        if step is None:
            for number, answer in self.ask(self._questions(permitted, rrtype)):
                yield states[number], answer
            return

        def count_denials(found: Sequence[Denials]) -> None:
            for number, n_no_data, n_name_errors in found:
                states[number].counts["queries"] += n_no_data + n_name_errors
                self.progress.answered += n_no_data + n_name_errors
                if on_denials:
                    on_denials(states[number], n_no_data, n_name_errors)
            self.report()

        blocks = NameBlocks(permitted, len(states) if on_denials else 0, self._rng)
        for number, answer in ask_blocks(engine, step, blocks, rrtype, count_denials):
            states[number].counts["queries"] += answer.attempts
            self._count(answer)
            yield states[number], answer

    def _questions(self, columns: Sequence[Column], rrtype: str) -> Iterator[Asking]:
        for numbers, places in order([len(column) for column in columns], self._rng):
            for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
                column = columns[number]
                yield column.state.number, column.name_at(place), rrtype

    def _permit(self, column: Column) -> Column:
        """The column without the names of domains that opted out."""
        state, opt_out = column.state, self.opt_out
        if not opt_out.reaches_into(state.domain):
            return column
        names = [name for name in column if not opt_out.covers(name)]
        state.skip(len(column) - len(names), OPTED_OUT)
        return Column(state, names)

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
        config = self.config
        own = self.engine.servers
        return contactable(addresses, own, config.allowed_networks, config.denied_networks)

    def may_transfer(self, domain: str) -> bool:
        """Whether the zone of a domain may be transferred or walked."""
        return self._transferable is None or self._transferable.covers(domain)
