"""Classify a reply of a zone's server: answer, alias, referral or nothing.

Records outside the server's bailiwick are ignored.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from core.records import Record
from core.statuses import DnsStatus
from crawlers.dns.cname import MAX_CHAIN

# Further host names of a delegation are ignored.
MAX_HOSTS = 16
# Shorter lives would only cost the parent's servers questions.
MIN_TTL_S = 60
_LONGEST_TTL_S = 2**31


def is_within(name: str, zone: str) -> bool:
    """Whether ``name`` is ``zone`` or is below it."""
    return not zone or name == zone or name.endswith(f".{zone}")


class Referral(NamedTuple):
    """A delegation that may be believed: the zone, its host names, and addresses of some."""

    zone: str
    hosts: tuple[str, ...]
    glue: tuple[tuple[str, str], ...]
    ttl_s: int


def read_referral(
    asked_zone: str, name: str, authorities: Sequence[Record], additionals: Sequence[Record]
) -> Referral | None:
    """The delegation in a reply about ``name``, or ``None`` where there is none that counts.

    The cut has to lie below the zone that was queried, and at or above the name. Addresses count
    only for its own host names, and only for those within the zone that was queried.
    """
    cut, ttl_s = asked_zone, _LONGEST_TTL_S
    hosts: list[str] = []
    for owner, rtype, ttl, data in authorities:
        if rtype != "NS" or not data:
            continue
        if not hosts and owner != asked_zone:
            believed = is_within(owner, asked_zone) and is_within(name, owner)
            cut = owner if believed else cut
        if owner == cut and cut != asked_zone:
            ttl_s = min(ttl_s, ttl)
            hosts.append(data)
    if not hosts:
        return None
    known = dict.fromkeys(hosts[:MAX_HOSTS])
    glue: dict[tuple[str, str], None] = {}
    for owner, rtype, ttl, data in additionals:
        if rtype in ("A", "AAAA") and owner in known and is_within(owner, asked_zone):
            glue[owner, data] = None
            ttl_s = min(ttl_s, ttl)
    return Referral(cut, tuple(known), tuple(glue), max(ttl_s, MIN_TTL_S))


class Kind(Enum):
    """What is to be done with a reply."""

    ANSWER = 1  # it ends the question
    ALIAS = 2  # the name that it leads to has to be queried
    REFERRAL = 3  # servers further down have to be queried
    LAME = 4  # this server is not authoritative, or does not answer as such


class Verdict(NamedTuple):
    """A reply after all checks."""

    kind: Kind
    status: DnsStatus = DnsStatus.SERVFAIL
    records: tuple[Record, ...] = ()
    target: str = ""
    referral: Referral | None = None


class Reply(Protocol):
    """What of a reply is looked at."""

    @property
    def status(self) -> DnsStatus: ...
    @property
    def authoritative(self) -> bool: ...
    @property
    def answers(self) -> tuple[Record, ...]: ...
    @property
    def authorities(self) -> tuple[Record, ...]: ...
    @property
    def additionals(self) -> tuple[Record, ...]: ...


def classify_reply(zone: str, name: str, rtype: str, reply: Reply) -> Verdict:
    """What a reply of ``zone``'s server to a question is worth."""
    if not (reply.answers or reply.authoritative):
        return _classify_empty(zone, name, reply)
    records, end, complete = _walk(zone, name, rtype, reply.answers)
    if end is None:
        return Verdict(Kind.ANSWER, DnsStatus.CNAME_LOOP, records)
    if records and not reply.authoritative:
        return Verdict(Kind.LAME)
    if complete:
        return Verdict(Kind.ANSWER, DnsStatus.NOERROR, records)
    if records:
        return _classify_alias(zone, end, records, reply)
    return _classify_empty(zone, name, reply)


def _walk(
    zone: str, name: str, rtype: str, answers: Sequence[Record]
) -> tuple[tuple[Record, ...], str | None, bool]:
    """(chain and data within the zone, where it ends, whether data is there); loops end nowhere."""
    records: list[Record] = []
    seen = {name}
    while is_within(name, zone):
        final = [r for r in answers if r.name == name and r.type == rtype]
        if final:
            return (*records, *final), name, True
        alias = _find_alias(zone, name, answers)
        if alias is None:
            break
        records.append(alias)
        name = alias.data
        if name in seen or len(records) > MAX_CHAIN:
            return tuple(records), None, False
        seen.add(name)
    return tuple(records), name, False


def _find_alias(zone: str, name: str, answers: Sequence[Record]) -> Record | None:
    """The alias at a name, made from that of a whole subtree (RFC 6672) where none is given."""
    for record in answers:
        if record.name == name and record.type == "CNAME":
            return record
    for owner, rtype, ttl, data in answers:
        if rtype == "DNAME" and is_within(owner, zone) and name.endswith(f".{owner}"):
            return Record(name, "CNAME", ttl, name.removesuffix(owner) + data)
    return None


def _classify_alias(zone: str, end: str, records: tuple[Record, ...], reply: Reply) -> Verdict:
    if is_within(end, zone):
        if reply.status is DnsStatus.NXDOMAIN:
            return Verdict(Kind.ANSWER, DnsStatus.NXDOMAIN, records)
        if _denies_data(zone, end, reply):
            return Verdict(Kind.ANSWER, DnsStatus.NODATA, records)
    return Verdict(Kind.ALIAS, records=records, target=end)


def _classify_empty(zone: str, name: str, reply: Reply) -> Verdict:
    if reply.authoritative and reply.status is DnsStatus.NXDOMAIN:
        return Verdict(Kind.ANSWER, DnsStatus.NXDOMAIN)
    if reply.authoritative and _denies_data(zone, name, reply):
        return Verdict(Kind.ANSWER, DnsStatus.NODATA)
    if reply.status is not DnsStatus.NXDOMAIN and not reply.answers:
        referral = read_referral(zone, name, reply.authorities, reply.additionals)
        if referral is not None:
            return Verdict(Kind.REFERRAL, referral=referral)
    return Verdict(Kind.ANSWER, DnsStatus.NODATA) if reply.authoritative else Verdict(Kind.LAME)


def _denies_data(zone: str, name: str, reply: Reply) -> bool:
    """Whether there is a start of authority from the zone, or from one between it and the name."""
    return any(
        r.type == "SOA" and is_within(r.name, zone) and is_within(name, r.name)
        for r in reply.authorities
    )
