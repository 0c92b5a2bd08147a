"""NSEC walks (RFC 4034): list the names of a signed zone from its denials.

Each NSEC record names the next owner of the zone. A walk queries from name to name until the chain
is back at the apex, over one TCP connection per zone: replies are not truncated there and cannot be
forged off path, and one question at a time is in flight.
"""

import secrets
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.errors import BadInput
from core.statuses import DnsStatus, Technique
from crawlers.dns import message as dns_message
from crawlers.dns.message import Malformed
from crawlers.engine.engine import Engine
from crawlers.sources.axfr import MISMATCH, STATUS_BY_RCODE, is_askable
from crawlers.sources.base import Harvest, Zone
from crawlers.sources.nsec_records import (
    Denial,
    Labels,
    Link,
    encode_labels,
    is_minimal,
    labels_of,
    read_denial,
    successor,
)
from crawlers.sources.tcp_pool import BUDGET, CLOSED, Next, StreamLimits, TcpPool, split_messages
from crawlers.sources.transfers import most_severe_failure

# Why a walk came to its end: the zone is not signed, or its chain has hashes for names, covers
# one name per record, does not go forwards, or leaves the zone.
UNSIGNED, NSEC3, MINIMAL, LOOP, OUTSIDE = "UNSIGNED", "NSEC3", "MINIMAL", "LOOP", "OUTSIDE"
OPTED_OUT = "OPTED_OUT"
# One record that denies next to nothing may be a strange name; two are a server that makes them.
_MAX_MINIMAL = 2
_A, _NSEC = dns_message.TYPE_CODES["A"], dns_message.TYPE_CODES["NSEC"]
# EDNS with the DO bit (RFC 3225); the size has no meaning over TCP.
_DO_RECORD = b"\0\0\x29" + struct.pack("!HIH", dns_message.EDNS_SIZE, 0x8000, 0)
# A delegation may be a name with an address, too; the zone's own name always has name servers.
_TYPES = frozenset({"A", "AAAA", "CNAME", "NS"})
_APEX_TYPES = _TYPES - {"NS"}
_NO_NAME = 3
_FINE = (0, _NO_NAME)
_MAX_NAME_OCTETS = 255


@dataclass(frozen=True, slots=True)
class WalkLimits(StreamLimits):
    """Bounds of all walks, and how many questions one zone may cost."""

    whole_s: float = 600.0
    queries: int = 10_000


