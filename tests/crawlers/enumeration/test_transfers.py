import struct
import time
from collections import Counter

import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers.engine.engine import Engine, EngineConfig
from crawlers.engine.nameservers import Server
from crawlers.sources.axfr import TransferReader, TransferReaderLimits
from crawlers.sources.base import Zone
from crawlers.sources.transfers import TransferLimits, Transfers
from tests.crawlers.engine.scripted import CLOSE, HOLD, RESET, Scripted, framed, rrset, transfer
from tests.delays import within
from tests.examples import examples

SOA = "ns1.{0} hostmaster.{0} {1} 7200 3600 1209600 300"
QUICK = TransferLimits(silence_s=0.3, whole_s=1.0)
ZONE = "alder.test"


def soa(zone=ZONE, serial=1):
    return rrset(f"{zone}.", "SOA", SOA.format(f"{zone}.", serial))


def zone_records(zone=ZONE, hosts=4):
    apex = soa(zone)
    hosts = [rrset(f"h{i}.{zone}.", "A", f"10.0.{i >> 8}.{i & 255}") for i in range(hosts)]
    return [apex, rrset(f"{zone}.", "NS", f"ns1.{zone}."), *hosts, apex]


def give(query):
    yield from transfer(query, zone_records(query.question[0].name.to_text(True)))


def refuse(rcode):
    def script(query):
        message = dns.message.make_response(query)
        message.set_rcode(rcode)
        yield framed(message)

    return script


def harvest(*servers, zones=(ZONE,), limits=QUICK, keep=False, config=None):
    addresses = tuple(Server(s.address, s.port) for s in servers)
    source = Transfers(limits, keep=keep)
    with Engine([Server("127.0.0.1", 5399)], config) as engine:
        found = list(source.harvest([Zone(z, addresses) for z in zones], engine))
    return {h.domain: h for h in found}


def harvest_one(script, **options):
    with Scripted(script) as server:
        return harvest(server, **options)[options.get("zones", (ZONE,))[0]]


def test_names_of_the_zone_itself_and_nothing_else():
    records = [
        soa(),
        rrset("alder.test.", "NS", "ns1.alder.test.", "ns.elsewhere.test."),
        rrset("WWW.Alder.test.", "A", "10.0.0.1"),
        rrset("six.alder.test.", "AAAA", "2001:db8::1"),
        rrset("alias.alder.test.", "CNAME", "www.elsewhere.test."),
        rrset("text.alder.test.", "TXT", '"no address"'),
        rrset("*.wild.alder.test.", "A", "10.0.0.9"),
        # Glue before and behind the delegation that it belongs to.
        rrset("ns1.child.alder.test.", "A", "10.0.0.2"),
        rrset("child.alder.test.", "NS", "ns1.child.alder.test."),
        rrset("ns2.child.alder.test.", "A", "10.0.0.3"),
        rrset("moved.alder.test.", "DNAME", "elsewhere.test."),
        rrset("hidden.moved.alder.test.", "A", "10.0.0.5"),
        rrset("mychild.alder.test.", "A", "10.0.0.4"),
        rrset("ns.elsewhere.test.", "A", "10.0.0.4"),
        rrset("notalder.test.", "A", "10.0.0.4"),
        rrset("od\\.d.alder.test.", "A", "10.0.0.4"),
        soa(),
    ]
    found = harvest_one(lambda query: transfer(query, records), keep=True)
    assert found.status == "OK"
    assert found.complete
    assert found.wildcard
    assert found.names == (
        *("www.alder.test", "six.alder.test", "alias.alder.test"),
        *("child.alder.test", "mychild.alder.test"),
    )
    outside = {"ns.elsewhere.test", "notalder.test"}
    assert not outside & {r.name for r in found.records}
    assert len(found.records) == 15
    assert found.queries == 1


def raw(query, **changes):
    """A whole transfer in one message, with its header changed."""
    message = dns.message.make_response(query)
    message.answer += zone_records()
    data = bytearray(message.to_wire(max_size=65_535))
    for position, value in changes.items():
        data[int(position[1:])] ^= value
    return framed(bytes(data))


def other_question(query):
    message = dns.message.make_response(dns.message.make_query("birch.test.", "AXFR", id=query.id))
    message.answer += zone_records("birch.test")
    return framed(message)


def no_question(query, records):
    message = dns.message.make_response(query)
    message.question = []
    message.answer += records
    return framed(message)


