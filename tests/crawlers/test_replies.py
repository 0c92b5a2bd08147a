import dns.edns
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from crawlers.replies import read_reply
from crawlers.tails import TailCache
from crawlers.wire import encode_question

ZONE = [("alder.test", "NS", "ns1.alder.test."), ("alder.test", "NS", "ns2.alder.test.")]
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
    reply = read_reply(packet, question_end("a.test"), tails=TailCache() if cached else None)
    assert (reply.rcode, reply.scope) == (16, 20)
    assert read_reply(build("a.test", options=[]), question_end("a.test")).scope is None
