"""Domains in; their names, name servers and every failure out.

Order for a batch of domains: name servers, zone transfers, wildcard probes, word list, addresses
of transferred names, IPv6 addresses. Questions of all domains are interleaved, so that no zone
and no server is asked in a burst.
"""

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from itertools import zip_longest

from core.records import Answer, DomainEntry, DomainOutcome, Lookup
from core.statuses import ANSWERED, DnsStatus, Technique
from crawlers import wildcards
from crawlers.engine import Engine, Question
from crawlers.servers import Network, Server, may_query_found
from crawlers.transfer import Transfer, transfer_zone
from crawlers.wildcards import Wildcard

# Questions beside the word list that a domain costs: apex, name servers, their addresses, probes.
_FIXED_QUERIES = 10
_REPORT_EVERY = 200
_TRANSFER_SERVERS = 4


@dataclass(frozen=True, slots=True)
class CrawlConfig:
    """What is asked about each domain; ``opt_out`` domains are not asked at all."""

    wordlist: tuple[str, ...]
    axfr: bool = True
    aaaa: bool = True
    allowed_networks: tuple[Network, ...] = ()
    opt_out: frozenset[str] = frozenset()


@dataclass(slots=True)
class Progress:
    """Running counters of one batch."""

    domains_done: int = 0
    queries: int = 0
    answered: int = 0
    found: int = 0
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Crawl:
    """Everything that a batch brought home."""

    lookups: tuple[Lookup, ...]
    outcomes: tuple[DomainOutcome, ...]


def estimate_queries(n_domains: int, n_words: int) -> int:
    """Questions that a survey is likely to ask, an upper bound but for retries."""
    return n_domains * (n_words + _FIXED_QUERIES)


@dataclass(slots=True)
class _Zone:
    """What is known about one domain so far."""

    entry: DomainEntry
    transfer: str = "SKIPPED"
    transferred: tuple[str, ...] = ()
    wildcards: dict[str, Wildcard] = field(default_factory=dict)
    wild_in_transfer: bool = False
    hosts: tuple[str, ...] = ()
    found: dict[str, Technique] = field(default_factory=dict)
    candidates: list[tuple[Answer, Technique]] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    exists: bool = True

    @property
    def domain(self) -> str:
        return self.entry.domain

    def keep(self, answer: Answer, technique: Technique) -> None:
        self.lookups.append(Lookup(self.domain, technique, answer))

    def levels(self, name: str) -> Iterator[Wildcard]:
        """Wildcards above a name, nearest first."""
        while name != self.domain:
            name = name.partition(".")[2]
            known = self.wildcards.get(name)
            if known:
                yield known

    def outcome(self) -> DomainOutcome:
        counts = self.counts
        return DomainOutcome(
            domain=self.domain,
            rank=self.entry.rank,
            transfer=str(self.transfer),
            wildcard=self.wild_in_transfer or any(w.exists for w in self.wildcards.values()),
            asked=counts["asked"],
            found=counts["found"],
            nxdomain=counts["nxdomain"],
            nodata=counts["nodata"],
            wildcard_filtered=counts["wildcard"],
            failed=tuple(sorted(self.failed.items())),
            queries=counts["queries"],
            name_servers=self.hosts,
        )


def crawl_domains(
    entries: Sequence[DomainEntry],
    engine: Engine,
    config: CrawlConfig,
    on_progress: Callable[[Progress], None] | None = None,
) -> Crawl:
    """Enumerate a batch of domains; every failure is in the result, none is raised."""
    crawl = _Crawl([_Zone(e) for e in entries], engine, config, on_progress)
    crawl.run()
    return Crawl(
        tuple(lookup for zone in crawl.zones for lookup in zone.lookups),
        tuple(zone.outcome() for zone in crawl.zones),
    )


