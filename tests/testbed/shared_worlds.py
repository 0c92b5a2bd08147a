"""Worlds shared by the tests, each built once."""

from fractions import Fraction
from functools import cache

import dns.message
import dns.query
import dns.rdatatype

from testbed.server.server import RunningServer
from testbed.world.model import World
from testbed.worlds.loading import build_world


@cache
def tiny() -> World:
    return build_world("tiny")


@cache
def hundredth() -> World:
    return build_world("imc2013", scale=Fraction(1, 100))


@cache
def tenth() -> World:
    return build_world("imc2013", scale=Fraction(1, 10))


def ask(server: RunningServer, name: str, rtype: str, *, tcp: bool = False) -> dns.message.Message:
    """The reply of a server; asks again when a fault of the world swallowed the first question."""
    query = dns.message.make_query(name, rtype, use_edns=0, payload=1232)
    if tcp:
        return dns.query.tcp(query, server.address, port=server.port, timeout=10)
    reply, _ = dns.query.udp_with_fallback(query, server.address, port=server.port, timeout=10)
    return reply


def rows(message: dns.message.Message) -> list[tuple[str, str, str]]:
    """(owner, type, data) of the answer section, names in lower case without the final dot."""
    return [
        (
            rrset.name.to_text(omit_final_dot=True).lower(),
            dns.rdatatype.to_text(rrset.rdtype),
            rdata.to_text().lower().rstrip("."),
        )
        for rrset in message.answer
        for rdata in rrset
    ]
