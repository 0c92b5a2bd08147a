import json
import socket
import subprocess
import sys
import time

import dns.message
import dns.query
import pytest

from core.errors import BadInput
from tasks.surveys.hierarchy import build_hierarchy
from testbed.hierarchy.generation import generate_hierarchy
from testbed.hierarchy.internet import (
    Cut,
    Expected,
    Hierarchy,
    Nameservers,
    ServerBehaviour,
    Status,
    Zone,
)
from testbed.hierarchy.server import serving
from testbed.server.answers import NOERROR, NXDOMAIN, REFUSED
from tests import forks
from tests.sites import free_port

ROOT, TLD, OWN, OTHER = "127.61.0.1", "127.61.0.2", "127.61.0.3", "127.61.0.4"


def small_world():
    world = Hierarchy((ROOT,), held={ROOT: [""], TLD: ["test"], OWN: ["a.test"], OTHER: []})
    root, tld = Zone("", ("a.root",)), Zone("test", ("ns.test",))
    own = Zone("a.test", ("ns.a.test",))
    world.zones = {"": root, "test": tld, "a.test": own}
    root.delegate("test", Cut(("ns.test",), (("ns.test", "A", TLD),)))
    tld.delegate("a.test", Cut(("ns.a.test",), (("ns.a.test", "A", OWN),)))
    own.add("www.a.test", "A", "198.18.0.1")
    own.add("also.a.test", "CNAME", "www.a.test")
    own.add("away.a.test", "CNAME", "none.test")
    own.add("deep.inner.a.test", "A", "198.18.0.2")
    own.add("*.wild.a.test", "A", "198.18.0.3")
    own.add("old.a.test", "DNAME", "a.test")
    own.add("one.a.test", "CNAME", "two.a.test")
    own.add("two.a.test", "CNAME", "one.a.test")
    return world


@pytest.mark.parametrize(
    ("name", "rtype", "expected"),
    [
        ("www.a.test", "A", Expected(Status.NOERROR, (), ("198.18.0.1",))),
        ("www.a.test", "TXT", Expected(Status.NODATA)),
        ("inner.a.test", "A", Expected(Status.NODATA)),
        ("no.a.test", "A", Expected(Status.NXDOMAIN)),
        ("test", "A", Expected(Status.NODATA)),
        ("nowhere", "A", Expected(Status.NXDOMAIN)),
        ("also.a.test", "A", Expected(Status.NOERROR, ("www.a.test",), ("198.18.0.1",))),
        ("away.a.test", "A", Expected(Status.NXDOMAIN, ("none.test",))),
        ("any.wild.a.test", "A", Expected(Status.NOERROR, (), ("198.18.0.3",))),
        ("wild.a.test", "A", Expected(Status.NODATA)),
        ("www.old.a.test", "A", Expected(Status.NOERROR, ("www.a.test",), ("198.18.0.1",))),
    ],
)
def test_the_truth_follows_the_rules_of_dns(name, rtype, expected):
    assert small_world().truth(name, rtype) == expected


def test_a_circle_of_aliases_and_a_zone_without_servers_have_a_truth():
    world = small_world()
    assert world.truth("one.a.test", "A").status is Status.CNAME_LOOP
    world.zones["a.test"].unresolvable = True
    assert world.truth("www.a.test", "A").status is Status.SERVFAIL


def test_each_server_answers_for_its_zones_only():
    servers = Nameservers(small_world())
    referral = servers.ask(ROOT, "www.a.test", "A")
    assert not referral.authoritative
    assert referral.authorities == (("test", "NS", "ns.test"),)
    assert referral.additionals == (("ns.test", "A", TLD),)
    assert servers.ask(TLD, "www.a.test", "A").authorities == (("a.test", "NS", "ns.a.test"),)
    answer = servers.ask(OWN, "also.a.test", "A")
    assert [row[1] for row in answer.answers] == ["CNAME", "A"]
    assert servers.ask(OWN, "www.b.test", "A").code == REFUSED
    assert servers.ask(OWN, "no.a.test", "A").code == NXDOMAIN


def test_server_behaviours_change_replies():
    world = small_world()
    for manner in (ServerBehaviour.SILENT, ServerBehaviour.CLOSED):
        world.behaviours[OWN] = manner
        assert Nameservers(world).ask(OWN, "www.a.test", "A") is None
    world.behaviours[OWN] = ServerBehaviour.UPWARD
    upward = Nameservers(world).ask(OWN, "www.a.test", "A")
    assert upward.authorities == (("", "NS", "a.root"),)
    assert not upward.authoritative


def test_a_plan_is_the_same_for_the_same_seed_and_holds_every_kind_of_fault():
    one, two = generate_hierarchy(200, 3, seed=5), generate_hierarchy(200, 3, seed=5)
    assert one.questions == two.questions
    assert one.zones.keys() == two.zones.keys()
    assert set(one.behaviours.values()) == set(ServerBehaviour) - {ServerBehaviour.PLAIN}
    statuses = {one.truth(name, rtype).status for name, rtype in one.questions}
    assert statuses == set(Status)


def test_servers_answer_on_their_own_addresses_by_udp_and_tcp():
    world = small_world()
    world.behaviours[TLD] = ServerBehaviour.TRUNCATING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        trial.bind((ROOT, 0))
        port = trial.getsockname()[1]
    question = dns.message.make_query("www.old.a.test", "A")
    with serving(world, port):
        reply = dns.query.udp(question, OWN, 2, port)
        assert reply.rcode() == NOERROR
        kinds = [rrset.rdtype.name for rrset in reply.answer]
        assert kinds == ["DNAME", "CNAME", "A"]
        cut_short = dns.query.udp(question, TLD, 2, port)
        assert cut_short.flags & dns.flags.TC
        assert not cut_short.authority
        assert dns.query.tcp(question, TLD, 2, port).authority


def test_command_prints_the_truth_and_serves_until_terminated(tmp_path):
    network = f"127.{20 + time.time_ns() % 40}"
    words = ("--zones", "6", "--names", "1", "--network", network, "--port", str(free_port()))
    command = [sys.executable, str(forks.ROOT / "manage.py"), "testbed", "hierarchy", "--json"]
    with forks.Process(
        [*command, *words], env=forks.bare_environment(tmp_path), stdout=subprocess.PIPE
    ) as server:
        document = json.loads(server.stdout.readline())
        address, port = document["roots"][0].split(":")
        tld = next(q["name"].rpartition(".")[2] for q in document["questions"] if "." in q["name"])
        query = dns.message.make_query(f"www.any.{tld}", "A")
        reply = dns.query.udp(query, address, 10, int(port))
        server.terminate()
        assert server.wait(20) == 0
    assert reply.authority or reply.answer
    assert {q["status"] for q in document["questions"]} >= {"NOERROR", "NXDOMAIN", "NODATA"}
    assert document["zones"] > 6


@pytest.mark.parametrize("more", [{"network": "10.0"}, {"network": "127.300"}, {"zones": 0}])
def test_hierarchy_requires_loopback_and_zones(more):
    with pytest.raises(BadInput):
        build_hierarchy(**{"zones": 2, "names": 1, **more})
