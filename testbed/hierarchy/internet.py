"""A DNS hierarchy with a root: zones, delegations, servers, and the true answers.

Gives the reply of each server address, and the answer of a correct resolver. Wire format and
sockets are in ``testbed.hierarchy.server``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from testbed.server.answers import NOERROR, NXDOMAIN, REFUSED, SERVFAIL, Row

# Longer chains than any real one; loops end here.
_MAX_CHAIN = 16
# Returned by a poisoned resolver: no true answer holds an address of this network.
FORGED_ADDRESS = "203.0.113.66"


class ServerBehaviour(StrEnum):
    """How a server address behaves."""

    PLAIN = "plain"
    CLOSED = "closed"  # nothing listens there
    SILENT = "silent"  # receives queries and never replies
    REFUSING = "refusing"
    FAILING = "failing"
    UPWARD = "upward"  # refers everything to the root
    STALE = "stale"  # old answers without the authoritative bit
    TRUNCATING = "truncating"  # truncates every UDP reply
    FORGING = "forging"  # correct for its zones, with forged records of others added


class Status(StrEnum):
    """Outcome of a correct resolver."""

    NOERROR = "NOERROR"
    NODATA = "NODATA"
    NXDOMAIN = "NXDOMAIN"
    SERVFAIL = "SERVFAIL"
    CNAME_LOOP = "CNAME_LOOP"


class Expected(NamedTuple):
    """The truth about one question: status, alias targets in order, data at the end."""

    status: Status
    chain: tuple[str, ...] = ()
    data: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerReply:
    """One reply of one server."""

    code: int = NOERROR
    authoritative: bool = True
    answers: tuple[Row, ...] = ()
    authorities: tuple[Row, ...] = ()
    additionals: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """A zone cut as the parent shows it: host names, and glue that may be wrong."""

    hosts: tuple[str, ...]
    glue: tuple[Row, ...] = ()


@dataclass(slots=True)
class Zone:
    """One zone: rows by (owner, type), and the cuts below it."""

    apex: str
    hosts: tuple[str, ...]
    rows: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    owners: set[str] = field(default_factory=set)
    # Whether some subtree is redirected (DNAME).
    has_dname: bool = False
    unresolvable: bool = False

    def add(self, owner: str, rtype: str, *data: str) -> None:
        """Add rows, and the empty non-terminals between owner and apex."""
        self.rows[owner, rtype] = self.rows.get((owner, rtype), ()) + data
        self.has_dname |= rtype == "DNAME"
        self._add_owners(owner)

    def delegate(self, child: str, cut: Cut) -> None:
        """Add a zone cut."""
        self.cuts[child] = cut
        self._add_owners(parent_of(child))

    def _add_owners(self, name: str) -> None:
        while name != self.apex and name not in self.owners:
            self.owners.add(name)
            name = parent_of(name)

    @property
    def soa(self) -> Row:
        """The start-of-authority row."""
        return (self.apex, "SOA", f"{self.hosts[0]} hostmaster.{self.apex or 'root'} 1 2 3 4 60")

    def find(self, name: str, rtype: str) -> tuple[str, tuple[str, ...]] | None:
        """(type, data) at a name, an alias or a wildcard included; ``None``: no such name."""
        if self.has_dname and (row := self.dname_above(name)) is not None:
            return "CNAME", (name.removesuffix(row[0]) + row[2],)
        owner = name
        if name != self.apex and name not in self.owners:
            owner = f"*.{self._closest_encloser(name)}"
            if owner not in self.owners:
                return None
        if rtype != "CNAME" and (alias := self.rows.get((owner, "CNAME"))):
            return "CNAME", alias
        return rtype, self.rows.get((owner, rtype), ())

    def dname_above(self, name: str) -> Row | None:
        """The DNAME row above a name, if any."""
        owner = name
        while owner != self.apex:
            owner = parent_of(owner)
            if found := self.rows.get((owner, "DNAME")):
                return owner, "DNAME", found[0]
        return None

    def _closest_encloser(self, name: str) -> str:
        name = parent_of(name)
        while name != self.apex and name not in self.owners:
            name = parent_of(name)
        return name

    def cut_above(self, name: str) -> str | None:
        """The topmost cut at or above ``name``, if any."""
        found = None
        if self.cuts:
            while name != self.apex:
                found = name if name in self.cuts else found
                name = parent_of(name)
        return found


@dataclass(slots=True)
class Hierarchy:
    """The whole Internet: zones by apex, what each address holds and how it behaves."""

    roots: tuple[str, ...]
    zones: dict[str, Zone] = field(default_factory=dict)
    held: dict[str, list[str]] = field(default_factory=dict)
    behaviours: dict[str, ServerBehaviour] = field(default_factory=dict)
    # Records that forging servers add to the two last sections.
    forged_authorities: tuple[Row, ...] = ()
    forged_additionals: tuple[Row, ...] = ()
    questions: list[tuple[str, str]] = field(default_factory=list)

    def behaviour(self, address: str) -> ServerBehaviour:
        """How an address behaves."""
        return self.behaviours.get(address, ServerBehaviour.PLAIN)

    def addresses(self) -> Iterator[str]:
        """Every address where something listens."""
        for address in self.held:
            if self.behaviour(address) is not ServerBehaviour.CLOSED:
                yield address

    def zone_of(self, name: str) -> Zone:
        """The zone that holds a name."""
        while name not in self.zones:
            name = parent_of(name)
        return self.zones[name]

    def truth(self, name: str, rtype: str) -> Expected:
        """Return what a correct resolver finds."""
        chain: list[str] = []
        while len(chain) <= _MAX_CHAIN:
            zone = self.zone_of(name)
            if self._is_unresolvable(zone.apex):
                return Expected(Status.SERVFAIL, tuple(chain))
            found = zone.find(name, rtype)
            if found is None:
                return Expected(Status.NXDOMAIN, tuple(chain))
            if found[0] == rtype:
                status = Status.NOERROR if found[1] else Status.NODATA
                return Expected(status, tuple(chain), found[1])
            name = found[1][0]
            if name in chain:
                break
            chain.append(name)
        return Expected(Status.CNAME_LOOP, tuple(chain))

    def _is_unresolvable(self, apex: str) -> bool:
        while apex:
            zone = self.zones.get(apex)
            if zone is not None and zone.unresolvable:
                return True
            apex = parent_of(apex)
        return False


def parent_of(name: str) -> str:
    """The name without its first label."""
    return name.partition(".")[2]


def is_within(name: str, apex: str) -> bool:
    """Return whether a name is the apex or below it."""
    return not apex or name == apex or name.endswith(f".{apex}")


class Nameservers:
    """All servers of a hierarchy and their replies."""

    def __init__(self, world: Hierarchy) -> None:
        self.world = world
        self._held = {a: frozenset(apexes) for a, apexes in world.held.items()}

    def ask(self, address: str, name: str, rtype: str) -> ServerReply | None:
        """Return the reply of one address; ``None`` for no reply."""
        behaviour = self.world.behaviour(address)
        if behaviour in (ServerBehaviour.SILENT, ServerBehaviour.CLOSED):
            return None
        if behaviour is ServerBehaviour.REFUSING:
            return ServerReply(REFUSED, authoritative=False)
        if behaviour is ServerBehaviour.FAILING:
            return ServerReply(SERVFAIL, authoritative=False)
        if behaviour is ServerBehaviour.UPWARD:
            root = self.world.zones[""]
            return ServerReply(NOERROR, False, (), tuple(("", "NS", h) for h in root.hosts))
        if behaviour is ServerBehaviour.STALE:
            return ServerReply(NOERROR, False, ((name, "A", FORGED_ADDRESS),))
        if behaviour is ServerBehaviour.FORGING:
            return self._forged_reply(address, name, rtype)
        return self._reply_from_zones(address, name, rtype)

    def _reply_from_zones(self, address: str, name: str, rtype: str) -> ServerReply:
        held = self._held[address]
        apex = name
        while apex not in held:
            if not apex:
                return ServerReply(REFUSED, authoritative=False)
            apex = parent_of(apex)
        zone = self.world.zones[apex]
        cut = zone.cut_above(name)
        return _refer(cut, zone.cuts[cut]) if cut is not None else _answer(zone, name, rtype)

    def _forged_reply(self, address: str, name: str, rtype: str) -> ServerReply:
        """Return correct records of its zones plus forged ones; only forged ones otherwise."""
        reply = self._reply_from_zones(address, name, rtype)
        if reply.code == REFUSED:
            return ServerReply(NOERROR, True, ((name, "A", FORGED_ADDRESS),))
        if name.startswith("side."):
            world = self.world
            return ServerReply(
                NOERROR, False, (), world.forged_authorities, world.forged_additionals
            )
        answers = reply.answers
        if answers and answers[-1][1] == "CNAME":
            answers += ((answers[-1][2], "A", FORGED_ADDRESS),)
        return ServerReply(
            reply.code,
            reply.authoritative,
            answers,
            reply.authorities + self.world.forged_authorities,
            reply.additionals + self.world.forged_additionals,
        )


def _refer(child: str, cut: Cut) -> ServerReply:
    return ServerReply(NOERROR, False, (), tuple((child, "NS", h) for h in cut.hosts), cut.glue)


def _answer(zone: Zone, name: str, rtype: str) -> ServerReply:
    rows: list[Row] = []
    while True:
        found = zone.find(name, rtype)
        if found is None:
            return ServerReply(NXDOMAIN, True, tuple(rows), (zone.soa,))
        kind, data = found
        if zone.has_dname and (dname := zone.dname_above(name)) is not None:
            rows.append(dname)
        rows += [(name, kind, d) for d in data]
        if kind == rtype:
            return ServerReply(
                NOERROR,
                True,
                tuple(rows),
                () if data else (zone.soa,),
                _additional_addresses(zone, kind, data),
            )
        name = data[0]
        # The resolver continues where the alias leaves the zone or loops.
        leaves = not is_within(name, zone.apex) or zone.cut_above(name) is not None
        if leaves or any(row[0] == name for row in rows):
            return ServerReply(NOERROR, True, tuple(rows))


def _additional_addresses(zone: Zone, kind: str, data: tuple[str, ...]) -> tuple[Row, ...]:
    """Return addresses of name servers that the zone itself holds."""
    hosts = data if kind == "NS" else ()
    return tuple((h, "A", address) for h in hosts for address in zone.rows.get((h, "A"), ()))
