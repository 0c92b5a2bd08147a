import socket
import struct
from fractions import Fraction

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.xfr
import dns.zone
import pytest

from crawlers.wordlist import default_wordlist
from testbed.server import Server, running
from testbed.worlds import Making, build_world, load_world
from core.errors import BadInput


@pytest.fixture(scope="module")
def world():
    making = Making(scale=Fraction(1, 1000), labels=default_wordlist())
    return build_world(load_world("imc2013"), making)


@pytest.fixture(scope="module")
def port(world):
    with running(world) as found:
        yield found


def ask(port, name, rrtype="A", tries=4):
    query = dns.message.make_query(name, rrtype, use_edns=0, payload=1232)
    for _ in range(tries):
        try:
            reply, _ = dns.query.udp_with_fallback(query, "127.0.0.1", port=port, timeout=0.5)
        except dns.exception.Timeout:
            continue
        if reply.rcode() != dns.rcode.SERVFAIL:
            return reply
    raise AssertionError(f"{name} was never answered")


def test_every_name_answers_as_planned(world, port):
    names = [n for z in world.zones if not z.fault for n in z.names]
    for name in names[:400]:
        reply = ask(port, name.host)
        chain = [r[0].to_text(omit_final_dot=True) for r in reply.answer if r.rdtype == 5]
        addresses = {d.address for r in reply.answer if r.rdtype == 1 for d in r}
        assert (tuple(chain), addresses) == (name.chain, set(name.addresses))


def test_name_servers_and_their_addresses_are_known(world, port):
    zone = next(z for z in world.zones if not z.fault and z.servers)
    reply = ask(port, zone.domain, "NS")
    hosts = {d.to_text(omit_final_dot=True) for r in reply.answer for d in r}
    assert hosts == set(zone.servers)
    for host in hosts:
        assert ask(port, host).answer[0][0].address == world.hosts[host]


def test_what_is_not_there_is_nxdomain_with_a_soa(world, port):
    zone = next(z for z in world.zones if not z.fault and not z.wildcard)
    reply = ask(port, f"no-such-name.{zone.domain}")
    assert reply.rcode() == dns.rcode.NXDOMAIN
    assert reply.authority[0].rdtype == 6


def test_transfers_hold_the_zone_or_are_refused(world, port):
    allowed = next(z for z in world.zones if z.transfer == "allowed" and len(z.names) > 20)
    zone = dns.zone.Zone(allowed.domain + ".")
    query, _ = dns.xfr.make_query(zone)
    dns.query.inbound_xfr("127.0.0.1", zone, query, port=port, timeout=3)
    hosts = {n.host for n in allowed.names}
    found = {str(n.derelativize(zone.origin)).rstrip(".") for n in zone.nodes}
    assert hosts <= found | {allowed.domain}
    refused = next(z for z in world.zones if z.transfer == "refused" and not z.fault)
    with pytest.raises(dns.xfr.TransferError):
        zone = dns.zone.Zone(refused.domain + ".")
        query, _ = dns.xfr.make_query(zone)
        dns.query.inbound_xfr("127.0.0.1", zone, query, port=port, timeout=3)


def test_it_says_which_world_it_is(world, port):
    text = ask(port, "world.testbed.invalid", "TXT").answer[0][0].strings[0].decode()
    assert text == "nephoscope-testbed world=imc2013 scale=1/1000 seed=1"


def test_noise_does_not_stop_it(world, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for noise in (
            b"",
            b"\0",
            b"\xff" * 512,
            b"\0" * 12,
            b"\0\1\1\0\0\1" + b"\0" * 6 + b"\x3fx",
        ):
            sock.sendto(noise, ("127.0.0.1", port))
    with socket.create_connection(("127.0.0.1", port)) as sock:
        sock.sendall(struct.pack("!H", 5) + b"12345")
    assert ask(port, world.zones[0].domain) is not None


def test_it_refuses_to_answer_beyond_loopback(world):
    with pytest.raises(BadInput, match="loopback"):
        Server(world, ("0.0.0.0",), 0)
