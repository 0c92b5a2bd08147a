import os
import signal
import socket
import struct
import threading

import dns.exception
import dns.message
import dns.query
import dns.rcode
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput, Unavailable
from testbed.server.answers import Authority
from testbed.server.responder import Responder
from testbed.server.server import running, serve
from tests.examples import examples
from tests.testbed.shared_worlds import ask, rows, tiny


@pytest.fixture
def server():
    with running(tiny()) as found:
        yield found


def udp(server, name, timeout=0.4):
    query = dns.message.make_query(name, "A")
    return dns.query.udp(query, server.address, port=server.port, timeout=timeout)


def test_it_works_after_the_first_question_is_lost(server):
    with pytest.raises(dns.exception.Timeout):
        udp(server, "mail.alder.test")
    assert len(rows(udp(server, "mail.alder.test", 5))) == 1


def test_it_works_after_the_first_question_failed(server):
    assert udp(server, "mail.birch.test", 5).rcode() == dns.rcode.SERVFAIL
    assert udp(server, "mail.birch.test", 5).rcode() == dns.rcode.NOERROR


def test_zones_that_never_work(server):
    for _ in range(3):
        assert udp(server, "www.juniper.test", 5).rcode() == dns.rcode.SERVFAIL
    with pytest.raises(dns.exception.Timeout):
        udp(server, "kapok.test")


def addresses(server, name):
    return {data for _, rtype, data in rows(udp(server, name, 5)) if rtype == "A"}


def test_a_wildcard_answers_for_what_does_not_exist_only(server):
    card = next(z for z in tiny().zones if z.domain == "elm.test").wildcard
    assert addresses(server, "anything.elm.test") == set(card.pool)
    assert addresses(server, "any.thing.elm.test") == set(card.pool)
    assert addresses(server, "www.elm.test") != set(card.pool)
    # Nothing below a name that exists (RFC 4592).
    assert udp(server, "sub.www.elm.test", 5).rcode() == dns.rcode.NXDOMAIN


def test_a_turning_wildcard_shows_two_of_four(server):
    card = next(z for z in tiny().zones if z.domain == "fir.test").wildcard
    seen = [addresses(server, "x.fir.test") for _ in range(4)]
    assert all(len(shown) == 2 for shown in seen)
    assert set().union(*seen) == set(card.pool)


def test_wildcard_may_be_a_cname_or_below_the_apex(server):
    assert rows(udp(server, "no.gorse.test", 5))[0][1] == "CNAME"
    assert addresses(server, "x.dev.hazel.test")
    assert addresses(server, "web.dev.hazel.test") != addresses(server, "x.dev.hazel.test")
    assert udp(server, "dev.hazel.test", 5).rcode() == dns.rcode.NOERROR
    assert udp(server, "x.hazel.test", 5).rcode() == dns.rcode.NXDOMAIN


def hostile_packets():
    good = dns.message.make_query("www.alder.test", "A", use_edns=0).to_wire()
    yield from (b"", b"\0", good[:11], good[:14], good[:-3], good + b"\0", good + good)
    yield good[:2] + b"\x80\0" + good[4:]  # an answer
    yield good[:2] + b"\x28\0" + good[4:]  # an update
    yield good[:4] + b"\0\2" + good[6:]  # two questions
    yield good[:4] + b"\xff\xff" * 4 + good[12:]
    yield good[:12] + b"\xc0\x0c" + good[14:]  # a name that points at itself
    yield good[:12] + b"\x3f" * 300
    yield good[:12] + b"\1a" * 130 + b"\0\0\1\0\1"
    yield good[:12] + b"\3a.b\5alder\4test\0\0\1\0\1"
    yield struct.pack("!HHHHHH", 7, 0, 1, 0, 0, 0) + b"\0\0\xff\0\1"
    yield struct.pack("!HHHHHH", 7, 0, 1, 0, 0, 0) + b"\3www\5alder\4test\0\0\xfc\0\1"  # AXFR


def test_garbage_never_stops_it(server):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for packet in hostile_packets():
            sender.sendto(packet, (server.address, server.port))
    for packet in hostile_packets():
        with socket.create_connection((server.address, server.port), timeout=5) as stream:
            stream.sendall(len(packet).to_bytes(2, "big") + packet)
    with socket.create_connection((server.address, server.port), timeout=5) as stream:
        stream.sendall(b"\xff\xff" + b"x" * 100)  # never finished
        assert rows(ask(server, "www.alder.test", "A"))
    assert rows(ask(server, "www.alder.test", "A", tcp=True))


@given(st.binary(max_size=80), st.integers(0, 40))
@settings(max_examples=examples(300), deadline=None)
def test_any_packet_gets_a_reply_or_none(noise, at):
    responder = Responder(Authority(tiny()))
    good = dns.message.make_query("cdn.cedar.test", "A", use_edns=0).to_wire()
    for packet in (noise, good[:at] + noise + good[at + len(noise) :], good[: 12 + at] + noise):
        reply = responder.respond(packet)
        assert reply is None or reply[:2] == packet[:2]


def test_the_cache_changes_nothing():
    responder = Responder(Authority(tiny()))
    for payload in (None, 512, 900, 1232, 4096):
        query = dns.message.make_query(
            "m.birch.test", "A", use_edns=-1 if payload is None else 0, payload=payload or 0
        )
        fresh, cached = responder.respond(query.to_wire()), responder.respond(query.to_wire())
        assert fresh == cached
        limit = max(512, min(payload or 0, 1232))
        assert len(fresh) <= limit
        assert bool(fresh[2] & 2) == (limit < 1000)
    query.flags = 0  # without the wish for recursion
    assert not responder.respond(query.to_wire())[2] & 1


def test_questions_of_other_classes_and_versions_are_refused():
    responder = Responder(Authority(tiny()))
    chaos = dns.message.make_query("version.bind", "TXT", rdclass="CH")
    assert dns.message.from_wire(responder.respond(chaos.to_wire())).rcode() == dns.rcode.REFUSED
    newer = dns.message.make_query("www.alder.test", "A", use_edns=1)
    assert dns.message.from_wire(responder.respond(newer.to_wire())).rcode() == dns.rcode.BADVERS


def test_only_loopback_and_free_ports_are_accepted():
    with pytest.raises(BadInput, match="loopback"):
        serve(tiny(), ["192.0.2.1"])
    with running(tiny()) as found, pytest.raises(Unavailable, match=str(found.port)):
        serve(tiny(), [found.address], found.port)


def test_several_addresses_and_an_event_that_stops_it():
    stop, ports, ready = threading.Event(), [], threading.Event()

    def note(port):
        ports.append(port)
        ready.set()

    places = ("127.0.0.1", "127.0.0.2")
    thread = threading.Thread(target=serve, args=(tiny(), places, 0, note, stop))
    thread.start()
    try:
        assert ready.wait(10)
        for place in places:
            query = dns.message.make_query("alder.test", "NS")
            assert dns.query.udp(query, place, port=ports[0], timeout=5).answer
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(number):
    with running(tiny()) as found:
        os.kill(found.pid, number)
        _, status = os.waitpid(found.pid, 0)
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) == 0
