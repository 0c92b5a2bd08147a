"""Ends of replies that are remembered are what a fresh reading gives, whatever comes."""

import random
import struct
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.dns.packets import Planner, corrupt, write
from crawlers.dns.message import Malformed, encode_question
from crawlers.dns.message_reader import read_reply
from crawlers.dns.reply_cache import SectionCache
from tests.examples import examples

NS, SOA, AAAA, OPT = 2, 6, 28, 41
ROOT = b"\0"


def packet_of(name, *, answers=(), authorities=(), additionals=(), question=None, ident=7):
    """A reply whose records are bytes, and where its question ends."""
    question = encode_question(name, "A") if question is None else question
    sections = (answers, authorities, additionals)
    head = struct.pack("!HHHHHH", ident, 0x8180, 1, *map(len, sections))
    return head + question + b"".join(b"".join(part) for part in sections), 12 + len(question)


def row(owner, kind, data, length=None):
    length = len(data) if length is None else length
    return owner + struct.pack("!HHIH", kind, 1, 300, length) + data


def to(offset):
    return struct.pack("!H", 0xC000 | offset)


def read(packet, end, tails, additionals):
    try:
        return read_reply(packet, end, tails=tails, additionals=additionals)
    except Malformed:
        return None


class Pair:
    """A reader that remembers beside one that does not, with and without additional records."""

    def __init__(self):
        self.tails = {wanted: SectionCache(additionals=wanted) for wanted in (False, True)}

    def check(self, packet, end):
        found = [read(packet, end, self.tails[wanted], wanted) for wanted in (False, True)]
        assert found == [read(packet, end, None, wanted) for wanted in (False, True)]
        return found[1]


def zone_reply(first, zone="alder.test", ident=7):
    """A reply as name servers write it: pointers to the zone's name in the question."""
    name = f"{first}.{zone}"
    at = to(12 + 1 + len(first))
    host = row(at, NS, b"\3ns1" + at), row(at, NS, b"\3ns2" + at)
    return packet_of(name, authorities=host, additionals=[row(ROOT, OPT, b"")], ident=ident)


def test_an_end_that_moved_is_read_by_what_is_known():
    tails = SectionCache()
    for ident, first in enumerate(("www", "a-longer-label", "x", "mail")):
        packet, end = zone_reply(first, ident=ident)
        read_reply(packet, end, tails=tails)
    assert len(tails) == 4
    assert len(tails._templates) == 1


@pytest.mark.parametrize("zone", ["elder.test", "alder.best"])
def test_another_zone_at_the_same_place_is_another_end(zone):
    pair = Pair()
    first = pair.check(*zone_reply("www"))
    second = pair.check(*zone_reply("www", zone))
    assert first.authorities[0].data == "ns1.alder.test"
    assert second.authorities[0].data == f"ns1.{zone}"


def test_an_end_that_leans_on_an_answer_is_read_anew_when_the_answer_changes():
    pair, seen = Pair(), []
    for target in (b"\3abc\4test\0", b"\3abd\4test\0"):
        end = 12 + len(encode_question("www.alder.test", "A"))
        answers = [row(to(12), 5, target)]
        authorities = [row(to(end + 12), NS, b"\2ns" + to(end + 12))]
        reply = pair.check(*packet_of("www.alder.test", answers=answers, authorities=authorities))
        seen.append(reply.authorities[0].name)
    assert seen == ["abc.test", "abd.test"]


@pytest.mark.parametrize("octets", [b"a.b", b"a\0b", b"A", b"\xc0", b" "])
def test_odd_bytes_in_the_question_are_no_other_name(octets):
    pair = Pair()
    for label in (octets, octets.translate(bytes.maketrans(b".\0A\xc0 ", b"xxaxx")), b"www"):
        question = bytes((len(label),)) + label + b"\1z\0" + b"\0\1\0\1"
        for at in (12, 13, 13 + len(label)):
            authorities = [row(to(at), NS, b"\2ns" + to(at))]
            pair.check(*packet_of("", question=question, authorities=authorities))


def test_pointers_that_are_not_followed_do_not_carry_over_when_moved():
    # The owner of an additional record is not read unless wanted. Moved by one byte, 0xFFFF
    # would become 0x0000 and change the byte before it, and 0xC000 would be no pointer.
    for unread in (b"\xff\xff", b"\xc0\x00"):
        pair = Pair()
        for first in ("ab", "abc", "a"):
            at = to(13 + len(first))
            shift = len(first) - 2
            moved = (int.from_bytes(unread, "big") + shift) & 0xFFFF
            carried = int.from_bytes(unread, "big") + shift > 0xFFFF
            glue = row(b"\1" + bytes((97 + carried,)) + struct.pack("!H", moved), AAAA, bytes(16))
            authorities = [row(at, NS, b"\2ns" + at)]
            pair.check(*packet_of(f"{first}.z", authorities=authorities, additionals=[glue]))


