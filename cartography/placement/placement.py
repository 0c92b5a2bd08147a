"""Place lookups: map addresses, front-end labels and name servers to providers and regions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cartography.patterns import find_dangling, label_fronts
from cartography.placement.cloud_table import PrefixTable
from core.records import Answer, Front, Lookup, NameServerPlace, Placement
from core.statuses import DnsStatus, Technique

_ADDRESS_TYPES = ("A", "AAAA")


@dataclass(frozen=True, slots=True)
class Placed:
    """Derived facts of a batch: (domain, name, placement), (domain, front), server places."""

    placements: list[tuple[str, str, Placement]]
    fronts: list[tuple[str, Front]]
    servers: list[NameServerPlace]


def is_name(lookup: Lookup) -> bool:
    """Whether a lookup is about a name of the domain, not about one of its name servers."""
    own = lookup.technique != Technique.LISTED or lookup.answer.name == lookup.domain
    return own and lookup.answer.type in _ADDRESS_TYPES


def place_lookups(lookups: Sequence[Lookup], table: PrefixTable) -> Placed:
    """Place every address of ``lookups``; label every name, and aliases that lead nowhere.

    A failed lookup has neither, but a name server that did not resolve has its row: with an
    empty address and the status of the question, ``SKIPPED`` when it was never asked.
    """
    addresses = list(dict.fromkeys(a for lookup in lookups for a in lookup.answer.addresses))
    places = dict(zip(addresses, table.place_many(addresses), strict=True))
    placements, fronts = [], []
    for (domain, name), answers in _group_names(lookups).items():
        own = dict.fromkeys(a for answer in answers for a in answer.addresses)
        placements += [(domain, name, places[a]) for a in own]
        fronts += [(domain, front) for front in label_fronts(answers, places)]
    for (domain, _), answers in _group_names(lookups, DnsStatus.NXDOMAIN).items():
        fronts += [(domain, front) for front in find_dangling(answers)]
    return Placed(placements, fronts, list(_place_servers(lookups, places)))


def _group_names(
    lookups: Sequence[Lookup], status: DnsStatus = DnsStatus.NOERROR
) -> dict[tuple[str, str], list[Answer]]:
    """Answers of one status by domain and name."""
    names: dict[tuple[str, str], list[Answer]] = {}
    for lookup in lookups:
        if is_name(lookup) and lookup.answer.status == status:
            names.setdefault((lookup.domain, lookup.answer.name), []).append(lookup.answer)
    return names


def _place_servers(
    lookups: Sequence[Lookup], places: Mapping[str, Placement]
) -> Iterator[NameServerPlace]:
    hosts = _host_answers(lookups)
    for domain, servers in _name_servers(lookups).items():
        for server in sorted(servers):
            answer = hosts.get(server)
            status = answer.status if answer else DnsStatus.SKIPPED
            found = [places[a] for a in dict.fromkeys(answer.addresses)] if answer else []
            for place in found or [Placement("")]:
                yield NameServerPlace(domain, server, status, place)


def _host_answers(lookups: Sequence[Lookup]) -> dict[str, Answer]:
    """The A answer of every name, a good one where there are several."""
    hosts: dict[str, Answer] = {}
    for lookup in lookups:
        answer = lookup.answer
        if answer.type != "A":
            continue
        if answer.status == DnsStatus.NOERROR or answer.name not in hosts:
            hosts[answer.name] = answer
    return hosts


def _name_servers(lookups: Sequence[Lookup]) -> dict[str, set[str]]:
    """Host names of each domain's own name servers."""
    servers: dict[str, set[str]] = {}
    for lookup in lookups:
        if lookup.answer.type == "NS" and lookup.answer.name == lookup.domain:
            hosts = {r.data.lower().rstrip(".") for r in lookup.answer.answers if r.type == "NS"}
            servers.setdefault(lookup.domain, set()).update(hosts)
    return servers
