"""The enumerator behind its command: no store, no broker."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.records import DomainEntry, DomainOutcome, Lookup, Rejection
from crawlers.enumeration.enumeration import Progress, Suspect, crawl_domains
from crawlers.files.domain_list import read_domain_list
from tasks.resolution.engine_factory import Resolving, crawl_config, open_engine

# Domains enumerated together: enough to take turns, few enough to show names as they come.
BATCH = 200


@dataclass(slots=True)
class Tally:
    """What an enumeration came to, over all batches."""

    names: int = 0
    domains: int = 0
    filtered: int = 0
    suspected: int = 0
    probes: int = 0
    levels: int = 0
    queries: int = 0
    failed: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: DomainOutcome) -> None:
        """Count one domain."""
        self.domains += 1
        self.filtered += outcome.wildcard_filtered
        self.suspected += outcome.suspected
        self.probes += outcome.probes
        self.levels += outcome.levels
        self.queries += outcome.queries
        self.failed.update(dict(outcome.failed))

    def as_text(self) -> str:
        """One line for people."""
        failed = ", ".join(f"{n:,} {status}" for status, n in sorted(self.failed.items()))
        return (
            f"{self.names:,} names of {self.domains:,} domains by {self.queries:,} queries; "
            f"{self.filtered:,} left out under wildcards, {self.suspected:,} of them suspected; "
            f"{self.probes:,} extra questions at {self.levels:,} levels; "
            f"failed: {failed or 'nothing'}"
        )


def enumerate_list(
    data: bytes,
    options: Resolving,
    on_progress: Callable[[Progress], None] | None = None,
    tally: Tally | None = None,
) -> Iterator[dict[str, Any]]:
    """Found names of a domain list as ``{domain, name, technique, sources, state}``.

    ``state`` is "found", or "suspected" for a name that cannot be distinguished from a wildcard;
    ``tally`` is added to.
    """
    entries = read_domain_list(data).entries
    tally = tally if tally is not None else Tally()
    config = crawl_config(options, [entry.domain for entry in entries])
    with open_engine(options) as engine:
        for batch in in_batches(entries):
            crawl = crawl_domains(batch, engine, config, on_progress)
            for outcome in crawl.outcomes:
                tally.add(outcome)
            rows = _found(crawl.lookups)
            tally.names += len(rows)
            yield from rows
            yield from (_row(s, s.answer.name, "suspected") for s in crawl.suspects)


def in_batches(entries: Sequence[DomainEntry]) -> Iterator[Sequence[DomainEntry]]:
    """Batches that each go through the whole list, since neighbours often share servers."""
    count = -(-len(entries) // BATCH)
    return (entries[first::count] for first in range(count))


def _found(lookups: Iterable[Lookup]) -> list[dict[str, Any]]:
    found = {}
    for lookup in lookups:
        name = lookup.answer.name
        own = lookup.technique != "listed" or name == lookup.domain
        if own and lookup.answer.type in ("A", "AAAA") and lookup.answer.status == "NOERROR":
            found[(lookup.domain, name)] = _row(lookup, name, "found")
    return [found[key] for key in sorted(found)]


def _row(of: Lookup | Suspect, name: str, state: str) -> dict[str, Any]:
    row: dict[str, Any] = {
        "domain": of.domain,
        "name": name,
        "technique": str(of.technique),
        "sources": [str(source) for source in of.sources],
        "state": state,
    }
    if state == "suspected":
        row["answers"] = [record._asdict() for record in of.answer.answers]
    return row


def list_rejections(data: bytes) -> list[Rejection]:
    """What a domain list holds that cannot be used."""
    return list(read_domain_list(data).rejected)
