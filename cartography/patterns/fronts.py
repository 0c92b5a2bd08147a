"""Labels of one name: answers and placed addresses in, a ``Front`` per label and instance out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from cartography.patterns.rules import Rule, load_rules, network_key
from cartography.patterns.suffixes import SuffixIndex
from core.records import Answer, Front, Placement
from core.statuses import AddressKind

_IN_CLOUD = (AddressKind.CLOUD, AddressKind.CDN)


class Alias(NamedTuple):
    """A CNAME's target, and which record of which answer it is."""

    target: str
    record: int
    type: str

    def __str__(self) -> str:
        return f"CNAME {self.target} (record {self.record} of the {self.type} answer)"


@dataclass(slots=True)
class Hit:
    """What one rule found: aliases, placed addresses, and addresses by themselves."""

    aliases: list[Alias] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)


class Matcher:
    """Rules arranged by what they look at, so that a name meets only those that may match."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self.number = {rule.id: n for n, rule in enumerate(rules)}
        self.suffixes = SuffixIndex(self._values("cname_suffix"))
        self.texts = list(self._values("cname_contains"))
        self.networks: dict[str, list[int]] = {}
        for value, n in self._values("network"):
            self.networks.setdefault(network_key(value), []).append(n)
        self.services: dict[tuple[str, str], list[int]] = {}
        for value, n in self._values("service"):
            self.services.setdefault((self.rules[n].provider, value), []).append(n)
        self.direct = self._by_provider("direct")
        self.address = self._by_provider("address")

    def _values(self, match: str) -> Iterator[tuple[str, int]]:
        rules = ((n, rule) for n, rule in enumerate(self.rules) if rule.match == match)
        return ((value, n) for n, rule in rules for value in rule.values)

    def _by_provider(self, match: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for n, rule in enumerate(self.rules):
            if rule.match == match:
                found.setdefault(rule.provider, []).append(n)
        return found

    def match_name(self, name: str) -> tuple[int, ...]:
        """Rules with the suffix or text of a CNAME's target."""
        found = self.suffixes.match(name)
        for text, n in self.texts:
            if text in name and n not in found:
                found += (n,)
        return found

    def is_listed(self, address: str) -> bool:
        """Whether a rule publishes the address."""
        networks = self.networks
        return address in networks or address[: address.rfind(".") + 1] in networks

    def match_address(self, address: str) -> list[int]:
        """Rules that publish the address, or the IPv4 /24 around it."""
        around = address[: address.rfind(".") + 1]
        return [*self.networks.get(address, ()), *self.networks.get(around, ())]


@lru_cache(maxsize=1)
def own_matcher() -> Matcher:
    """The product's own rules, arranged."""
    return Matcher(load_rules())


def aliases_of(answers: Iterable[Answer]) -> list[Alias]:
    """Targets of all CNAMEs, each once, in order."""
    return _ends_of(answers)[0]


def _ends_of(answers: Iterable[Answer]) -> tuple[list[Alias], list[str]]:
    """Aliases and addresses, each once, in order."""
    aliases: dict[str, Alias] = {}
    addresses: dict[str, None] = {}
    for answer in answers:
        for n, record in enumerate(answer.answers, start=1):
            kind = record.type
            if kind == "CNAME":
                target = record.data.lower().rstrip(".")
                if target not in aliases:
                    aliases[target] = Alias(target, n, answer.type)
            elif kind in ("A", "AAAA"):
                addresses[record.data] = None
    return list(aliases.values()), list(addresses)


def label_fronts(
    answers: Sequence[Answer], placements: Mapping[str, Placement]
) -> tuple[Front, ...]:
    """Labels of one name from all its answers; one ``Front`` per label and instance."""
    aliases, addresses = _ends_of(answers)
    matcher = own_matcher()
    placed = [place for a in addresses if (place := placements.get(a)) and place.kind in _IN_CLOUD]
    # Most names of the Internet lie outside the clouds, and end here.
    if not placed and not aliases and not any(map(matcher.is_listed, addresses)):
        return ()
    hits = find_hits(matcher, aliases, addresses, placed)
    fronts: list[Front] = []
    for n in sorted(hits):
        if _holds(matcher, n, hits):
            fronts += _fronts(answers[0].name, matcher.rules[n], hits[n])
    return tuple(fronts)


def find_hits(
    matcher: Matcher,
    aliases: Sequence[Alias],
    addresses: Sequence[str],
    placed: Sequence[Placement],
) -> dict[int, Hit]:
    """What each rule finds by itself, whatever it needs besides."""
    hits = _alias_hits(matcher, aliases, placed)
    for place in placed:
        for n in _by_place(matcher, place, not aliases):
            if _is_own(matcher.rules[n], place):
                hits.setdefault(n, Hit()).placements.append(place)
    for address in filter(matcher.is_listed, addresses):
        for n in matcher.match_address(address):
            hits.setdefault(n, Hit()).addresses.append(address)
    return hits


def _alias_hits(
    matcher: Matcher, aliases: Sequence[Alias], placed: Sequence[Placement]
) -> dict[int, Hit]:
    """Rules of CNAMEs, those that need an address of their provider only with one."""
    hits: dict[int, Hit] = {}
    for alias in aliases:
        for n in matcher.match_name(alias.target):
            hits.setdefault(n, Hit()).aliases.append(alias)
    for n, hit in hits.items():
        hit.placements = [p for p in placed if _is_own(matcher.rules[n], p)]
    return {n: hit for n, hit in hits.items() if hit.placements or matcher.rules[n].by_name}


def _by_place(matcher: Matcher, place: Placement, direct: bool) -> Iterator[int]:
    """Rules that an address by itself may meet."""
    provider = place.provider or ""
    yield from matcher.address.get(provider, ())
    yield from matcher.services.get((provider, place.service or ""), ())
    if direct:
        yield from matcher.direct.get(provider, ())


def _is_own(rule: Rule, place: Placement) -> bool:
    """Whether an address counts for a rule: its provider, kind and scope."""
    if place.provider != rule.provider or (rule.kind and rule.kind != str(place.kind)):
        return False
    return not rule.scope or (rule.scope == "global") == (place.region is None)


def _holds(matcher: Matcher, n: int, hits: Mapping[int, Hit]) -> bool:
    rule, number = matcher.rules[n], matcher.number
    needed = all(number[other] in hits for other in rule.needs)
    return needed and not any(number[other] in hits for other in rule.unless)


def _fronts(name: str, rule: Rule, hit: Hit) -> Iterator[Front]:
    start = (name, rule.provider, rule.label, rule.id)
    if rule.instance == "cname":
        for alias in hit.aliases:
            yield Front(*start, str(alias), alias.target)
        return
    reason = str(hit.aliases[0]) if hit.aliases else ""
    for place in hit.placements:
        yield Front(*start, reason or _evidence(place), place.address)
    for address in hit.addresses:
        yield Front(*start, f"{address} is published for {rule.label}", address)


def _evidence(placement: Placement) -> str:
    return (
        f"{placement.address} in prefix {placement.prefix} "
        f"({placement.service}, table as of {placement.as_of})"
    )
