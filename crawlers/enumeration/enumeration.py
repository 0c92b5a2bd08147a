"""Enumerate the names of domains: names, name servers and every failure.

Sources propose names: zone data first, then lists and guesses, then names derived from those found.
All are queried, interleaved over the zones; names that a wildcard explains are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.records import DomainEntry, DomainOutcome, Lookup
from crawlers.engine.engine import Engine
from crawlers.enumeration.apex import ask_seeds
from crawlers.enumeration.batch import Batch, CrawlConfig, Report
from crawlers.enumeration.discovery import ask_proposals, ask_zone_data
from crawlers.enumeration.domain_state import DomainState, Progress, Suspect
from crawlers.enumeration.ipv6 import ask_ipv6
from crawlers.enumeration.wildcard_filter import WildcardFilter

__all__ = ["Crawl", "CrawlConfig", "Progress", "Suspect", "crawl_domains", "estimate_queries"]
# Questions beside the word list that a domain costs: apex, name servers, their addresses, probes.
_FIXED_QUERIES = 10
# Questions beside these that a zone with a wildcard cost in docs/methods/crawl.md: mean and most.
WILDCARD_QUERIES, MAX_WILDCARD_QUERIES = 400, 1_100


@dataclass(frozen=True, slots=True)
class Crawl:
    """Everything that a batch brought home; ``suspects`` are not found names."""

    lookups: tuple[Lookup, ...]
    outcomes: tuple[DomainOutcome, ...]
    suspects: tuple[Suspect, ...] = ()


def estimate_queries(n_domains: int, n_words: int) -> int:
    """Questions that a survey is likely to ask, an upper bound but for retries and wildcards.

    A zone with a wildcard costs ``WILDCARD_QUERIES`` more, and up to one for each word where names
    below its names cannot show what exists.
    """
    return n_domains * (n_words + _FIXED_QUERIES)


def crawl_domains(
    entries: Sequence[DomainEntry],
    engine: Engine,
    config: CrawlConfig,
    on_progress: Report | None = None,
) -> Crawl:
    """Enumerate a batch of domains; failures of the network are in the result, none is raised."""
    states = [DomainState(number, entry) for number, entry in enumerate(entries)]
    batch = Batch(states, engine, config, on_progress)
    wildcards = WildcardFilter(batch.ask, is_thrifty=config.aaaa)
    alive = ask_seeds(batch)
    ask_zone_data(batch, alive)
    ask_proposals(batch, wildcards, alive)
    if config.aaaa:
        ask_ipv6(batch, wildcards, alive)
    _count_levels(states, wildcards)
    batch.progress.domains_done = len(states)
    batch.report()
    return _build_crawl(states)


def _count_levels(states: list[DomainState], wildcards: WildcardFilter) -> None:
    for number, level in wildcards.levels():
        state = states[number]
        state.has_wildcard |= level.answers
        state.counts["levels"] += 1
        state.counts["probes"] += level.questions


def _build_crawl(states: list[DomainState]) -> Crawl:
    return Crawl(
        tuple(lookup for state in states for lookup in state.lookups()),
        tuple(state.outcome() for state in states),
        tuple(suspect for state in states for suspect in state.suspects),
    )
