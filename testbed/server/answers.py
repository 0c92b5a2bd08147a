"""DNS answers of the emulated Internet, without the wire format.

Replies hold a status and records, with whole CNAME chains as a recursive resolver returns
them, wildcards by the closest encloser, and the injected faults of the world.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from testbed.world.model import (
    ALLOW,
    CUT,
    DROP_FIRST,
    MISSING,
    Name,
    Wildcard,
    World,
    Zone,
    scale_text,
)
from testbed.world.model import SERVFAIL as FAILING

# One record: owner, type, data. TTLs are the same for all, in seconds.
Row = tuple[str, str, str]
TTL_S = 300
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
WORLD_NAME = "world.testbed.invalid"
_ADDRESS_TYPES = ("A", "AAAA")


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send: response code, answer and authority rows; ``steady`` may be cached."""

    code: int
    answers: tuple[Row, ...] = ()
    authorities: tuple[Row, ...] = ()
    cacheable: bool = True


class Authority:
    """Answers questions about one world; its only state are the faults that have occurred."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.zones = {zone.domain: zone for zone in world.zones}
        self._empty: set[str] = set()
        self._targets: dict[str, str] = {}
        self._wildcards: dict[str, Wildcard] = {}
        self._fired_faults: set[str] = set()
        self._turns: dict[str, int] = {}
        self._names = {name.fqdn: name for _, name in world.names()}
        self._index_inner_names()

    def _index_inner_names(self) -> None:
        for zone, name in self.world.names():
            inner = name.fqdn.partition(".")[2]
            while len(inner) > len(zone.domain):
                self._empty.add(inner)
                inner = inner.partition(".")[2]
            for target in name.cnames:
                self._targets.setdefault(target, name.fqdn)
        for zone in self.world.zones:
            for wildcard in zone.wildcards:
                self._wildcards[wildcard.at] = wildcard
                for target in wildcard.cnames:
                    self._targets.setdefault(target, f"*.{wildcard.at}")
                # A wildcard is a name too, so it does not match below itself.
                self._empty.add(f"*.{wildcard.at}")
                self._add_parents(f"*.{wildcard.at}")
        for known in (*self.zones, *self.world.hosts, *self._targets):
            self._add_parents(known)

    def _add_parents(self, name: str) -> None:
        parent = name.partition(".")[2]
        while parent and parent not in self._empty:
            self._empty.add(parent)
            parent = parent.partition(".")[2]

    def zone_of(self, name: str) -> Zone | None:
        """The listed zone that holds ``name``, if any."""
        while name:
            zone = self.zones.get(name)
            if zone is not None:
                return zone
            name = name.partition(".")[2]
        return None

    def answer(self, name: str, rtype: str) -> Reply | None:
        """The reply to one question; ``None`` when nothing must be sent.

        ``name`` is in lower case without the final dot.
        """
        zone = self.zone_of(name)
        if zone is not None and zone.fault:
            return self._faulty(zone)
        fault = self.world.injected_faults.get(name)
        if fault is not None and name not in self._fired_faults:
            self._fired_faults.add(name)
            return None if fault == DROP_FIRST else Reply(SERVFAIL, cacheable=False)
        if zone is not None:
            return self._in_zone(zone, name, rtype)
        return self._outside(name, rtype)

    def _faulty(self, zone: Zone) -> Reply | None:
        if zone.fault == MISSING:
            return Reply(NXDOMAIN, (), (soa_of(""),))
        return Reply(SERVFAIL) if zone.fault == FAILING else None

    def _in_zone(self, zone: Zone, name: str, rtype: str) -> Reply:
        if name == zone.domain and rtype == "NS":
            return Reply(NOERROR, tuple((name, "NS", host) for host in zone.servers))
        if name == zone.domain and rtype == "SOA":
            return Reply(NOERROR, (soa_of(name),))
        if name == zone.domain and rtype in zone.records:
            return Reply(NOERROR, tuple((name, rtype, text) for text in zone.records[rtype]))
        held = self._names.get(name)
        if held is not None:
            reply = _reply_of(
                zone.domain, name, held.cnames, _addresses_of_type(held, rtype), rtype
            )
            return _denied(reply) if held.is_dangling and rtype != "CNAME" else reply
        if name in self._targets and not name.startswith("*."):
            return self._of_target(name, rtype)  # a hosting company that is itself on the list
        if name in self._empty or name == zone.domain:
            return Reply(NOERROR, (), (soa_of(zone.domain),))
        return self._by_wildcard(zone, name, rtype)

    def _by_wildcard(self, zone: Zone, name: str, rtype: str) -> Reply:
        wildcard = self._wildcards.get(self._closest_encloser(zone, name))
        if wildcard is None:
            return Reply(NXDOMAIN, (), (soa_of(zone.domain),))
        if wildcard.per_name:
            target = f"h{zlib.crc32(name.encode()):08x}.{wildcard.cnames[0]}"
            addresses = wildcard.pool if rtype == "A" else ()
            return _reply_of(zone.domain, name, (target,), addresses, rtype)
        if wildcard.kind != "rotating":
            addresses = wildcard.pool if rtype == "A" else ()
            return _reply_of(zone.domain, name, wildcard.cnames, addresses, rtype)
        turn = self._turns[wildcard.at] = self._turns.get(wildcard.at, -1) + 1
        shown = [wildcard.pool[(turn + i) % len(wildcard.pool)] for i in range(wildcard.width)]
        addresses = tuple(shown) if rtype == "A" else ()
        reply = _reply_of(zone.domain, name, (), addresses, rtype)
        return Reply(reply.code, reply.answers, reply.authorities, cacheable=False)

    def _closest_encloser(self, zone: Zone, name: str) -> str:
        parent = name.partition(".")[2]
        while parent != zone.domain and parent not in self._empty and parent not in self._names:
            parent = parent.partition(".")[2]
        return parent

    def _outside(self, name: str, rtype: str) -> Reply:
        if name == WORLD_NAME:
            return self._describe_world(rtype)
        if name in self.world.hosts:
            addresses = self.world.hosts[name] if rtype == "A" else ()
            if not self.world.hosts[name]:
                return Reply(NXDOMAIN, (), (soa_of(""),))
            return _reply_of("", name, (), addresses, rtype)
        if name in self._targets:
            return self._of_target(name, rtype)
        code = NOERROR if name in self._empty or not name else NXDOMAIN
        return Reply(code, (), (soa_of(""),))

    def _describe_world(self, rtype: str) -> Reply:
        world = self.world
        text = f"nephoscope-testbed world={world.spec} scale={scale_text(world.scale)}"
        rows = ((WORLD_NAME, "TXT", f"{text} seed={world.seed}"),) if rtype == "TXT" else ()
        return Reply(NOERROR, rows, () if rows else (soa_of(""),))

    def _of_target(self, name: str, rtype: str) -> Reply:
        owner = self._targets[name]
        if owner.startswith("*."):
            wildcard = self._wildcards[owner[2:]]
            cnames, v4 = wildcard.cnames, wildcard.pool
            v6: tuple[str, ...] = ()
        else:
            held = self._names[owner]
            cnames, v4, v6 = held.cnames, held.addresses, held.addresses6
        rest = cnames[cnames.index(name) + 1 :]
        addresses = v4 if rtype == "A" else v6 if rtype == "AAAA" else ()
        reply = _reply_of("", name, rest, addresses, rtype)
        is_gone = not v4 and not v6 and (not rest or rtype != "CNAME")
        return _denied(reply) if is_gone else reply


def _denied(reply: Reply) -> Reply:
    """Return the same chain with NXDOMAIN for its last target."""
    return Reply(NXDOMAIN, reply.answers, reply.authorities)


def _addresses_of_type(name: Name, rtype: str) -> tuple[str, ...]:
    return name.addresses if rtype == "A" else name.addresses6 if rtype == "AAAA" else ()


def _reply_of(
    zone: str, name: str, cnames: tuple[str, ...], addresses: tuple[str, ...], rtype: str
) -> Reply:
    """Build a chain from ``name`` through ``cnames`` to ``addresses``; NODATA without these."""
    rows: list[Row] = []
    owner = name
    for target in cnames if rtype != "CNAME" else cnames[:1]:
        rows.append((owner, "CNAME", target))
        owner = target
    if rtype in _ADDRESS_TYPES:
        rows += [(owner, rtype, address) for address in addresses]
    complete = bool(addresses) or (rtype == "CNAME" and bool(cnames))
    return Reply(NOERROR, tuple(rows), () if complete else (soa_of(zone),))


def soa_of(zone: str) -> Row:
    """Return the start-of-authority row of a zone, or the root's for unlisted zones."""
    host = f"ns.{zone}" if zone else "a.root.invalid"
    return (zone, "SOA", f"{host} hostmaster.testbed.invalid 1 7200 900 1209600 60")