LIES = {
    "refused": (refuse(dns.rcode.REFUSED), "REFUSED"),
    "not authoritative": (refuse(dns.rcode.NOTAUTH), "REFUSED"),
    "servfail": (refuse(dns.rcode.SERVFAIL), "SERVFAIL"),
    "not implemented": (refuse(dns.rcode.NOTIMP), "NOTIMP"),
    "no such zone": (refuse(dns.rcode.NXDOMAIN), "NXDOMAIN"),
    "no record at all": (refuse(dns.rcode.NOERROR), "REFUSED"),
    "strange code": (refuse(dns.rcode.YXRRSET), "OTHER"),
    "closes": (lambda _: [CLOSE], "REFUSED"),
    "resets": (lambda _: [RESET], "REFUSED"),
    "says nothing": (lambda _: [HOLD], "TIMEOUT"),
    "wrong id": (lambda q: [raw(q, _0=1)], "MISMATCH"),
    "a query": (lambda q: [raw(q, _2=0x80)], "MISMATCH"),
    "other opcode": (lambda q: [raw(q, _2=0x28)], "MISMATCH"),
    "other question": (lambda q: [other_question(q)], "MISMATCH"),
    "other zone": (lambda q: transfer(q, zone_records("birch.test")), "MISMATCH"),
    "no SOA first": (lambda q: transfer(q, zone_records()[1:]), "MISMATCH"),
    "changed": (lambda q: transfer(q, [*zone_records()[:-1], soa(serial=2)]), "MISMATCH"),
    "behind the end": (
        lambda q: transfer(q, [*zone_records(), rrset("x.alder.test.", "A", "10.0.0.1")], 20),
        "MALFORMED",
    ),
    "garbage": (lambda q: [framed(raw(q)[2:14] + bytes(range(64, 128)))], "MISMATCH"),
    "counts that lie": (lambda q: [raw(q, _7=0x40)], "MALFORMED"),
    "short message": (lambda _: [b"\0\4\0\0\0\0"], "MALFORMED"),
}


@pytest.mark.parametrize("case", LIES)
def test_each_failure_has_its_reason_and_the_next_server_is_asked(case):
    script, status = LIES[case]
    alone = harvest_one(script)
    assert (alone.status, alone.names, alone.complete) == (status, (), False)
    assert alone.failed == {status: 1}
    with Scripted(script) as bad, Scripted(give) as good:
        found = harvest(bad, good)[ZONE]
    assert (found.status, len(found.names), found.complete) == ("OK", 4, True)
    assert found.failed == {status: 1}
    assert found.queries == 2