@dataclass(frozen=True, slots=True)
class ZoneWalks:
    """Names of zones with a chain of denials that can be followed.

    An ``opt_out`` domain is not walked, and no name at or below one is given out.
    """

    limits: WalkLimits = WalkLimits()
    opt_out: frozenset[str] = frozenset()

    technique = Technique.NSEC
    is_zone_data = True

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone, as they end; what was found up to a failure is kept.

        Raises ``Unavailable`` where the shared limits of the engine cannot be had.
        """
        walks = [_ZoneWalk(zone, self.limits, self.opt_out) for zone in zones]
        streams = TcpPool(self.limits, engine)
        for done in streams.run((w, () if w.status else w.zone.servers) for w in walks):
            if isinstance(done, _ZoneWalk):
                yield done.harvest()


class _ZoneWalk:
    """One walk; where it is outlives the connection, and the server."""

    def __init__(self, zone: Zone, limits: WalkLimits, opt_out: frozenset[str]) -> None:
        self.zone = zone
        self.status = ""
        self._limits = limits
        self._opt_out = opt_out
        self._origin = zone.domain.lower().rstrip(".")
        self._apex: Labels = ()
        self._here: Labels = ()
        self._asked = b""
        self._buffer = b""
        # A name right behind this one is requested where this one itself brings no NSEC.
        self._probe: Labels | None = None
        self._names: dict[str, None] = {}
        self._wildcard = False
        self._queries = self._minimal = self._links = self._progress = 0
        self._failed: Counter[str] = Counter()
        try:
            dns_message.encode_name(self._origin)
            self._apex = self._here = labels_of(self._origin)
        except BadInput:
            self.status = str(DnsStatus.SKIPPED)
        if self._is_opted_out(self._origin):
            self.status = OPTED_OUT

    @property
    def weight(self) -> int:
        """Names held."""
        return len(self._names)

    def start(self) -> bytes:
        """Return the current question of the walk."""
        self._progress = 0
        self._buffer = b""
        return self._ask()

    def receive(self, chunk: bytes) -> bytes | None:
        """Reads a reply; gives the next question, or hangs up when there is none."""
        data = self._buffer + chunk if self._buffer else chunk
        for packet, end in split_messages(data):
            self._buffer = data[end:]
            try:
                fault = self._read(packet)
            except Malformed:
                fault = str(DnsStatus.MALFORMED)
            if fault:
                self._failed[fault] += 1
            return None if fault or self.status else self._ask()
        self._buffer = data
        return b""

    def leave(self, fault: str | None) -> Next:
        """On to the same server where it closed after an answer, else to the next."""
        progress, self._progress = self._progress, 0
        if self.status:
            return Next.OVER
        if fault == BUDGET:
            self.status = BUDGET
            return Next.OVER
        if fault == CLOSED and progress:
            # Some servers answer one question per connection.
            return Next.SAME
        if fault:
            self._failed[str(DnsStatus.REFUSED) if fault == CLOSED else fault] += 1
        self._probe = None
        return Next.ELSEWHERE

    def harvest(self) -> Harvest:
        """What is known in the end."""
        status = self.status
        if not status:
            status = str(DnsStatus.TRUNCATED) if self._links else most_severe_failure(self._failed)
        names = tuple(n for n in self._names if not self._is_opted_out(n))
        return Harvest(
            self.zone.domain,
            status=status,
            names=names,
            complete=status == "OK",
            wildcard=self._wildcard,
            queries=self._queries,
            failed=dict(self._failed),
        )

    def _is_opted_out(self, name: str) -> bool:
        labels = name.split(".") if self._opt_out else ()
        return any(".".join(labels[i:]) in self._opt_out for i in range(len(labels)))

    def _ask(self) -> bytes:
        """The next question with its length in front."""
        name, code = (self._here, _NSEC) if self._probe is None else (self._probe, _A)
        question = encode_labels(name) + struct.pack("!HH", code, 1)
        self._queries += 1
        self._asked = struct.pack("!6H", secrets.randbelow(65_536), 0, 1, 0, 0, 1) + question
        message = self._asked + _DO_RECORD
        return struct.pack("!H", len(message)) + message

    def _read(self, packet: bytes) -> str:
        """Take one reply; gives what is wrong with this server, if anything."""
        if len(packet) < 12 or packet[:2] != self._asked[:2] or not packet[2] & 0x80:
            return MISMATCH
        if packet[3] & 15 not in _FINE:
            return str(STATUS_BY_RCODE.get(packet[3] & 15, DnsStatus.OTHER))
        end = len(self._asked)
        if packet[4:6] != b"\0\1" or packet[12:end].lower() != self._asked[12:].lower():
            return MISMATCH
        return self._read_denial(read_denial(packet, end))

    def _read_denial(self, denial: Denial) -> str:
        self._progress += 1
        link = self._find_link(denial)
        if link:
            # What is next to a name exists, unless it was made up when that name was queried.
            self._minimal += is_minimal(link) or (self._probe is None and denial.rcode == _NO_NAME)
            self._links += 1
            self._probe = None
            self._follow(link)
        elif denial.hashed:
            self.status = NSEC3
        elif any(not self._is_inside(labels_of(cut)) for cut in denial.cuts):
            # A server without the zone sends a referral.
            return str(DnsStatus.REFUSED)
        elif self._probe is None:
            return self._start_probe(denial)
        elif self._here == self._apex:
            self.status = UNSIGNED
        else:
            return str(DnsStatus.NODATA)
        return ""

    def _start_probe(self, denial: Denial) -> str:
        here = self._here
        if here == self._apex and denial.rcode == _NO_NAME:
            return str(DnsStatus.NXDOMAIN)
        if here != self._apex and here in map(labels_of, denial.cuts):
            # A delegation: its server refers to the child's for this name and all below.
            self._probe = successor(here)
        else:
            self._probe = (*here, b"\0")
        if self._probe is None or len(encode_labels(self._probe)) > _MAX_NAME_OCTETS:
            return str(DnsStatus.NODATA)
        self._check_budget()
        return ""

    def _is_inside(self, labels: Labels) -> bool:
        return labels[: len(self._apex)] == self._apex

    def _find_link(self, denial: Denial) -> Link | None:
        """Return the record of the walk's current name, or one that skips over it."""
        best: Link | None = None
        for link in denial.links:
            owner, behind = labels_of(link.owner), labels_of(link.next)
            if not self._is_inside(owner):
                continue
            if owner == self._here:
                return link
            covers = owner < self._here and (self._here < behind or behind == self._apex)
            if covers or owner == self._probe:
                best = link
        return best

    def _follow(self, link: Link) -> None:
        """Note the name and continue to the next."""
        if labels_of(link.owner) == self._here:
            self._note(link)
        behind = labels_of(link.next)
        if behind == self._apex:
            self.status = "OK"
        elif not self._is_inside(behind):
            self.status = OUTSIDE
        elif behind <= self._here:
            self.status = LOOP
        elif self._minimal >= _MAX_MINIMAL:
            self.status = MINIMAL
        else:
            self._here = behind
            self._check_budget()

    def _check_budget(self) -> None:
        if self._queries >= self._limits.queries:
            self.status = BUDGET

    def _note(self, link: Link) -> None:
        owner = link.owner
        self._wildcard |= owner.startswith("*.")
        wanted = _APEX_TYPES if owner == self._origin else _TYPES
        if link.types & wanted and is_askable(owner):
            self._names[owner] = None
