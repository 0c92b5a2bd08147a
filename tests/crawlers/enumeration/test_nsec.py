import os
import shutil
import socket
import struct
import subprocess
import time
from types import SimpleNamespace

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlers.dns.message import Malformed
from crawlers.dns.name_codec import Names
from crawlers.engine.engine import Engine, EngineConfig
from crawlers.engine.nameservers import Server
from crawlers.sources.base import Zone
from crawlers.sources.nsec import WalkLimits, ZoneWalks
from crawlers.sources.nsec_records import encode_labels, labels_of, read_denial, successor
from crawlers.sources.transfers import Transfers
from tests.crawlers.engine.scripted import CLOSE, HOLD, Scripted, framed, rrset
from tests.crawlers.enumeration.signed_zones import Signed
from tests.examples import examples

ZONE = "alder.test"
QUICK = WalkLimits(silence_s=0.3, whole_s=5.0)
HOST = ("A",)
NODES = {
    "www": ("A", "AAAA"),
    "six": ("AAAA",),
    "alias": ("CNAME",),
    "text": ("TXT",),
    "a.deep.empty": HOST,
    "*.wild": HOST,
    "under_score": HOST,
    "secure": ("NS", "DS"),
    "insecure": ("NS",),
    "insecured": HOST,
    "zz": HOST,
}


def serve(zone, edit=None):
    return lambda query: [framed(zone.answer(query, edit))]


def walk(*servers, zones=(ZONE,), limits=QUICK, config=None, opt_out=()):
    addresses = tuple(Server(s.address, s.port) for s in servers)
    source = ZoneWalks(limits, frozenset(opt_out))
    with Engine([Server("127.0.0.1", 5399)], config) as engine:
        found = list(source.harvest([Zone(z, addresses) for z in zones], engine))
    return {h.domain: h for h in found}


def walk_one(script, **options):
    with Scripted(script) as server:
        return walk(server, **options)[ZONE]


def test_a_signed_zone_is_walked_to_its_end():
    zone = Signed(ZONE, NODES)
    with Scripted(serve(zone)) as server:
        found = walk(server)[ZONE]
    assert (found.status, found.complete, found.wildcard) == ("OK", True, True)
    assert set(found.names) == zone.expected()
    assert len(found.names) == 9
    # One question per name, and one more at each of two delegations.
    assert found.queries == len(server.queries) == len(zone.chain) + 1
    assert server.connections == 1
    assert all(q.ednsflags & dns.flags.DO for q in server.queries)
    assert not any(q.flags & dns.flags.RD for q in server.queries)


LABEL = st.text("abcXYZ059-_", min_size=1, max_size=4) | st.sampled_from(["*", "a" * 63])
OWNER = st.lists(LABEL, min_size=1, max_size=3).map(".".join)
TYPES = st.sampled_from(
    [("A",), ("A", "AAAA"), ("CNAME",), ("TXT",), ("NS",), ("NS", "DS"), ("MX",)]
)


@settings(max_examples=examples(60), deadline=None)
@given(st.dictionaries(OWNER, TYPES, max_size=12))
def test_any_zone_gives_all_its_names(nodes):
    # dnspython's server never sees two owners that differ in case only.
    nodes = {owner.lower(): types for owner, types in nodes.items()}
    nodes = {o: t for o, t in nodes.items() if not (o.startswith("*") and "NS" in t)}
    zone = Signed(ZONE, nodes)
    found = walk_one(serve(zone))
    assert (found.status, set(found.names)) == ("OK", zone.expected()), nodes


def test_a_server_that_answers_once_per_connection_is_asked_on():
    zone = Signed(ZONE, NODES)
    with Scripted(lambda query: [framed(zone.answer(query)), CLOSE]) as server:
        found = walk(server)[ZONE]
    assert (found.status, set(found.names)) == ("OK", zone.expected())
    assert server.connections == len(zone.chain) + 1


def fail_after(zone, n, failure):
    """A script that answers so many questions, then fails."""
    left = iter(range(n))

    def script(query):
        return [framed(zone.answer(query))] if next(left, None) is not None else failure(query)

    return script


def with_rcode(rcode):
    def failure(query):
        message = dns.message.make_response(query)
        message.set_rcode(rcode)
        return [framed(message)]

    return failure


def with_wrong_id(query):
    query.id ^= 1
    return [framed(Signed(ZONE, NODES).answer(query))]


def with_other_question(query):
    other = dns.message.make_query("other.alder.test.", "NSEC", id=query.id, want_dnssec=True)
    return [framed(Signed(ZONE, NODES).answer(other))]


