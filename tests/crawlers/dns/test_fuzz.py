"""Spoiled replies are read as dnspython reads them, or refused; a small share of the benchmark."""

import signal
import struct

import pytest

from benchmarks.dns import fuzz, oracle
from benchmarks.dns.loopback import AT_ONCE, Case, Loopback, is_reply
from benchmarks.dns.packets import Packet
from crawlers.dns.message import Malformed, encode_question
from crawlers.dns.message_reader import read_reply

QUESTION = encode_question("www.alder.test", "A")
END = 12 + len(QUESTION)
ADDRESS = b"\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc0\0\2\1"


def packet_of(*answers, flags=0x8180, ident=4711):
    return (
        struct.pack("!HHHHHH", ident, flags, 1, len(answers), 0, 0) + QUESTION + b"".join(answers)
    )


@pytest.fixture
def no_alarm():
    before = signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_spoiled_reply_is_misread(seed, no_alarm):
    tally = fuzz.Fuzzer(seed).run(2_000, 0.3)
    assert tally.faults == {}
    assert tally.packets >= 2_000
    assert tally.engine >= 600
    assert tally.kinds[fuzz.SAME] > 200
    assert tally.kinds[fuzz.BOTH_REFUSE] > 200


def test_the_benchmark_notices_a_wrong_reading():
    packet = packet_of(ADDRESS)
    reply = read_reply(packet, END, additionals=True)
    theirs = oracle.read_message(packet)
    assert oracle.differences(reply, theirs) == []
    (record,) = reply.answers
    wrong = [
        record._replace(data="192.0.2.2"),
        record._replace(name="w.test"),
        record._replace(ttl=1),
    ]
    for other in wrong:
        assert oracle.differences(reply._replace(answers=(other,)), theirs)
    assert oracle.differences(reply._replace(answers=()), theirs) == ["number of records"]
    assert oracle.differences(reply._replace(scope=0), theirs) == ["scope"]


@pytest.mark.parametrize("follow", [False, True])
def test_only_a_reply_to_a_query_is_taken(follow):
    # Operations 1 to 15, and no QR bit.
    flags = [0x8180 | code << 11 for code in range(1, 16)] + [0x0180]
    cases = [Case("www.alder.test", "A", QUESTION, packet_of(ADDRESS, flags=f)) for f in flags]
    assert not any(map(is_reply, cases))
    loopback = Loopback(follow=follow)
    try:
        assert list(loopback.differences(cases)) == []
    finally:
        loopback.close()


def test_records_of_another_class_alone_are_no_data():
    chaos = ADDRESS.replace(b"\0\1\0\1", b"\0\1\0\3")
    case = Case("www.alder.test", "A", QUESTION, packet_of(chaos))
    for follow in (False, True):
        loopback = Loopback(follow=follow)
        try:
            assert list(loopback.differences([case] * AT_ONCE)) == []
        finally:
            loopback.close()


@pytest.mark.parametrize("target", range(12))
@pytest.mark.parametrize("kind", [5, 18])
def test_no_name_stands_in_the_header(target, kind):
    data = (b"\0\1" if kind == 18 else b"") + b"\xc0" + bytes((target,))
    answer = b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(data)) + data
    # All of these ids and flags make a name of some kind there.
    readings = set()
    for ident in (0, 1 << 8, 0x0161):
        try:
            readings.add(read_reply(packet_of(answer, flags=0x8000, ident=ident), END).answers)
        except Malformed:
            readings.add(None)
    raw = f"\\# {len(data)} {data.hex()}"
    assert readings == {None} if kind == 5 else {r[0].data for r in readings} == {raw}


def test_copies_keep_the_question():
    packet = Packet(packet_of(ADDRESS), END, {"fixed": [END + 2], "record": [END]})
    chance = fuzz.random.Random(1)
    for _, data in fuzz._copies(chance, [packet] * 4):
        assert data[12:END] == QUESTION
