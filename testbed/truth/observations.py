"""Simulated observations of a crawl, derived from a world's truth.

Gives, per zone, the lookups and the outcome that a crawl without a lost packet would have
recorded. No query is sent, so a world at full scale takes seconds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from core.records import Answer, DomainOutcome, Lookup, Record
from core.statuses import DnsStatus, Technique
from testbed.server.answers import TTL_S
from testbed.truth.counting import hidden_reason
from testbed.world.model import ALLOW, MISSING, SERVFAIL, Name, World, Zone

# Resolver and round trip of all answers, since no query is sent.
RESOLVER = "127.0.0.1:53"
RTT_MS = 1.0


@dataclass(frozen=True, slots=True)
class Observed:
    """One domain as a crawl would record it."""

    lookups: tuple[Lookup, ...]
    outcome: DomainOutcome


class Observer:
    """Observes the zones of one world at time ``at`` (seconds since the epoch)."""

    def __init__(self, world: World, words: Iterable[str], at: float) -> None:
        self._world = world
        self._words = frozenset(words)
        self._at = at

    def observe(self, zone: Zone) -> Observed:
        """The lookups and the outcome of one zone."""
        if zone.fault:
            return self._faulty(zone)
        found = [n for n in zone.names if not hidden_reason(zone, n, self._words, axfr=True)]
        lookups = [k for name in found for k in self._of_name(zone, name)]
        lookups += self._of_servers(zone)
        return Observed(tuple(lookups), self._outcome(zone, sum(map(_exists, found))))

    def _of_name(self, zone: Zone, name: Name) -> Iterator[Lookup]:
        technique = _technique(zone, name)
        hops = (name.fqdn, *name.cnames)
        chain = [Record(a, "CNAME", TTL_S, b) for a, b in zip(hops, hops[1:], strict=False)]
        for kind, addresses in (("A", name.addresses), ("AAAA", name.addresses6)):
            records = tuple(chain + [Record(hops[-1], kind, TTL_S, a) for a in addresses])
            if addresses or (chain and kind == "A"):
                status = DnsStatus.NXDOMAIN if name.is_dangling else DnsStatus.NODATA
                status = DnsStatus.NOERROR if addresses else status
                yield Lookup(zone.domain, technique, self._answer(name.fqdn, kind, status, records))

    def _of_servers(self, zone: Zone) -> Iterator[Lookup]:
        records = tuple(Record(zone.domain, "NS", TTL_S, host) for host in zone.servers)
        status = DnsStatus.NOERROR if records else DnsStatus.NODATA
        yield Lookup(
            zone.domain, Technique.LISTED, self._answer(zone.domain, "NS", status, records)
        )
        for host in zone.servers:
            own = self._world.hosts.get(host, ())
            records = tuple(Record(host, "A", TTL_S, address) for address in own)
            status = DnsStatus.NOERROR if own else DnsStatus.NXDOMAIN
            yield Lookup(zone.domain, Technique.LISTED, self._answer(host, "A", status, records))

    def _answer(
        self, name: str, kind: str, status: DnsStatus, records: tuple[Record, ...] = ()
    ) -> Answer:
        return Answer(name, kind, status, records, (), RESOLVER, "udp", 1, RTT_MS, self._at)

    def _outcome(self, zone: Zone, n_found: int) -> DomainOutcome:
        opened = zone.transfer == ALLOW
        asked = max(n_found, len(self._words) + 1)
        missed = asked - n_found
        filtered = missed if zone.wildcard and zone.wildcard.at == zone.domain else 0
        return DomainOutcome(
            zone.domain,
            zone.rank,
            "OK" if opened else str(DnsStatus.REFUSED),
            zone.wildcard is not None,
            asked,
            n_found,
            missed - filtered,
            0,
            filtered,
            (),
            asked,
            zone.servers,
        )

    def _faulty(self, zone: Zone) -> Observed:
        if zone.fault == MISSING:
            return Observed((), _empty(zone, 1, str(DnsStatus.SKIPPED)))
        status = DnsStatus.SERVFAIL if zone.fault == SERVFAIL else DnsStatus.TIMEOUT
        lookup = Lookup(zone.domain, Technique.LISTED, self._answer(zone.domain, "A", status))
        unasked = (str(DnsStatus.SKIPPED), len(self._words))
        outcome = _empty(zone, 0, str(status), (str(status), 1), unasked)
        return Observed((lookup,), outcome)


def _empty(zone: Zone, nxdomain: int, transfer: str, *failed: tuple[str, int]) -> DomainOutcome:
    asked = nxdomain + sum(n for _, n in failed)
    return DomainOutcome(
        zone.domain, zone.rank, transfer, False, asked, 0, nxdomain, 0, 0, failed, asked
    )


def _exists(name: Name) -> bool:
    return bool(name.cnames or name.addresses or name.addresses6)


def _technique(zone: Zone, name: Name) -> Technique:
    if name.fqdn == zone.domain:
        return Technique.LISTED
    return Technique.AXFR if zone.transfer == ALLOW else Technique.WORDLIST


def zone_rows(world: World) -> list[dict[str, Any]]:
    """Return rows of the lake's ``zones``: the cloud addresses with an identified zone."""
    return [
        {
            "address": address,
            "region": place.region,
            "zone": place.zone,
            "method": "truth",
            "confidence": 1.0,
            "reason": "",
        }
        for address, place in world.places.items()
        if place.zone is not None
    ]