def with_garbage(query):
    good = Signed(ZONE, NODES).answer(query).to_wire()
    return [framed(good[: len(good) // 2])]


FAILURES = {
    "refused": (with_rcode(dns.rcode.REFUSED), "REFUSED"),
    "servfail": (with_rcode(dns.rcode.SERVFAIL), "SERVFAIL"),
    "wrong id": (with_wrong_id, "MISMATCH"),
    "other question": (with_other_question, "MISMATCH"),
    "garbage": (with_garbage, "MALFORMED"),
    "closes": (lambda _: [CLOSE], "REFUSED"),
    "says nothing": (lambda _: [HOLD], "TIMEOUT"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_another_server_goes_on_where_one_failed(case):
    failure, reason = FAILURES[case]
    zone = Signed(ZONE, NODES)
    with Scripted(fail_after(zone, 5, failure)) as bad, Scripted(serve(zone)) as good:
        found = walk(bad, good)[ZONE]
        alone = walk_one(fail_after(zone, 5, failure))
        never = walk_one(failure)
    assert (found.status, set(found.names)) == ("OK", zone.expected())
    assert found.failed == {reason: 1}
    assert len(good.queries) < len(zone.chain)
    assert (alone.status, alone.complete, alone.failed) == ("TRUNCATED", False, {reason: 1})
    assert set(alone.names) < zone.expected()
    assert alone.names
    assert (never.status, never.names, never.failed) == (reason, (), {reason: 1})


def replace_denials(*records):
    def edit(message):
        for section in (message.answer, message.authority):
            section[:] = [r for r in section if r.rdtype != dns.rdatatype.NSEC]
        message.authority += records

    return edit


def test_hashed_names_are_named_as_such():
    hashed = rrset(
        f"0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.{ZONE}.",
        "NSEC3",
        "1 1 12 aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr A RRSIG",
    )
    found = walk_one(serve(Signed(ZONE, NODES), replace_denials(hashed)))
    assert (found.status, found.names, found.queries) == ("NSEC3", (), 1)


def test_an_unsigned_zone_costs_two_questions():
    found = walk_one(serve(Signed(ZONE, NODES), replace_denials()))
    assert (found.status, found.names, found.queries) == ("UNSIGNED", (), 2)


def test_a_server_that_knows_nothing_of_the_zone_is_left():
    missing = walk_one(with_rcode(dns.rcode.NXDOMAIN))

    def refer(query):
        message = dns.message.make_response(query)
        message.authority.append(rrset("test.", "NS", "ns.test."))
        return [framed(message)]

    assert missing.status == "NXDOMAIN"
    assert walk_one(refer).status == "REFUSED"


def lie(make):
    """A server that makes a record for each question: ``make(name, exists)`` gives its text."""
    zone = Signed(ZONE, NODES)

    def script(query):
        name = query.question[0].name
        owner, data = make(name, name in zone.nodes)
        message = dns.message.make_response(query)
        message.authority.append(dns.rrset.from_text(owner, 300, "IN", "NSEC", data))
        return [framed(message)]

    return script


LIARS = {
    # RFC 9824: every name exists, with nothing but the proof.
    "compact": lambda name, exists: (name, f"\\000.{name} {'A ' * exists}RRSIG NSEC"),
    # RFC 4470: from right before a name to right behind it.
    "minimal": lambda name, exists: (
        name if exists else name.parent(),
        f"{dns.name.Name((name.labels[0] + bytes(1), *name.labels[1:]))} RRSIG NSEC"
        if not exists
        else f"\\000.{name} A RRSIG NSEC",
    ),
}


@pytest.mark.parametrize("case", LIARS)
def test_records_made_for_the_question_end_the_walk(case):
    found = walk_one(lie(LIARS[case]))
    assert (found.status, found.queries, found.complete) == ("MINIMAL", 2, False)


def chain(links):
    """A server with these NSEC records: name to the next."""

    def script(query):
        name = query.question[0].name
        message = dns.message.make_response(query)
        message.answer.append(
            dns.rrset.from_text(name, 300, "IN", "NSEC", f"{links(str(name))} A RRSIG NSEC")
        )
        return [framed(message)]

    return script


def test_a_chain_that_goes_in_circles_ends():
    links = {f"{ZONE}.": f"b.{ZONE}.", f"b.{ZONE}.": f"c.{ZONE}.", f"c.{ZONE}.": f"b.{ZONE}."}
    found = walk_one(chain(links.get))
    assert (found.status, found.queries) == ("LOOP", 3)
    assert found.names == (ZONE, f"b.{ZONE}", f"c.{ZONE}")
    assert walk_one(chain(lambda _: f"b.{ZONE}.")).status == "LOOP"


@pytest.mark.parametrize("target", ["other.test.", "test.", ".", "xalder.test."])
def test_a_chain_that_leaves_the_zone_ends(target):
    found = walk_one(chain(lambda _: target))
    assert (found.status, found.names, found.complete) == ("OUTSIDE", (ZONE,), False)


def test_an_endless_chain_ends_at_its_budget():
    def count_on(name):
        number = 0 if name == f"{ZONE}." else int(name[1:7]) + 1
        return f"n{number:06d}.{ZONE}."

    found = walk_one(chain(count_on), limits=WalkLimits(queries=150))
    assert (found.status, found.queries, len(found.names)) == ("BUDGET", 150, 150)


def test_who_opted_out_is_not_walked():
    zone = Signed(ZONE, NODES)
    with Scripted(serve(zone)) as server:
        found = walk(server, opt_out={ZONE})[ZONE]
        below = walk(server, opt_out={f"deep.empty.{ZONE}"})[ZONE]
    assert (found.status, found.names, found.queries) == ("OPTED_OUT", (), 0)
    assert set(below.names) == zone.expected() - {f"a.deep.empty.{ZONE}"}


def test_zones_that_cannot_be_asked_are_skipped():
    found = walk(zones=(ZONE, "x" * 64))
    assert [h.status for h in found.values()] == ["SKIPPED", "SKIPPED"]


def test_walks_keep_to_the_limit_per_server():
    zones = [f"z{i}.test" for i in range(12)]
    signed = {z: Signed(z, {"a": HOST, "b": HOST}) for z in zones}

    def script(query):
        zone = query.question[0].name.to_text(omit_final_dot=True).split(".")[-2]
        return [framed(signed[f"{zone}.test"].answer(query))]

    with Scripted(script) as server:
        found = walk(server, zones=zones, config=EngineConfig(rate_per_server=30))
    assert {h.status for h in found.values()} == {"OK"}
    times = sorted(at for at, _ in server.asked)
    assert len(times) == 36
    assert max(sum(1 for t in times if s <= t < s + 1) for s in times) <= 32
    assert time.monotonic() - times[0] < 5


OCTETS = st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=4)


@given(OCTETS, OCTETS)
def test_names_sort_as_dnspython_sorts_them(one, two):
    first, second = (dns.name.Name([*n, b""]).canonicalize() for n in (one, two))
    a, b = (labels_of(Names(n.to_wire()).read(0, 255)[0]) for n in (first, second))
    assert (a < b, a == b) == (first < second, first == second)
    assert encode_labels(a) == first.to_wire()


@given(OCTETS, OCTETS)
def test_the_successor_is_behind_a_name_and_all_below_it(labels, below):
    here = tuple(label.lower() for label in labels)
    behind = successor(here)
    assert behind is not None
    assert here < (*here, *below) < behind
    longest = (*here[:-1], b"a" * 63)
    assert longest < successor(longest) < (*here[:-1], b"b")
    assert successor((b"test", b"\xff" * 63)) is None


@settings(max_examples=examples(300))
@given(st.binary(max_size=200), st.integers(0, 3), st.integers(0, 3))
def test_noise_is_malformed_or_harmless(noise, n_answers, n_authorities):
    header = struct.pack("!6H", 7, 0x8400, 0, n_answers, n_authorities, 0)
    try:
        denial = read_denial(header + noise, 12)
    except Malformed:
        return
    assert len(denial.links) <= n_answers + n_authorities


FLIPS = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=4)


@settings(max_examples=examples(60), deadline=None)
@given(FLIPS)
def test_replies_that_lie_end_with_a_status(flips):
    zone = Signed(ZONE, NODES)

    def script(query):
        data = bytearray(zone.answer(query).to_wire())
        for position, value in flips:
            data[2 + position % (len(data) - 2)] = value
        return [framed(bytes(data))]

    found = walk_one(script, limits=WalkLimits(silence_s=0.2, queries=50))
    assert found.status
    assert all(name == ZONE or name.endswith("." + ZONE) for name in found.names)


NSD = shutil.which("nsd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
NSD_CONFIG = """server:
  ip-address: 127.0.0.1@{port}
  username: ""
  chroot: ""
  zonesdir: "{folder}"
  database: ""
  pidfile: "{folder}/nsd.pid"
  xfrdfile: "{folder}/xfrd.state"
  xfrdir: "{folder}"
  zonelistfile: "{folder}/zone.list"
  server-count: 1
remote-control:
  control-enable: no
zone:
  name: {zone}
  zonefile: zone.txt
  provide-xfr: 127.0.0.0/8 NOKEY
"""


@pytest.fixture
def real_server(tmp_path):
    """NSD with a zone that looks signed; it checks no signature."""
    if NSD is None:
        pytest.skip("NSD is not installed")
    zone = Signed(ZONE, NODES | {f"host{i:03d}": HOST for i in range(300)})
    (tmp_path / "zone.txt").write_text(zone.to_text())
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    (tmp_path / "nsd.conf").write_text(NSD_CONFIG.format(port=port, folder=tmp_path, zone=ZONE))
    command = [NSD, "-d", "-c", str(tmp_path / "nsd.conf")]
    with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            await_port(port, process)
            yield zone, SimpleNamespace(address="127.0.0.1", port=port)
        finally:
            process.terminate()


def await_port(port, process):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
    raise AssertionError("NSD did not start")


def test_a_real_server_gives_the_same_by_walk_and_by_transfer(real_server):
    zone, server = real_server
    found = walk(server, limits=WalkLimits(silence_s=10, whole_s=60))[ZONE]
    assert (found.status, set(found.names)) == ("OK", zone.expected())
    assert found.wildcard
    whole = Zone(ZONE, (Server(server.address, server.port),))
    with Engine(whole.servers) as engine:
        (given,) = Transfers().harvest([whole], engine)
    assert (given.status, set(given.names)) == ("OK", zone.expected())
