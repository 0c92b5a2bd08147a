"""From what was looked up to where it stands: addresses, front-end labels, name servers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cartography.patterns import label_fronts
from cartography.prefixes import PrefixTable
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
    """Place every address of ``lookups`` and label every name; failed lookups have neither."""
    addresses = dict.fromkeys(a for lookup in lookups for a in lookup.answer.addresses)
    places = dict(zip(addresses, table.place_many(list(addresses)), strict=True))
    names: dict[tuple[str, str], list[Answer]] = {}
    for lookup in lookups:
        if is_name(lookup) and lookup.answer.answers:
            names.setdefault((lookup.domain, lookup.answer.name), []).append(lookup.answer)
    placements, fronts = [], []
    for (domain, name), answers in names.items():
        own = dict.fromkeys(a for answer in answers for a in answer.addresses)
        placements += [(domain, name, places[a]) for a in own]
        fronts += [(domain, front) for front in label_fronts(answers, places)]
    return Placed(placements, fronts, list(_place_servers(lookups, places)))


def _place_servers(
    lookups: Sequence[Lookup], places: dict[str, Placement]
) -> Iterator[NameServerPlace]:
    hosts = {
        (lookup.domain, lookup.answer.name): lookup.answer
        for lookup in lookups
        if lookup.technique == Technique.LISTED
        and lookup.answer.type == "A"
        and lookup.answer.name != lookup.domain
    }
    for lookup in lookups:
        if lookup.answer.type != "NS":
            continue
        for server in sorted({r.data for r in lookup.answer.answers if r.type == "NS"}):
            answer = hosts.get((lookup.domain, server))
            status = answer.status if answer else DnsStatus.SKIPPED
            found = [places[a] for a in answer.addresses] if answer else []
            for place in found or [Placement("")]:
                yield NameServerPlace(lookup.domain, server, status, place)