def transfer_rows(zone: Zone) -> Iterator[Row] | None:
    """Return all rows of a zone transfer, SOA first and last; ``None`` if refused.

    A zone that cuts its transfers stops half way, without the closing start of authority.
    """
    if zone.fault or zone.transfer not in (ALLOW, CUT):
        return None
    return _whole_zone(zone) if zone.transfer == ALLOW else _half_zone(zone)


def _whole_zone(zone: Zone) -> Iterator[Row]:
    yield soa_of(zone.domain)
    for host in zone.servers:
        yield (zone.domain, "NS", host)
    for rtype, texts in zone.records.items():
        # DS records belong to the parent zone (RFC 4035 section 2.4).
        yield from ((zone.domain, rtype, text) for text in texts if rtype != "DS")
    yield from _rows_of_names(zone)
    for wildcard in zone.wildcards:
        owner = f"*.{wildcard.at}"
        for target in wildcard.cnames[:1]:
            yield (owner, "CNAME", target)
        if not wildcard.cnames:
            for address in wildcard.pool:
                yield (owner, "A", address)
    yield soa_of(zone.domain)


def _half_zone(zone: Zone) -> Iterator[Row]:
    rows = list(_whole_zone(zone))
    yield from rows[: max(1, len(rows) // 2)]


def _rows_of_names(zone: Zone) -> Iterator[Row]:
    for name in zone.names:
        if name.cnames:
            yield (name.fqdn, "CNAME", name.cnames[0])
            continue
        for address in name.addresses:
            yield (name.fqdn, "A", address)
        for address in name.addresses6:
            yield (name.fqdn, "AAAA", address)
