import dns.exception
import dns.message
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers.dns.message import Malformed, encode_question
from crawlers.dns.message_reader import read_reply
from crawlers.engine.config import EngineConfig
from crawlers.engine.query_encoder import Encoder
from tests.examples import examples

LABEL = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12).filter(
    lambda s: not s.startswith("-") and not s.endswith("-")
)
NAME = st.lists(LABEL, min_size=1, max_size=5).map(".".join)
ADDRESS = st.ip_addresses(v=4).map(str)
RECORD = st.one_of(
    st.tuples(NAME, st.just("A"), ADDRESS),
    st.tuples(NAME, st.just("AAAA"), st.ip_addresses(v=6).map(str)),
    st.tuples(NAME, st.sampled_from(["CNAME", "NS", "PTR"]), NAME.map(lambda n: n + ".")),
    st.tuples(NAME, st.just("MX"), NAME.map(lambda n: f"10 {n}.")),
    st.tuples(NAME, st.just("SOA"), NAME.map(lambda n: f"{n}. h.{n}. 1 2 3 4 5")),
    st.tuples(NAME, st.just("TXT"), st.text("abc def;=", max_size=40).map(lambda t: f'"{t}"')),
)


def build(name, records):
    query = dns.message.make_query(name + ".", "A")
    message = dns.message.make_response(query)
    for owner, rrtype, data in records:
        message.answer.append(dns.rrset.from_text(owner + ".", 300, "IN", rrtype, data))
    return message.to_wire(max_size=65535), len(encode_question(name, "A"))


def plain(text):
    return " ".join(part.rstrip(".") for part in text.lower().split(" "))


@settings(max_examples=examples(300), deadline=None)
@given(NAME, st.lists(RECORD, max_size=12))
def test_it_reads_what_dnspython_wrote(name, records):
    packet, length = build(name, records)
    reply = read_reply(packet, 12 + length)
    oracle = dns.message.from_wire(packet, one_rr_per_rrset=True)
    expected = [
        (
            rrset.name.to_text(omit_final_dot=True),
            dns.rdatatype.to_text(rrset.rdtype),
            plain(rrset[0].to_text()),
        )
        for rrset in oracle.answer
    ]
    assert [(r.name, r.type, plain(r.data)) for r in reply.answers] == expected


@settings(max_examples=examples(600), deadline=None)
@given(NAME, st.lists(RECORD, max_size=6), st.data())
def test_damaged_packets_give_records_or_malformed(name, records, data):
    packet, length = build(name, records)
    damaged = bytearray(packet)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(2, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(damaged[: data.draw(st.integers(12 + length, len(damaged)))])
    try:
        read_reply(damaged, 12 + length)
    except Malformed:
        return


@given(st.binary(min_size=12, max_size=300), st.integers(0, 40))
def test_noise_gives_records_or_malformed(packet, length):
    try:
        read_reply(packet, 12 + length)
    except Malformed:
        return


def test_compression_loops_are_refused():
    packet = b"\0\0\x81\x80\0\1\0\1\0\0\0\0" + b"\1a\0\0\1\0\1" + b"\xc0\x13" * 2 + b"\0" * 20
    with pytest.raises(Malformed):
        read_reply(packet, 12 + 7)


def test_a_dot_inside_a_label_does_not_make_another_name():
    packet = b"\0\0\x81\x80\0\1\0\1\0\0\0\0" + b"\1a\0\0\1\0\1"
    packet += b"\3a.b\3com\0" + b"\0\1\0\1\0\0\0\1\0\4" + b"\1\2\3\4"
    assert read_reply(packet, 12 + 7).answers[0].name == "a\\046b.com"


def test_queries_are_what_dnspython_reads():
    question = encode_question("www.example.com", "AAAA")
    message = dns.message.from_wire(
        Encoder(EngineConfig()).encode_query(b"\x12\x67", question, edns=True)
    )
    assert (message.id, message.payload) == (4711, 1232)
    assert message.question[0].to_text() == "www.example.com. IN AAAA"
