"""The state of one domain during a crawl: names found, failures and counts, and the outcome."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from core.records import Answer, DomainEntry, DomainOutcome, Lookup
from core.statuses import ANSWERED, DnsStatus, Technique
from crawlers.sources.wordlist import Words


@dataclass(slots=True)
class Progress:
    """Running counters of one batch; ``sources`` counts entries of lists by status."""

    domains_done: int = 0
    queries: int = 0
    answered: int = 0
    found: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    sources: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A name that was answered, but not otherwise than a wildcard might: not a found name."""

    domain: str
    technique: Technique
    answer: Answer
    sources: tuple[Technique, ...] = ()


@dataclass(slots=True)
class DomainState:
    """One domain; ``tags`` are the sources of every name that is not of the word list alone."""

    number: int
    entry: DomainEntry
    transfer: str = "SKIPPED"
    is_alive: bool = True
    is_complete: bool = False
    has_wildcard: bool = False
    hosts: tuple[str, ...] = ()
    tags: dict[str, tuple[Technique, ...]] = field(default_factory=dict)
    found: dict[str, list[Answer]] = field(default_factory=dict)
    suspects: list[Suspect] = field(default_factory=list)
    others: list[Lookup] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    @property
    def domain(self) -> str:
        return self.entry.domain

    def tag(self, names: Iterable[str], technique: Technique) -> list[str]:
        """Record the source of names; return the names that are new."""
        fresh = []
        for name in names:
            known = self.tags.get(name, ())
            if not known and name in self.found:
                known = (Technique.WORDLIST,)
            if not known:
                fresh.append(name)
            if technique not in known:
                self.tags[name] = (*known, technique)
        return fresh

    def guesses(self, words: Words) -> Sequence[str]:
        """Labels of the word list of which no other source has the name; the others get its tag."""
        tail, others = f".{self.domain}", set()
        for name, sources in self.tags.items():
            label = name.removesuffix(tail)
            if label in words.known and name.endswith(tail):
                others.add(label)
                if Technique.WORDLIST not in sources:
                    self.tags[name] = (*sources, Technique.WORDLIST)
        labels = words.labels(self.domain)
        return [label for label in labels if label not in others] if others else labels

    def sources_of(self, name: str) -> tuple[Technique, ...]:
        """All sources that named a name, the first one first."""
        return self.tags.get(name, (Technique.WORDLIST,))

    def add_other(self, answer: Answer, technique: Technique) -> None:
        """An observation that is not a name of the domain: its name servers, or a failure."""
        self.others.append(Lookup(self.domain, technique, answer, (technique,)))

    def add_answer(self, answer: Answer) -> None:
        """Count the answer about a name, and keep it unless the name does not exist."""
        counts = self.counts
        counts["asked"] += 1
        if answer.status not in ANSWERED:
            self.failed[str(answer.status)] += 1
            self.add_other(answer, self.sources_of(answer.name)[0])
        elif answer.answers:
            counts["found"] += 1
            self.found[answer.name] = [answer]
        else:
            counts["nxdomain" if answer.status == DnsStatus.NXDOMAIN else "nodata"] += 1

    def count_denials(self, n_no_data: int, n_name_errors: int) -> None:
        """Count names that were denied."""
        counts = self.counts
        counts["asked"] += n_no_data + n_name_errors
        counts["nodata"] += n_no_data
        counts["nxdomain"] += n_name_errors

    def filter_out(self, answer: Answer, *, is_suspect: bool) -> None:
        """Count a name that a wildcard explains, or that cannot be distinguished from it."""
        self.counts["asked"] += 1
        self.counts["wildcard"] += 1
        if is_suspect:
            sources = self.sources_of(answer.name)
            self.suspects.append(Suspect(self.domain, sources[0], answer, sources))

    def filter_unasked(self, count: int) -> None:
        """Count names that a wildcard explains by what it answers below them."""
        self.counts["asked"] += count
        self.counts["wildcard"] += count

    def retract(self, names: Iterable[str]) -> None:
        """Suspect what was taken for found."""
        for name in names:
            answer = self.found.pop(name)[0]
            self.counts["found"] -= 1
            self.counts["asked"] -= 1
            self.filter_out(answer, is_suspect=True)

    def skip(self, count: int, reason: str) -> None:
        """Count names that are not asked."""
        if count:
            self.counts["asked"] += count
            self.failed[reason] += count

    def lookups(self) -> Iterator[Lookup]:
        """Everything to be stored."""
        yield from self.others
        for name, answers in self.found.items():
            sources = self.sources_of(name)
            for answer in answers:
                yield Lookup(self.domain, sources[0], answer, sources)

    def outcome(self) -> DomainOutcome:
        """The counts, once nothing more is queried."""
        counts = self.counts
        return DomainOutcome(
            domain=self.domain,
            rank=self.entry.rank,
            transfer=str(self.transfer),
            wildcard=self.has_wildcard,
            asked=counts["asked"],
            found=counts["found"],
            nxdomain=counts["nxdomain"],
            nodata=counts["nodata"],
            wildcard_filtered=counts["wildcard"],
            failed=tuple(sorted(self.failed.items())),
            queries=counts["queries"],
            name_servers=self.hosts,
            suspected=len(self.suspects),
            probes=counts["probes"],
            levels=counts["levels"],
        )