def cut(end):
    def script(query):
        parts = list(transfer(query, zone_records()))
        yield parts[0]
        yield parts[1][: len(parts[1]) // 2] if end is None else parts[1]
        yield end or CLOSE

    return script


@pytest.mark.parametrize("end", [CLOSE, RESET, HOLD])
def test_a_transfer_that_is_cut_is_kept_as_incomplete(end):
    script = cut(end)

    def slowly(query):
        for part in script(query):
            yield part
            # A reset throws away what was not read yet.
            time.sleep(0.05)

    found = harvest_one(slowly)
    assert (found.status, found.complete) == ("TRUNCATED", False)
    assert found.names == tuple(f"h{i}.{ZONE}" for i in range(4))
    with Scripted(script) as bad, Scripted(refuse(dns.rcode.REFUSED)) as worse:
        both = harvest(bad, worse)[ZONE]
    assert both.status == "TRUNCATED"
    assert both.failed == {"TRUNCATED": 1, "REFUSED": 1}


def test_a_cut_within_a_message_keeps_the_messages_before_it():
    found = harvest_one(cut(None))
    assert (found.status, found.names) == ("TRUNCATED", (f"h0.{ZONE}",))


def test_what_a_liar_said_is_not_kept():
    def script(query):
        yield from list(transfer(query, zone_records()))[:1]
        yield raw(query, _0=1)

    found = harvest_one(script)
    assert (found.status, found.names) == ("MISMATCH", ())


def test_a_refusal_in_the_middle_keeps_its_reason():
    def script(query):
        yield from list(transfer(query, zone_records()))[:1]
        yield from refuse(dns.rcode.SERVFAIL)(query)

    found = harvest_one(script)
    assert (found.status, found.names, found.complete) == ("SERVFAIL", (f"h0.{ZONE}",), False)


def endless(query):
    yield from list(transfer(query, zone_records()))[:1]
    number = 0
    while True:
        number += 1
        record = rrset(f"e{number}.{ZONE}.", "A", "10.0.0.1")
        yield no_question(query, [record])


def hollow(query):
    yield from list(transfer(query, zone_records()))[:1]
    while True:
        yield no_question(query, [])


@pytest.mark.parametrize("script", [endless, hollow])
@pytest.mark.parametrize("bound", [{"records": 1_000}, {"octets": 20_000}, {"held": 1_000}])
def test_an_endless_transfer_ends(script, bound):
    limits = TransferLimits(silence_s=2, whole_s=20, **bound)
    with within(10):
        found = harvest_one(script, limits=limits)
    assert (found.status, found.complete) == ("BUDGET", False)


def test_a_trickle_ends():
    def script(query):
        for byte in b"".join(transfer(query, zone_records(hosts=200))):
            yield bytes((byte,))
            time.sleep(0.002)

    with Scripted(script) as one, Scripted(script) as two, Scripted(give) as three:
        found = harvest(one, two, three)[ZONE]
    assert (found.status, found.queries) == ("BUDGET", 2)
    assert found.names


def test_ipv6_and_a_port_where_nobody_listens():
    with Scripted(give, "::1") as server, Scripted(give) as closed:
        closed.stop()
        found = harvest(closed, server)[ZONE]
    assert (found.status, found.failed) == ("OK", {"NETWORK": 1})


def test_zones_without_servers_or_with_impossible_names_are_skipped():
    found = harvest(zones=(ZONE,))
    assert found[ZONE].status == "SKIPPED"
    with Scripted(give) as server:
        found = harvest(server, zones=("x" * 64 + ".test", ZONE))
    assert [h.status for h in found.values()] == ["SKIPPED", "OK"]


def test_many_zones_share_a_server_politely():
    zones = [f"z{i}.test" for i in range(200)]
    with Scripted(give) as server:
        found = harvest(server, zones=zones, limits=TransferLimits(per_server=3))
    assert Counter(h.status for h in found.values()) == {"OK": 200}
    assert all(set(h.names) == {f"h{i}.{z}" for i in range(4)} for z, h in found.items())
    # The server notices the end of a connection later than the client, but 64 may be open in all.
    assert server.most <= 12


def test_transfers_keep_to_the_limit_per_server():
    zones = [f"z{i}.test" for i in range(60)]
    with Scripted(give) as server:
        found = harvest(server, zones=zones, config=EngineConfig(rate_per_server=40))
    assert {h.status for h in found.values()} == {"OK"}
    times = sorted(at for at, _ in server.asked)
    assert times[59] - times[0] >= 59 / 40 * 0.9
    busiest = max(sum(1 for t in times if s <= t < s + 1) for s in times)
    assert busiest <= 42


def test_a_dead_server_is_not_waited_for_by_every_zone():
    zones = [f"z{i}.test" for i in range(40)]
    with within(3), Scripted(lambda _: [HOLD]) as dead, Scripted(give) as good:
        found = harvest(dead, good, zones=zones)
    assert {h.status for h in found.values()} == {"OK"}
    assert len(dead.asked) <= 8


# What dnspython reads from the same bytes decides.

LABEL = st.text("abcdefghijklmnopqrstuvwxyzABC0123456789-_*", min_size=1, max_size=9)
OWNER = st.lists(LABEL, max_size=3).map(lambda labels: ".".join([*labels, ""]))
TARGET = OWNER.map(lambda owner: f"{owner}{ZONE}." if owner != "." else f"{ZONE}.")
RECORD = st.one_of(
    st.tuples(
        st.just("A"),
        st.integers(0, 2**32 - 1).map(lambda n: ".".join(map(str, n.to_bytes(4, "big")))),
    ),
    st.tuples(st.just("AAAA"), st.integers(1, 65_535).map(lambda n: f"2001:db8::{n:x}")),
    st.tuples(st.sampled_from(["CNAME", "NS", "PTR", "DNAME"]), TARGET),
    st.tuples(st.just("MX"), TARGET.map(lambda name: f"10 {name}")),
    st.tuples(st.just("SRV"), TARGET.map(lambda name: f"1 2 443 {name}")),
    st.tuples(st.just("TXT"), st.just('"v=spf1 -all" "two"')),
    st.tuples(st.just("CAA"), st.just('0 issue "ca.example"')),
)
PLACE = st.sampled_from([f"{ZONE}.", f"{ZONE}.", f"{ZONE}.", "outside.test."])


@st.composite
def streams(draw):
    """(query id, messages): a transfer in messages of any size, with questions or without."""
    records = [soa()]
    for owner, place, (kind, data) in draw(st.lists(st.tuples(OWNER, PLACE, RECORD), max_size=30)):
        records.append(rrset((owner if owner != "." else "") + place, kind, data))
    records.append(soa())
    query = dns.message.make_query(f"{ZONE}.", "AXFR", id=draw(st.integers(0, 65_535)))
    query.flags = 0
    per_message = draw(st.integers(1, 40))
    messages = list(transfer(query, records, per_message))
    return query.id, messages, records


def oracle(messages):
    """(owner, type, ttl, text) of records in the zone, and its names, by dnspython."""
    apex, rows = dns.name.from_text(ZONE), []
    for data in messages:
        for found in dns.message.from_wire(data[2:], xfr=True, one_rr_per_rrset=True).answer:
            if found.name.is_subdomain(apex):
                owner = found.name.canonicalize()
                rows += [(owner, found.rdtype, found.ttl, rdata) for rdata in found]
    del rows[-1]
    cuts = {o for o, t, *_ in rows if t in (dns.rdatatype.NS, dns.rdatatype.DNAME) and o != apex}
    named = {
        o
        for o, t, *_ in rows
        if dns.rdatatype.to_text(t) in ("A", "AAAA", "CNAME")
        or (t == dns.rdatatype.NS and o != apex)
    }
    below = {o for o in named if any(o != c and o.is_subdomain(c) for c in cuts)}
    return rows, {text(o) for o in named - below if "*" not in text(o)}


def text(name):
    return name.to_text(omit_final_dot=True)


@settings(max_examples=examples(150), deadline=None)
@given(streams(), st.integers(1, 400))
def test_every_record_is_the_one_that_dnspython_reads(stream, size):
    query_id, messages, _ = stream
    data = b"".join(messages)
    feed = TransferReader(ZONE.upper() + ".", query_id, keep=True)
    for start in range(0, len(data), size):
        assert feed.status == ""
        feed.feed(data[start : start + size])
    rows, names = oracle(messages)
    assert feed.status == "OK"
    assert [(r.name, r.type, r.ttl) for r in feed.records] == [
        (text(o), dns.rdatatype.to_text(t), ttl) for o, t, ttl, _ in rows
    ]
    for record, (_, rdtype, _, rdata) in zip(feed.records, rows, strict=True):
        if rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA, dns.rdatatype.TXT):
            assert record.data == rdata.to_text()
        elif rdtype == dns.rdatatype.CNAME:
            assert record.data == text(rdata.target.canonicalize())
    assert set(feed.names) == names