class _Crawl:
    """One batch on its way through the phases."""

    def __init__(
        self,
        zones: list[_Zone],
        engine: Engine,
        config: CrawlConfig,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.zones = zones
        self.engine = engine
        self.config = config
        self.on_progress = on_progress
        self.progress = Progress()
        self.host_answers: dict[str, Answer] = {}
        self.before = engine.stats.queries

    def run(self) -> None:
        asked = [z for z in self.zones if not self._opted_out(z)]
        self._ask_apexes(asked)
        alive = [z for z in asked if z.exists]
        self._ask_name_servers(alive)
        if self.config.axfr:
            self._transfer([z for z in alive if z.transfer == "SKIPPED"])
        listed = [z for z in alive if z.transfer != "OK"]
        self._probe([(z, z.domain) for z in listed])
        self._ask_words(listed)
        self._filter(listed)
        self._ask_transferred([z for z in alive if z.transfer == "OK"])
        if self.config.aaaa:
            self._ask_ipv6(alive)
        self.progress.domains_done = len(self.zones)
        self._report()

    def _opted_out(self, zone: _Zone) -> bool:
        out = zone.domain in self.config.opt_out
        if out:
            zone.failed["OPTED_OUT"] = zone.counts["asked"] = 1
        return out

    def _ask(self, asked: Iterable[tuple[int, str, str]]) -> Iterator[tuple[_Zone, Answer]]:
        """Ask (zone number, name, type) and count what it cost the zone."""
        questions = (Question(name, rrtype, tag) for tag, name, rrtype in asked)
        for question, answer in self.engine.resolve(questions):
            zone = self.zones[question.tag]
            zone.counts["queries"] += answer.attempts
            self._count(answer)
            yield zone, answer

    def _count(self, answer: Answer) -> None:
        progress = self.progress
        progress.answered += 1
        if answer.status not in ANSWERED:
            progress.failed[str(answer.status)] += 1
        if not progress.answered % _REPORT_EVERY:
            self._report()

    def _report(self) -> None:
        self.progress.queries = self.engine.stats.queries - self.before
        if self.on_progress:
            self.on_progress(self.progress)

    def _numbers(self, zones: Iterable[_Zone]) -> list[tuple[int, _Zone]]:
        position = {id(zone): i for i, zone in enumerate(self.zones)}
        return [(position[id(zone)], zone) for zone in zones]

    def _ask_apexes(self, zones: list[_Zone]) -> None:
        """The domain itself and its name servers; a zone that answers neither is dead."""
        numbered = self._numbers(zones)
        asked = [(i, z.domain, rrtype) for i, z in numbered for rrtype in ("A", "NS")]
        answered: Counter[str] = Counter()
        for zone, answer in self._ask(asked):
            answered[zone.domain] += answer.status in ANSWERED
            if answer.type == "NS":
                zone.keep(answer, Technique.LISTED)
                zone.hosts = tuple(sorted({r.data for r in answer.answers if r.type == "NS"}))
                continue
            self._judge(zone, answer, Technique.LISTED)
            zone.exists = answer.status != DnsStatus.NXDOMAIN or bool(answer.answers)
        for zone in zones:
            if not answered[zone.domain]:
                self._give_up(zone)

    def _give_up(self, zone: _Zone) -> None:
        """A zone that answered nothing would only time out once per word."""
        zone.exists = False
        zone.counts["asked"] += len(self.config.wordlist)
        zone.failed[str(DnsStatus.SKIPPED)] += len(self.config.wordlist)

    def _judge(self, zone: _Zone, answer: Answer, technique: Technique) -> None:
        """Count the first answer about a name, and keep it unless the name does not exist."""
        zone.counts["asked"] += 1
        if answer.status not in ANSWERED:
            zone.failed[str(answer.status)] += 1
            zone.keep(answer, technique)
        elif answer.answers:
            zone.counts["found"] += 1
            zone.found[answer.name] = technique
            zone.keep(answer, technique)
            self.progress.found += 1
        else:
            zone.counts["nxdomain" if answer.status == DnsStatus.NXDOMAIN else "nodata"] += 1

    def _ask_name_servers(self, zones: list[_Zone]) -> None:
        owners: dict[str, int] = {}
        for number, zone in self._numbers(zones):
            for host in zone.hosts:
                owners.setdefault(host, number)
        for _, answer in self._ask((number, host, "A") for host, number in owners.items()):
            self.host_answers[answer.name] = answer
        for zone in zones:
            for host in zone.hosts:
                zone.keep(self.host_answers[host], Technique.LISTED)

    def _transfer(self, zones: list[_Zone]) -> None:
        pool = self.engine.pool()
        jobs = {pool.submit(self._transfer_one, zone): zone for zone in zones}
        for job in as_completed(jobs):
            zone, outcome = jobs[job], job.result()
            zone.transfer = outcome.status
            zone.counts["queries"] += 1
            if outcome.status == "OK":
                zone.transferred = outcome.names
                zone.wild_in_transfer = outcome.wildcard
            self._report()

    def _transfer_one(self, zone: _Zone) -> Transfer:
        outcome = Transfer("SKIPPED")
        for server in self._transfer_servers(zone):
            outcome = transfer_zone(zone.domain, server, self.engine.random_id())
            if outcome.status == "OK":
                break
        return outcome

    def _transfer_servers(self, zone: _Zone) -> list[Server]:
        """Named servers on this machine hold the zones themselves; resolvers elsewhere do not.

        With named loopback servers nothing that was found is contacted unless allowed by name,
        because an emulated world's servers have the addresses of real ones.
        """
        addresses = [
            a for host in zone.hosts for a in self.host_answers[host].addresses if ":" not in a
        ]
        if self.engine.is_local:
            named = [self.engine.servers[0]]
            port = named[0].port
            allowed = [a for a in addresses if self._allowed_by_name(a)]
            return named + [Server(a, port) for a in dict.fromkeys(allowed)][:_TRANSFER_SERVERS]
        networks = self.config.allowed_networks
        good = [a for a in dict.fromkeys(addresses) if may_query_found(a, networks)]
        return [Server(a) for a in good[:_TRANSFER_SERVERS]]

    def _allowed_by_name(self, address: str) -> bool:
        parsed = ipaddress.ip_address(address)
        return any(parsed in n for n in self.config.allowed_networks if n.version == 4)

    def _probe(self, levels: list[tuple[_Zone, str]]) -> None:
        """Ask random names below each (zone, level)."""
        numbers = {id(z): i for i, z in self._numbers(z for z, _ in levels)}
        owner: dict[str, str] = {}
        asked: list[tuple[int, str, str]] = []
        for zone, level in levels:
            zone.wildcards.setdefault(level, Wildcard())
            for name in wildcards.random_names(level):
                owner[name] = level
                asked.append((numbers[id(zone)], name, "A"))
        for zone, answer in self._ask(asked):
            zone.wildcards[owner[answer.name]].learn(answer)

    def _ask_words(self, zones: list[_Zone]) -> None:
        numbered = self._numbers(zones)
        asked = (
            (number, f"{word}.{zone.domain}", "A")
            for word in self.config.wordlist
            for number, zone in numbered
            if len(word) + len(zone.domain) < 253
        )
        for zone, answer in self._ask(asked):
            if answer.answers and any(True for _ in zone.wildcards):
                zone.candidates.append((answer, Technique.WORDLIST))
            else:
                self._judge(zone, answer, Technique.WORDLIST)

    def _filter(self, zones: list[_Zone]) -> None:
        """Drop candidates that a wildcard explains; ask more random names where that is unsure."""
        deeper = {
            (id(z), level): (z, level)
            for z in zones
            for answer, _ in z.candidates
            if (level := answer.name.partition(".")[2]) != z.domain
        }
        rotating = [
            (z, z.domain)
            for z in zones
            if z.wildcards[z.domain].rotates
            or any(z.wildcards[z.domain].overlaps(a) for a, _ in z.candidates)
        ]
        self._probe([*deeper.values(), *rotating])
        for zone in zones:
            for answer, _ in zone.candidates:
                # A first pass only lets rotating wildcards show their whole pool.
                any(w.explains(answer) for w in zone.levels(answer.name))
            for answer, technique in zone.candidates:
                if any(w.explains(answer) for w in zone.levels(answer.name)):
                    zone.counts["asked"] += 1
                    zone.counts["wildcard"] += 1
                else:
                    self._judge(zone, answer, technique)
            zone.candidates.clear()

    def _ask_transferred(self, zones: list[_Zone]) -> None:
        columns = [
            [(number, name, "A") for name in zone.transferred if name != zone.domain]
            for number, zone in self._numbers(zones)
        ]
        asked = (item for row in zip_longest(*columns) for item in row if item)
        for zone, answer in self._ask(asked):
            self._judge(zone, answer, Technique.AXFR)

    def _ask_ipv6(self, zones: list[_Zone]) -> None:
        asked = [
            (number, name, "AAAA") for number, zone in self._numbers(zones) for name in zone.found
        ]
        for zone, answer in self._ask(asked):
            if answer.status not in (DnsStatus.NODATA, DnsStatus.NXDOMAIN):
                zone.keep(answer, zone.found[answer.name])
