"""Zone transfers: what a server gives of a zone over TCP, within bounds of size and time."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from core.records import Record
from core.statuses import DnsStatus
from crawlers import tcp, wire
from crawlers.servers import Server
from crawlers.wire import Malformed

MAX_RECORDS = 2_000_000
MAX_SECONDS = 120.0
CONNECT_TIMEOUT_S = 5.0
_STATUS_BY_RCODE = {
    2: DnsStatus.SERVFAIL,
    3: DnsStatus.NXDOMAIN,
    4: DnsStatus.NOTIMP,
    5: DnsStatus.REFUSED,
    9: DnsStatus.REFUSED,  # NOTAUTH
}
_ADDRESS_TYPES = ("A", "AAAA", "CNAME")


@dataclass(frozen=True, slots=True)
class Transfer:
    """Outcome of one attempt; ``names`` have an address or alias, and lie in the zone.

    A transfer that was cut is not used, since what is missing cannot be known; its status stays.
    """

    status: str
    names: tuple[str, ...] = ()
    wildcard: bool = False
    records: int = 0


def transfer_zone(zone: str, server: Server, query_id: int) -> Transfer:
    """Ask ``server`` for the whole zone; failures are a status, never an exception."""
    question = wire.encode_question(zone, "AXFR")
    deadline = time.monotonic() + MAX_SECONDS
    try:
        with tcp.connect(server, CONNECT_TIMEOUT_S) as sock:
            tcp.send_message(sock, wire.encode_query(query_id, question, edns=False))
            return _collect(zone, _sections(tcp.read_messages(sock, deadline), query_id, question))
    except TimeoutError:
        return Transfer(DnsStatus.TIMEOUT)
    except OSError:
        return Transfer(DnsStatus.NETWORK)
    except Malformed:
        return Transfer(DnsStatus.MALFORMED)


def _sections(
    packets: Iterator[bytes], query_id: int, question: bytes
) -> Iterator[tuple[int, tuple[Record, ...]]]:
    """(rcode, answers) of each message; only the first has to repeat the question."""
    for packet in packets:
        if len(packet) < 12 or packet[0:2] != query_id.to_bytes(2, "big"):
            raise Malformed("a message that was not asked for")
        repeated = packet[4:6] != b"\0\0"
        if repeated and not tcp.matches(packet, query_id, question):
            raise Malformed("a message that answers another question")
        reply = wire.read_reply(packet, len(question) if repeated else 0)
        yield reply.rcode, reply.answers


def _collect(zone: str, sections: Iterator[tuple[int, tuple[Record, ...]]]) -> Transfer:
    names: dict[str, None] = {}
    wildcard, records, apexes = False, 0, 0
    deadline = time.monotonic() + MAX_SECONDS
    for rcode, answers in sections:
        if rcode:
            return Transfer(_STATUS_BY_RCODE.get(rcode, DnsStatus.OTHER))
        for record in answers:
            records += 1
            apexes += record.type == "SOA" and record.name == zone
            wildcard |= record.name.startswith("*.")
            if record.type in _ADDRESS_TYPES and _belongs(record.name, zone):
                names[record.name] = None
        if apexes >= 2:
            return Transfer("OK", tuple(names), wildcard, records)
        if not apexes or records > MAX_RECORDS or time.monotonic() > deadline:
            return Transfer(DnsStatus.MALFORMED if not apexes else DnsStatus.TRUNCATED)
    return Transfer(DnsStatus.TRUNCATED if apexes else DnsStatus.REFUSED)


def _belongs(name: str, zone: str) -> bool:
    # A transfer may hold glue and forged names outside its zone: they say nothing about it.
    inside = name == zone or name.endswith("." + zone)
    return inside and "*" not in name and "\\" not in name and len(name) <= 253