FLIPS = st.lists(st.tuples(st.integers(0, 4_000), st.integers(0, 255)), min_size=1, max_size=6)


@settings(max_examples=examples(300), deadline=None)
@given(streams(), FLIPS, st.booleans())
def test_bytes_that_lie_end_with_a_status_and_raise_nothing(stream, flips, keep):
    query_id, messages, _ = stream
    data = bytearray(b"".join(messages))
    for position, value in flips:
        if data:
            data[position % len(data)] = value
    feed = TransferReader(ZONE, query_id, TransferReaderLimits(10_000, 1_000_000), keep=keep)
    feed.feed(bytes(data))
    feed.end()
    assert feed.status
    assert all(name == ZONE or name.endswith("." + ZONE) for name in feed.names)


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=400), st.integers(0, 3))
def test_noise_ends_with_a_status(noise, n_answers):
    header = struct.pack("!6H", 7, 0x8400, 0, n_answers, 0, 0)
    feed = TransferReader(ZONE, 7, keep=True)
    feed.feed(struct.pack("!H", 12 + len(noise)) + header + noise)
    feed.end()
    assert feed.status in ("MALFORMED", "MISMATCH", "REFUSED")


def test_the_same_as_dnspython_over_the_same_socket():
    records = zone_records(hosts=500)
    with Scripted(lambda query: transfer(query, records, 70)) as server:
        ours = harvest(server, keep=True)[ZONE]
        messages = dns.query.xfr("127.0.0.1", ZONE, port=server.port, relativize=False)
        theirs = [
            (text(found.name), dns.rdatatype.to_text(found.rdtype), rdata.to_text())
            for message in messages
            for found in message.answer
            for rdata in found
        ]
    assert [(r.name, r.type) for r in ours.records] == [row[:2] for row in theirs[:-1]]
    hosts = [(r.name, r.data) for r in ours.records if r.type == "A"]
    assert hosts == [(name, data) for name, kind, data in theirs if kind == "A"]
    assert len(hosts) == 500
