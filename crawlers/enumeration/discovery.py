"""What the sources propose for a batch, asked and sifted: found names stand in the ledgers after.

Zone data first, then lists and guesses, last what builds on names that were found.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Protocol, runtime_checkable

from core.statuses import Technique
from crawlers.engine.config import Question
from crawlers.engine.outages import PROBE, SILENCE
from crawlers.enumeration.batch import Batch, Column
from crawlers.enumeration.candidates import Verdict
from crawlers.enumeration.domain_state import Ledger
from crawlers.enumeration.wildcard_filter import Sieve
from crawlers.enumeration.wildcard_probe import MOST_HELD
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


def ask_zone_data(batch: Batch, ledgers: list[Ledger]) -> None:
    """What zones tell of themselves; names of a whole zone leave nothing to guess."""
    own = [s for s in batch.config.sources if s.is_zone_data]
    for source in [Transfers(), *own] if batch.config.axfr else own:
        left = [x for x in ledgers if not x.is_complete]
        silent = _take_zone_data(batch, source, left)
        if silent and batch.engine.config.patience:
            # Servers of our own were away; once they answer again, so do these zones.
            list(batch.engine.ask([Question(*PROBE)]))
            _take_zone_data(batch, source, silent)
    columns = [Column(x, _all_but_apex(x), len(x.tags)) for x in ledgers]
    for ledger, answer in batch.ask_columns(columns):
        ledger.judge(answer)


def _take_zone_data(batch: Batch, source: Source, ledgers: list[Ledger]) -> list[Ledger]:
    """Take what zones tell; returns those whose servers are the engine's own and were silent."""
    silent = []
    for ledger, harvest in _harvest(batch, source, ledgers):
        if source.technique == Technique.AXFR:
            ledger.transfer = harvest.status
        ledger.is_complete |= harvest.status == "OK" and harvest.complete
        ledger.has_wildcard |= harvest.wildcard
        ledger.tag(harvest.names, source.technique)
        own = set(batch.engine.servers).intersection(batch.servers_of(ledger))
        if own and harvest.status in SILENCE:
            silent.append(ledger)
    return silent


def _all_but_apex(ledger: Ledger) -> tuple[str, ...]:
    return tuple(name for name in ledger.tags if name != ledger.domain)


def _harvest(
    batch: Batch, source: Source, ledgers: Iterable[Ledger]
) -> Iterator[tuple[Ledger, Harvest]]:
    by_domain = {x.domain: x for x in ledgers}
    zones = [Zone(d, batch.servers_of(x), tuple(x.found)) for d, x in by_domain.items()]
    for harvest in source.harvest(zones, batch.engine):
        ledger = by_domain[harvest.domain]
        ledger.counts["queries"] += harvest.queries
        batch.report()
        yield ledger, harvest


def ask_proposals(batch: Batch, sieve: Sieve, ledgers: list[Ledger]) -> None:
    """Lists and guesses, then what builds on the names that these gave."""
    others = [s for s in batch.config.sources if not s.is_zone_data]
    fresh = _propose(batch, [s for s in others if s.technique not in _LATE], ledgers)
    words = Words(batch.config.wordlist)
    _sift(batch, sieve, [_column(x, fresh[x.number], words) for x in ledgers])
    for source in others:
        if source.technique in _LATE:
            _build_on(batch, sieve, source, [x for x in ledgers if not x.is_complete])


def _build_on(batch: Batch, sieve: Sieve, source: Source, ledgers: list[Ledger]) -> None:
    """Ask what a source makes of the found names, but for what was guessed before."""
    fresh = _propose(batch, [source], ledgers)
    guessed = frozenset(batch.config.wordlist)
    columns = []
    for ledger in ledgers:
        tail = len(ledger.domain) + 1
        names = [name for name in fresh[ledger.number] if name[:-tail] not in guessed]
        columns.append(Column(ledger, names, len(names)))
    _sift(batch, sieve, columns)
    if isinstance(source, Learner):
        for ledger in ledgers:
            source.learn(ledger.domain, tuple(ledger.found))


def _propose(
    batch: Batch, sources: Iterable[Source], ledgers: list[Ledger]
) -> dict[int, list[str]]:
    """Names by domain's number that no source had before."""
    fresh: defaultdict[int, list[str]] = defaultdict(list)
    for source in sources:
        for ledger, harvest in _harvest(batch, source, ledgers):
            fresh[ledger.number] += ledger.tag(harvest.names, source.technique)
            batch.progress.sources[source.technique, harvest.status] += 1
    return fresh


def _column(ledger: Ledger, listed: list[str], words: Words) -> Column:
    if ledger.is_complete:
        return Column(ledger, listed, len(listed))
    return Column(ledger, chain(listed, ledger.guesses(words)), len(listed) + len(words.words))


def _sift(batch: Batch, sieve: Sieve, columns: list[Column]) -> None:
    """Ask candidates, and keep those that no wildcard explains."""
    columns = [column for column in columns if column.length]
    sieve.open((column.ledger.number, column.ledger.domain) for column in columns)
    for ledger, answer in batch.ask_columns(_screen(batch, sieve, columns)):
        verdict = sieve.take(ledger.number, answer)
        if verdict == Verdict.WILDCARD:
            ledger.filter_out(answer, is_suspect=False)
        elif not answer.answers:
            ledger.judge(answer)
    for number, answer, verdict in sieve.settle():
        if verdict == Verdict.GENUINE:
            batch.ledgers[number].judge(answer)
        else:
            batch.ledgers[number].filter_out(answer, is_suspect=verdict == Verdict.SUSPECTED)


def _screen(batch: Batch, sieve: Sieve, columns: list[Column]) -> list[Column]:
    """Leave out what a wildcard explains, where a question below each candidate shows it."""
    rest = {column.ledger.number: iter(column.names) for column in columns}
    listed = {
        column.ledger.number: list(islice(rest[column.ledger.number], MOST_HELD))
        for column in columns
        if sieve.can_screen(column.ledger.number)
        and not batch.opt_out.reaches_into(column.ledger.domain)
    }
    explained = sieve.screen(listed)
    left = []
    for column in columns:
        ledger, gone = column.ledger, explained.get(column.ledger.number, set())
        ledger.filter_unasked(len(gone))
        kept = [name for name in listed.get(ledger.number, ()) if name not in gone]
        names = chain(kept, rest[ledger.number])
        left.append(Column(ledger, names, column.length - len(gone)))
    return left
