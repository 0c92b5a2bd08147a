import socket

import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from crawlers.dns.message import Malformed, encode_name, encode_question
from crawlers.dns.message_reader import read_reply
from crawlers.dns.name_codec import MAX_POINTERS
from crawlers.dns.reply_cache import SectionCache
from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server

ZONE = [("alder.test", "NS", "ns1.alder.test."), ("alder.test", "NS", "ns2.alder.test.")]
_FAMILIES = {"127.0.0.1": socket.AF_INET, "::1": socket.AF_INET6}
GLUE = [("ns1.alder.test", "A", "127.0.0.1"), ("ns2.alder.test", "A", "127.0.0.2")]


def question_end(name, rrtype="A"):
    return 12 + len(encode_question(name, rrtype))


def build(name, answers=(), authorities=(), additionals=(), *, options=None, rcode=0):
    message = dns.message.make_response(dns.message.make_query(name + ".", "A"))
    message.flags |= dns.flags.AA
    parts = (message.answer, answers), (message.authority, authorities)
    for section, records in (*parts, (message.additional, additionals)):
        for owner, rrtype, data in records:
            section.append(dns.rrset.from_text(owner + ".", 300, "IN", rrtype, data))
    if options is not None:
        message.use_edns(0, 0, 1232, options=options)
    message.set_rcode(rcode)
    return message.to_wire(max_size=65535)


def test_all_sections_are_read():
    packet = build("www.alder.test", [("www.alder.test", "A", "192.0.2.1")], ZONE, GLUE)
    reply = read_reply(packet, question_end("www.alder.test"), additionals=True)
    assert reply.answers == (("www.alder.test", "A", 300, "192.0.2.1"),)
    assert [r.data for r in reply.authorities] == ["ns1.alder.test", "ns2.alder.test"]
    assert [(r.name, r.data) for r in reply.additionals] == [
        ("ns1.alder.test", "127.0.0.1"),
        ("ns2.alder.test", "127.0.0.2"),
    ]
    assert (reply.rcode, reply.truncated, reply.authoritative) == (0, False, True)


def test_additionals_are_left_out_unless_wanted():
    packet = build("www.alder.test", [], ZONE, GLUE)
    assert read_reply(packet, question_end("www.alder.test")).additionals == ()


@pytest.mark.parametrize("cached", [False, True])
def test_extended_codes_and_scopes_come_from_the_edns_record(cached):
    subnet = dns.edns.ECSOption("203.0.113.0", 24, 20)
    packet = build("a.test", options=[subnet], rcode=dns.rcode.BADVERS)
    reply = read_reply(packet, question_end("a.test"), tails=SectionCache() if cached else None)
    assert (reply.rcode, reply.scope) == (16, 20)
    assert read_reply(build("a.test", options=[]), question_end("a.test")).scope is None


def stairs(steps, owner=12):
    """A reply with so many pointers in a row: a record whose data are pointers, one to another."""
    question = encode_question("www.alder.test", "A")
    at = 12 + len(question) + 12
    links = [(0xC000 | (at + 2 * i - 2 if i else owner)).to_bytes(2, "big") for i in range(steps)]
    data = b"".join(links)
    rows = b"\xc0\x0c\xff\x00\0\1\0\0\0\0" + len(data).to_bytes(2, "big") + data
    rows += (0xC000 | at + 2 * steps - 2).to_bytes(2, "big") + b"\0\1\0\1\0\0\0\0\0\4\1\2\3\4"
    return b"\0\1\x81\x80\0\1\0\2\0\0\0\0" + question + rows, 12 + len(question)


@pytest.mark.parametrize("steps", range(1, 40))
def test_sixteen_pointers_in_a_row_are_followed_and_no_more(steps):
    packet, end = stairs(steps)
    if steps < MAX_POINTERS:
        assert read_reply(packet, end).answers[1].name == "www.alder.test"
    else:
        with pytest.raises(Malformed):
            read_reply(packet, end)


def long_alias(octets, *, pointed):
    """An alias whose target has so many octets, the last of them in the question if pointed."""
    question = encode_question("www.alder.test", "A")
    end = b"\xc0\x0c" if pointed else b"\0"
    left, name = octets - (len(question) - 4 if pointed else 1), b""
    while left:
        size = min(63, left - 1) if left != 65 else 40
        name += bytes((size,)) + b"\0" * size
        left -= size + 1
    data = name + end
    row = b"\xc0\x0c\0\5\0\1\0\0\0\0" + len(data).to_bytes(2, "big") + data
    return b"\0\1\x81\x80\0\1\0\1\0\0\0\0" + question + row, 12 + len(question)


@pytest.mark.parametrize("pointed", [False, True])
def test_names_have_at_most_255_octets(pointed):
    for octets in range(245, 256):
        (record,) = read_reply(*long_alias(octets, pointed=pointed)).answers
        assert len(encode_name(record.data)) == octets
    for octets in range(256, 270):
        with pytest.raises(Malformed):
            read_reply(*long_alias(octets, pointed=pointed))


@pytest.mark.parametrize("cached", [False, True])
def test_bytes_behind_the_last_record_and_missing_ones_are_malformed(cached):
    packet = build("www.alder.test", [("www.alder.test", "A", "192.0.2.1")], ZONE, GLUE)
    end, tails = question_end("www.alder.test"), SectionCache() if cached else None
    read_reply(packet, end, tails=tails)
    for wrong in (packet + b"\0", packet[:-1], packet + packet[end:], packet[:end]):
        with pytest.raises(Malformed):
            read_reply(wrong, end, tails=tails)


def test_a_cut_reply_says_what_is_whole_and_nothing_else():
    packet = build("www.alder.test", [("www.alder.test", "A", "192.0.2.1")], ZONE, GLUE)
    packet = packet[:2] + bytes((packet[2] | 2,)) + packet[3:]
    end, whole = question_end("www.alder.test"), read_reply(packet, question_end("www.alder.test"))
    assert len(whole.authorities) == 2
    for size in range(end, len(packet)):
        reply = read_reply(packet[:size], end)
        assert reply.truncated
        assert reply.answers in ((), whole.answers)
        assert reply.authorities in ((), whole.authorities)
    assert read_reply(packet[: end + 16], end).answers == whole.answers


@pytest.mark.parametrize("family", ["127.0.0.1", "::1"])
def test_the_same_reply_comes_by_either_protocol(family):
    try:
        sock = socket.create_server((family, 0), family=_FAMILIES[family])
    except OSError:
        pytest.skip("no IPv6 on loopback")
    with sock, socket.socket(_FAMILIES[family], socket.SOCK_DGRAM) as udp:
        udp.bind(sock.getsockname()[:2])
        config = EngineConfig(retries=0, timeout_s=5, sockets=1)
        with Engine([Server(*sock.getsockname()[:2])], config) as engine:
            run = engine.open_run()
            run.ask(
                [Question("www.alder.test"), Question("www.alder.test", subnet="2001:db8::/56")]
            )
            run.step(0)
            answer = build("www.alder.test", [("www.alder.test", "A", "192.0.2.1")], ZONE, GLUE)
            for _ in range(2):
                query, peer = udp.recvfrom(512)
                udp.sendto(query[:2] + answer[2:], peer)
            results = []
            while not run.is_over:
                results += run.step()
    assert {r.status for r in results} == {"NOERROR"}
    assert {r.answers[0].data for r in results} == {"192.0.2.1"}
    assert len({r[2:4] for r in results}) == 1