def test_what_looks_like_a_pointer_in_unread_data_is_not_moved():
    # Name server data of one byte, a label length, that nobody reads: its name would run on into
    # the EDNS record and see a pointer in the payload size and the upper bits of the return code.
    tails, codes = SectionCache(), []
    for upper, first in enumerate(("ab", "abc", "abcd")):
        at = to(13 + len(first))
        packet, end = packet_of(
            f"{first}.z",
            authorities=[row(at, NS, b"\2ns" + at)],
            additionals=[
                row(ROOT, NS, b"\4"),
                ROOT + struct.pack("!HHBBHH", OPT, 1232, upper, 0, 0, 0),
            ],
        )
        codes.append(read_reply(packet, end, tails=tails).rcode)
    assert codes == [0, 16, 32]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_any_sequence_of_replies_reads_as_if_each_were_the_first(seed):
    chance, pair = random.Random(seed), Pair()
    planner = Planner(chance)
    packets = []
    for _ in range(3):
        for packet in planner.family(4):
            packets += [(packet.data, packet.question_end)]
            packets += [(corrupt(chance, packet), packet.question_end) for _ in range(4)]
    for start, _ in list(packets):
        # The end of one reply behind the question and the answers of another.
        other, end = chance.choice(packets)
        packets.append((other[: chance.randint(end, len(other))] + start[-40:], end))
    chance.shuffle(packets)
    for packet, end in packets + packets[:30]:
        pair.check(packet, end)


LABEL = st.binary(min_size=1, max_size=4)
OFFSET = st.integers(0, 120)
NAME = st.one_of(
    OFFSET.map(to),
    st.tuples(LABEL, OFFSET).map(lambda t: bytes((len(t[0]),)) + t[0] + to(t[1])),
    LABEL.map(lambda label: bytes((len(label),)) + label + b"\0"),
    st.just(ROOT),
)
ROW = st.one_of(
    st.tuples(NAME, NAME).map(lambda t: row(t[0], NS, t[1])),
    st.tuples(NAME, NAME, NAME).map(lambda t: row(t[0], SOA, t[1] + t[2] + bytes(20))),
    NAME.map(lambda n: row(n, AAAA, bytes(16))),
    st.tuples(st.sampled_from([ROOT, b"\1a\0"]), st.binary(max_size=4)).map(
        lambda t: row(t[0], OPT, t[1])
    ),
    st.tuples(NAME, st.integers(0, 9)).map(lambda t: row(ROOT, NS, t[0], t[1])),
)
END = st.tuples(st.lists(ROW, max_size=2), st.lists(ROW, max_size=3))


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(LABEL, min_size=2, max_size=5), LABEL, END, st.lists(ROW, max_size=1))
def test_an_end_with_pointers_to_anywhere_is_the_same_moved_or_not(labels, zone, end, answers):
    pair = Pair()
    authorities, additionals = end
    for label in labels:
        question = bytes((len(label),)) + label + bytes((len(zone),)) + zone + b"\0\0\1\0\1"
        shift = len(label) - len(labels[0])
        moved = [[_move(r, shift) for r in section] for section in (authorities, additionals)]
        for rows in ((authorities, additionals), moved):
            pair.check(
                *packet_of(
                    "", question=question, answers=answers, authorities=rows[0], additionals=rows[1]
                )
            )


def _move(record, shift):
    """A record with all that looks like a pointer moved, carrying over as whole numbers do."""
    number = int.from_bytes(b"\0" + record, "big")
    for at in range(len(record) - 1):
        if record[at] >= 0xC0:
            number += shift << 8 * (len(record) - 2 - at)
    return number.to_bytes(len(record) + 1, "big", signed=False)[1:] if number >= 0 else record


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32))
def test_families_move_without_being_mistaken(seed):
    planner, pair = Planner(random.Random(seed)), Pair()
    plan = planner.plan()
    for first in (b"a", b"bb", b"a", b"c" * 9, b"d" * 45, b"0", b"."):
        packet = write(plan, first)
        pair.check(packet.data, packet.question_end)


def host(n):
    """A name server whose name is one byte long."""
    return row(ROOT, NS, b"\1" + bytes((97 + n % 26,)) + ROOT)


def empty(_):
    """The shortest record there is."""
    return row(ROOT, 65280, b"")


@pytest.mark.parametrize(("make", "count"), [(host, 250), (empty, 360)])
def test_memory_is_bounded_whatever_the_ends_look_like(make, count):
    tails = SectionCache(additionals=True)
    tracemalloc.start()
    try:
        # Long ends, each in a zone of its own.
        for n in range(120_000 // count):
            last = row(ROOT, 65280 if make is empty else AAAA, n.to_bytes(16, "big"))
            authorities = [make(i) for i in range(count)] + [last]
            packet, end = packet_of(f"a.{n}", authorities=authorities)
            read_reply(packet, end, tails=tails, additionals=True)
        assert tracemalloc.get_traced_memory()[0] < 45 * 2**20
    finally:
        tracemalloc.stop()
    assert len(tails) <= 4_000_000 // (40 * count)
    assert len(tails._templates) <= 1_600_000 // (15 * count)
