"""Lines of the compiled loop are those of the reference engine; a small share of the benchmark."""

import struct

import pytest

from benchmarks.dns.compiled_replies import ACCEPTED, LEFT, Comparison, OneReply
from crawlers.dns.message import TYPE_CODES, encode_name, encode_question


@pytest.mark.parametrize("seed", [1, 2])
def test_no_spoiled_reply_is_misread(seed):
    comparison = Comparison(seed)
    comparison.run(3_000)
    assert comparison.faults == []
    assert comparison.counts[ACCEPTED] > 50
    assert comparison.counts[LEFT] > 1_000


RECORDS = [
    ("A", b"\xc0\0\2\1"),
    ("AAAA", bytes(16)),
    ("AAAA", b"\x20\1\x0d\xb8" + bytes(10) + b"\0\1"),
    ("AAAA", b"\x20\1\0\0\0\1" + bytes(6) + b"\0\1\0\1"),
    ("AAAA", bytes(15) + b"\1"),
    ("NS", encode_name("ns1.alder.test")),
    ("PTR", b"\0"),
    ("MX", b"\0\x0a" + encode_name("mail.alder.test")),
    ("MX", b"\0\0\0"),
    ("TXT", b'\5v=spf\0\x0eno "quotes" in'.replace(b'"', b"'")),
    ("SRV", struct.pack("!HHH", 1, 65535, 443) + b"\3web\xc0\x0c"),
    ("SOA", b"\0" + encode_name("a.b") + struct.pack("!5I", 0, 1, 2**31, 2**32 - 1, 10)),
    ("CNAME", encode_name("Other.Test")),
]


@pytest.mark.parametrize(("rrtype", "data"), RECORDS)
def test_frequent_types_are_written_without_the_reference_engine(rrtype, data):
    code, question = TYPE_CODES[rrtype], encode_question("www.alder.test", rrtype)
    record = b"\xc0\x0c" + struct.pack("!HHIH", code, 1, 300, len(data)) + data
    packet = struct.pack("!6H", 4711, 0x8180, 1, 2, 0, 0) + question + record + record
    comparison = Comparison(1)
    comparison.compare(packet, 12 + len(question))
    assert comparison.faults == []
    assert comparison.counts[ACCEPTED] == 1


def test_the_comparison_notices_a_wrong_line(monkeypatch):
    read = OneReply.read

    def misread(*args, **named):
        return read(*args, **named).replace(b"NODATA", b"NXDOMAIN")

    monkeypatch.setattr(OneReply, "read", misread)
    question = encode_question("www.alder.test", "A")
    comparison = Comparison(1)
    comparison.compare(struct.pack("!6H", 1, 0x8180, 1, 0, 0, 0) + question, 12 + len(question))
    assert [kind for kind, _ in comparison.faults] == ["another line"]
