"""Queries are what dnspython reads and writes, up to the longest names."""

import dns.edns
import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.errors import BadInput
from core.statuses import DnsStatus
from crawlers.dns.message import TYPE_CODES, encode_name, encode_question
from crawlers.dns.message_reader import read_reply
from crawlers.dns.name_codec import Names
from crawlers.engine.engine import Engine, EngineConfig, Question
from crawlers.engine.nameservers import Server
from crawlers.engine.query_encoder import Encoder, option_of_subnet
from tests.crawlers.engine.hostile import Hostile, good, record, reply
from tests.examples import examples

LONGEST = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61])
QUICK = EngineConfig(timeout_s=1.0, retries=1)
NETWORK = st.one_of(
    st.tuples(st.ip_addresses(v=4), st.integers(0, 32)),
    st.tuples(st.ip_addresses(v=6), st.integers(0, 128)),
)
LABELS = st.lists(st.binary(min_size=1, max_size=63), max_size=8)


@settings(max_examples=examples(300), deadline=None)
@given(NETWORK)
def test_a_client_subnet_is_what_dnspython_writes(network):
    address, length = network
    record_ = option_of_subnet(f"{address}/{length}")
    option = dns.edns.ECSOption(str(address), length, 0).to_wire()
    assert record_[11:] == b"\0\x08" + len(option).to_bytes(2, "big") + option
    packet = Encoder(QUICK).encode_query(
        b"ab", encode_question("a.test", "A"), edns=True, subnet=f"{address}/{length}"
    )
    (read,) = dns.message.from_wire(packet).options
    assert (read.srclen, read.scopelen) == (length, 0)


@settings(max_examples=examples(200), deadline=None)
@given(NETWORK, st.integers(0, 255), st.booleans())
def test_a_scope_is_what_dnspython_reads(network, scope, cached):
    address, length = network
    option = bytearray(dns.edns.ECSOption(str(address), length, 0).to_wire())
    option[3] = scope
    data = b"\0\x08" + len(option).to_bytes(2, "big") + bytes(option)
    question = encode_question("a.test", "A")
    packet = b"ab\x81\x80\0\1\0\0\0\0\0\1" + question + b"\0\0\x29\4\xd0\0\0\0\0"
    packet += len(data).to_bytes(2, "big") + data
    try:
        expected = dns.message.from_wire(packet).options[0].scopelen
    except (dns.exception.DNSException, ValueError):
        expected = None
    assert read_reply(packet, 12 + len(question)).scope == expected


@settings(max_examples=examples(300), deadline=None)
@given(LABELS)
def test_names_of_any_bytes_come_back_as_they_went(labels):
    wire = b"".join(bytes((len(label),)) + label for label in labels) + b"\0"
    if len(wire) > 255:
        return
    text, after = Names(bytes(12) + wire).read(12, 12 + len(wire))
    assert after == 12 + len(wire)
    assert encode_name(text) == wire.lower()
    assert dns.name.from_text(text + ".").to_wire() == wire.lower()


@pytest.mark.parametrize("name", ["a\\", "a\\.b", "a\\1", "a\\256.b", "a\\12x", "a..b", ".", "ü"])
def test_names_that_say_nothing_are_bad_input(name):
    with pytest.raises(BadInput):
        encode_name(name)


def test_a_backslash_before_a_letter_is_that_letter():
    assert encode_name("\\a\\-b") == b"\3a-b\0"


@pytest.mark.parametrize("rrtype", sorted(TYPE_CODES))
@pytest.mark.parametrize("name", ["www.alder.test", "x.y", LONGEST, "a\\046b.test", "n.a\\000b.c"])
def test_short_and_long_encoding_are_the_same_query(name, rrtype):
    encoder = Encoder(QUICK)
    question = encode_question(name, rrtype)
    fit, sections = encoder.encode_short([Question(name, rrtype)] * 2)
    assert len(fit) == len(sections)
    assert set(sections) <= {question}
    query = encoder.encode_query(b"ab", question, edns=True, subnet="2001:db8::/128")
    assert len(query) <= 512
    read = dns.message.from_wire(query)
    assert read.question[0].rdtype == TYPE_CODES[rrtype]
    assert read.question[0].name == dns.name.from_text(name + ".")


def test_the_longest_names_take_the_short_way_and_no_longer_ones():
    fit, sections = Encoder(QUICK).encode_short([Question(LONGEST), Question(LONGEST + "x")])
    assert all(len(section) <= 255 + 4 for section in sections)
    assert {q.name for q in fit} <= {LONGEST}


@settings(max_examples=examples(200), deadline=None)
@given(LABELS)
def test_mixed_case_changes_letters_alone(labels):
    wire = b"".join(bytes((len(label),)) + label for label in labels) + b"\0\0\1\0\1"
    mixed = Encoder(EngineConfig(case_mixing=True)).mix_cases(wire)
    assert mixed.lower() == wire.lower()
    assert mixed[-4:] == wire[-4:]
    assert Encoder(QUICK).mix_cases(wire) == wire


def ask(on_udp, *questions, config=QUICK):
    with Hostile(on_udp) as server, Engine([Server("127.0.0.1", server.port)], config) as engine:
        return sorted(engine.ask(questions), key=lambda result: result.question.tag)


def test_an_alias_to_a_name_with_odd_bytes_is_followed():
    asked = []

    def on_udp(server, query):
        asked.append(query.question[:-4])
        alias = record(b"\3a.b\2\1\xc0\4test\0", kind=5)
        server.send(reply(query, alias) if query.name == "www.alder.test" else good(query), query)

    for config in (QUICK, EngineConfig(timeout_s=1.0, retries=1, case_mixing=True)):
        (result,) = ask(on_udp, Question("www.alder.test"), config=config)
        assert result.status == DnsStatus.NOERROR
        assert [r.name for r in result.answers] == ["www.alder.test", "a\\046b.\\001\\192.test"]
        assert asked[-1].lower() == b"\3a.b\2\1\xc0\4test\0"


@pytest.mark.parametrize("case_mixing", [False, True])
def test_odd_names_are_asked_as_they_are_meant(case_mixing):
    config = EngineConfig(timeout_s=1.0, retries=1, case_mixing=case_mixing)
    names = ["x\\046y.test", "y.x\\032y.test", "\\001.test", "plain.test"]
    results = ask(
        lambda server, query: server.send(good(query), query),
        *(Question(name, tag=i) for i, name in enumerate(names)),
        config=config,
    )
    assert [r.status for r in results] == [DnsStatus.NOERROR] * 4
    assert [r.answers[0].name for r in results] == names


def test_a_reply_in_other_letters_is_asked_again_by_tcp_where_letters_were_mixed():
    def on_udp(server, query):
        server.send(good(query).replace(query.question, query.question.lower()), query)

    config = EngineConfig(timeout_s=0.3, retries=0, tcp_timeout_s=0.5, case_mixing=True)
    (mixed,) = ask(on_udp, Question("abcdefghijklmnopqrstuvwxyz.alder.test"), config=config)
    assert (mixed.protocol, mixed.answers) == ("tcp", ())
    (plain,) = ask(on_udp, Question("abcdefghijklmnopqrstuvwxyz.alder.test"))
    assert (plain.protocol, plain.status) == ("udp", DnsStatus.NOERROR)
