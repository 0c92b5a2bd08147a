"""Query the names that sources propose for a batch and record those that exist.

Order: zone data, then lists and guesses, then sources that derive names from names found.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, runtime_checkable

from core.statuses import Technique
from crawlers.engine.config import Question
from crawlers.engine.outages import PROBE, SILENCE
from crawlers.enumeration.batch import Batch
from crawlers.enumeration.candidates import Verdict
from crawlers.enumeration.columns import Column
from crawlers.enumeration.domain_state import DomainState
from crawlers.enumeration.wildcard_filter import WildcardFilter
from crawlers.enumeration.wildcard_level import MOST_HELD
from crawlers.sources.base import Harvest, Source, Zone
from crawlers.sources.transfers import Transfers
from crawlers.sources.wordlist import Words

# Sources that build on what the others found.
_LATE = frozenset({Technique.PERMUTATION})


@runtime_checkable
class Learner(Protocol):
    """A source that wants to know which of its names exist."""

    def learn(self, domain: str, found: Sequence[str]) -> None:
        """Take the names of a domain that were found, its own proposals among them."""


def ask_zone_data(batch: Batch, states: list[DomainState]) -> None:
    """Import zone data; a complete zone needs no guesses."""
    own = [s for s in batch.config.sources if s.is_zone_data]
    permitted = [x for x in states if batch.may_transfer(x.domain)]
    for source in [Transfers(), *own] if batch.config.axfr else own:
        left = [x for x in permitted if not x.is_complete]
        silent = _import_zone_data(batch, source, left)
        if silent and batch.engine.config.outage_limit:
            # The engine's own servers had an outage; these zones answer again once they do.
            list(batch.engine.ask([Question(*PROBE)]))
            _import_zone_data(batch, source, silent)
    columns = [Column(x, _all_but_apex(x)) for x in states]
    for state, answer in batch.ask_columns(columns):
        state.add_answer(answer)


def _import_zone_data(batch: Batch, source: Source, states: list[DomainState]) -> list[DomainState]:
    """Import zone data; return zones on the engine's own servers without an answer."""
    silent = []
    for state, harvest in _harvest(batch, source, states):
        if source.technique == Technique.AXFR:
            state.transfer = harvest.status
        state.is_complete |= harvest.status == "OK" and harvest.complete
        state.has_wildcard |= harvest.wildcard
        state.tag(harvest.names, source.technique)
        own = set(batch.engine.servers).intersection(batch.servers_of(state))
        if own and harvest.status in SILENCE:
            silent.append(state)
    return silent


def _all_but_apex(state: DomainState) -> tuple[str, ...]:
    return tuple(name for name in state.tags if name != state.domain)


def _harvest(
    batch: Batch, source: Source, states: Iterable[DomainState]
) -> Iterator[tuple[DomainState, Harvest]]:
    by_domain = {x.domain: x for x in states}
    zones = [Zone(d, batch.servers_of(x), tuple(x.found)) for d, x in by_domain.items()]
    for harvest in source.harvest(zones, batch.engine):
        state = by_domain[harvest.domain]
        state.counts["queries"] += harvest.queries
        batch.report()
        yield state, harvest


def ask_proposals(batch: Batch, wildcards: WildcardFilter, states: list[DomainState]) -> None:
    """Lists and guesses, then what builds on the names that these gave."""
    others = [s for s in batch.config.sources if not s.is_zone_data]
    fresh = _propose(batch, [s for s in others if s.technique not in _LATE], states)
    words = Words(batch.config.wordlist)
    _query_candidates(batch, wildcards, [_column(x, fresh[x.number], words) for x in states])
    for source in others:
        if source.technique in _LATE:
            _build_on(batch, wildcards, source, [x for x in states if not x.is_complete])


def _build_on(
    batch: Batch, wildcards: WildcardFilter, source: Source, states: list[DomainState]
) -> None:
    """Ask what a source makes of the found names, but for what was guessed before."""
    fresh = _propose(batch, [source], states)
    guessed = frozenset(batch.config.wordlist)
    columns = []
    for state in states:
        tail = len(state.domain) + 1
        names = [name for name in fresh[state.number] if name[:-tail] not in guessed]
        columns.append(Column(state, names))
    _query_candidates(batch, wildcards, columns)
    if isinstance(source, Learner):
        for state in states:
            source.learn(state.domain, tuple(state.found))


def _propose(
    batch: Batch, sources: Iterable[Source], states: list[DomainState]
) -> dict[int, list[str]]:
    """Names by domain's number that no source had before."""
    fresh: defaultdict[int, list[str]] = defaultdict(list)
    for source in sources:
        for state, harvest in _harvest(batch, source, states):
            fresh[state.number] += state.tag(harvest.names, source.technique)
            batch.progress.sources[source.technique, harvest.status] += 1
    return fresh


def _column(state: DomainState, listed: list[str], words: Words) -> Column:
    if state.is_complete:
        return Column(state, listed)
    return Column(state, listed, state.guesses(words))


def _query_candidates(batch: Batch, wildcards: WildcardFilter, columns: list[Column]) -> None:
    """Ask candidates, and keep those that no wildcard explains."""

    def count_denials(state: DomainState, n_no_data: int, n_name_errors: int) -> None:
        state.count_denials(n_no_data, n_name_errors)
        wildcards.count_denials(state.number, n_name_errors)

    columns = [column for column in columns if len(column)]
    wildcards.open((column.state.number, column.state.domain) for column in columns)
    screened = _screen(batch, wildcards, columns)
    for state, answer in batch.ask_columns(screened, on_denials=count_denials):
        verdict = wildcards.classify(state.number, answer)
        if verdict == Verdict.WILDCARD:
            state.filter_out(answer, is_suspect=False)
        elif not answer.answers:
            state.add_answer(answer)
    for number, answer, verdict in wildcards.settle():
        if verdict == Verdict.GENUINE:
            batch.states[number].add_answer(answer)
        else:
            batch.states[number].filter_out(answer, is_suspect=verdict == Verdict.SUSPECTED)


def _screen(batch: Batch, wildcards: WildcardFilter, columns: list[Column]) -> list[Column]:
    """Leave out what a wildcard explains, where a question below each candidate shows it."""
    listed = {
        column.state.number: list(islice(column, MOST_HELD))
        for column in columns
        if wildcards.can_screen(column.state.number)
        and not batch.opt_out.reaches_into(column.state.domain)
    }
    explained = wildcards.screen(listed)
    left = []
    for column in columns:
        names = listed.get(column.state.number)
        if names is not None:
            gone = explained.get(column.state.number, set())
            column.state.filter_unasked(len(gone))
            column = column.replace_first(len(names), [n for n in names if n not in gone])
        left.append(column)
    return left
