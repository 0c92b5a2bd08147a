"""Record data of every type is what dnspython shows, or the raw form where it breaks a rule."""

import importlib.util
import struct

import dns.name
import dns.rdata
import dns.rdatatype
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dns import oracle, packets
from crawlers.dns.message import TYPE_CODES, Malformed, encode_question
from crawlers.dns.message_reader import read_reply
from crawlers.dns.rdata import RARE_TYPES, WRITERS, find_writer, name_type
from tests.examples import examples

QUESTION = encode_question("www.alder.test", "A")
END = 12 + len(QUESTION)
KNOWN = sorted({*RARE_TYPES, *WRITERS})
# Types whose lengths we look into ourselves: data that lies about them makes a reply malformed.
STRICT = {1, 2, 5, 6, 12, 15, 28, 33, 39}


def packet_of(code, data, rrclass=1):
    row = b"\xc0\x0c" + struct.pack("!HHIH", code, rrclass, 300, len(data)) + data
    return b"\x12\x34\x81\x80\0\1\0\1\0\0\0\0" + QUESTION + row


def compare(code, data):
    """How our reading relates to dnspython's: same, raw or malformed; anything else fails."""
    packet = packet_of(code, data)
    try:
        reply = read_reply(packet, END, additionals=True)
    except Malformed:
        with pytest.raises(Exception):  # noqa: B017, PT011
            oracle.read_message(packet)
        return "malformed"
    found = oracle.differences(reply, oracle.read_parts(packet, END))
    assert all(text.startswith("raw: ") for text in found)
    if found:
        assert code not in STRICT
        with pytest.raises(Exception):  # noqa: B017, PT011
            oracle.read_message(packet)
        return "raw"
    return "same"


@pytest.mark.parametrize(("kind", "text"), packets._TEXTS)
def test_data_as_zones_publish_it_is_shown_as_dnspython_shows_it(kind, text):
    found = dns.rdata.from_text("IN", kind, text)
    data = found.to_wire()
    assert compare(int(found.rdtype), data) == "same"
    (record,) = read_reply(packet_of(int(found.rdtype), data), END).answers
    # What is shown can be read again and is the same data.
    again = dns.rdata.from_text(
        "IN", record.type, record.data, origin=dns.name.root, relativize=False
    )
    assert again.to_digestable() == found.to_digestable()


@pytest.mark.parametrize(("kind", "text"), packets._TEXTS)
def test_data_cut_or_longer_is_raw_or_malformed(kind, text):
    found = dns.rdata.from_text("IN", kind, text)
    data, code = found.to_wire(), int(found.rdtype)
    for size in range(len(data)):
        compare(code, data[:size])
    for tail in (b"\0", b"\xff", b"\xc0\x0c"):
        compare(code, data + tail)


@pytest.mark.parametrize(
    ("code", "before", "names", "after"), [row for row in packets._NAMED if row[0] != 35]
)
@pytest.mark.parametrize("pointed", [False, True])
def test_names_in_data_may_be_pointers_where_the_type_is_old(code, before, names, after, pointed):
    name = b"\xc0\x0c" if pointed else b"\3WWW\5Alder\4test\0"
    head = (
        b"\0\1\x0d\3\0\0\1\x2c\x70\xdb\xd8\x80\x6f\xfa\xa5\0\x12\x67"
        if code == 46
        else b"\0\1\0\2\0\3"
    )
    result = compare(code, head[:before] + name * names + after)
    # RFC 3597 section 4; RFC 4034 and 9460 forbid them for their types.
    forbidden = {39: "malformed", 47: "malformed", 64: "malformed", 65: "malformed"}
    raw = {36, 46, 107}
    expected = forbidden.get(code, "raw" if code in raw else "same") if pointed else "same"
    assert result == expected


@settings(max_examples=examples(500), deadline=None)
@given(st.sampled_from([*KNOWN, 3, 10, 249, 250, 4711]), st.binary(max_size=60))
def test_any_bytes_are_shown_or_refused_but_never_misread(code, data):
    compare(code, data)


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from([16, 47, 64, 65, 257]), st.data())
def test_bytes_that_are_nearly_right_are_never_misread(code, data):
    texts = [t for k, t in packets._TEXTS if dns.rdatatype.from_text(k) == code]
    wire = bytearray(dns.rdata.from_text("IN", code, data.draw(st.sampled_from(texts))).to_wire())
    for _ in range(data.draw(st.integers(1, 3))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    compare(code, bytes(wire))


def test_every_type_that_dnspython_shows_has_its_name():
    for code in KNOWN:
        assert find_writer(code)[0] == name_type(code) == dns.rdatatype.to_text(code)
    assert name_type(4711) == "TYPE4711"
    assert {TYPE_CODES[name] for name in TYPE_CODES} - {41, 252} <= set(KNOWN)
    for code in range(300):
        text = dns.rdatatype.to_text(code).replace("-", "_")
        modules = [f"dns.rdtypes.{part}.{text}" for part in ("ANY", "IN")]
        if any(map(importlib.util.find_spec, modules)):
            assert code in KNOWN or code in (41, 249, 250)
