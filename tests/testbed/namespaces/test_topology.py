"""The truth of the laboratory's plan, which needs no privileges."""

import ipaddress
import json
from io import StringIO

import pytest
from django.core.management import call_command

from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.ranges import read_ranges
from testbed.namespaces.random_topology import draw_topology
from testbed.namespaces.six_by_four import six_by_four
from testbed.namespaces.truth import (
    Truth,
    isps_by_zone,
    origin_lines,
    range_file,
    region_prefixes,
)

PLAN = six_by_four()
TRUTH = Truth.of(PLAN)


def test_all_ends_are_connected_by_paths_of_equal_delay():
    assert len(PLAN.of_kind("vantage")) == 6
    assert len({n.region for n in PLAN.of_kind("instance")}) == 4
    for vantage in PLAN.of_kind("vantage"):
        for instance in PLAN.of_kind("instance"):
            for a, b in ((vantage.name, instance.name), (instance.name, vantage.name)):
                ways = TRUTH.paths(a, b)
                delays = {sum(line.delay_ms for line in TRUTH.lines(way)) for way in ways}
                assert len(delays) == 1
                inside = {PLAN.by_name[n].kind for way in ways for n in TRUTH.nodes(a, way)[:-1]}
                assert inside == {"router"}


def test_the_edge_carries_nobody_elses_packets():
    for vantage in PLAN.of_kind("vantage"):
        for instance in PLAN.of_kind("instance"):
            for way in TRUTH.paths(vantage.name, instance.name):
                names = TRUTH.nodes(vantage.name, way)
                stubs = [n for n in names if PLAN.by_name[n].stub]
                assert stubs == [f"{vantage.name}-gw", f"{instance.name}-gw"]


def test_addresses_are_public_and_each_is_of_one_node():
    seen = set()
    for number, link in enumerate(PLAN.links):
        for node in (link.first, link.second):
            for family in (4, 6):
                address = PLAN.address(number, node, family)
                assert ipaddress.ip_address(address).is_global
                assert address not in seen
                seen.add(address)


def test_its_tables_are_read_by_the_readers_of_real_ones():
    table = OriginTable.build(read_origins(origin_lines(PLAN).encode()))
    for number, link in enumerate(PLAN.links):
        for family in (4, 6):
            asn = PLAN.blocks[link.block]
            assert table.find(PLAN.address(number, link.first, family)) == ((asn,) if asn else ())
    found = read_ranges("aws", range_file(PLAN).encode())
    assert len(found.entries) == len(region_prefixes(PLAN)) == 16


def test_isps_and_what_fails_with_one():
    assert isps_by_zone(TRUTH)["lab-us", "a"] == {64_501, 64_502, 64_505}
    broken = Truth.of(PLAN, PLAN.links_of_as(64_505))
    lost = {v.name for v in PLAN.of_kind("vantage") if not broken.reachable(v.name, "us-a")}
    assert lost == {"mumbai"}
    assert all(64_505 not in own for own in isps_by_zone(broken).values())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("isps", "width"), [(3, 4), (1, 6), (5, 2)])
def test_random_topologies_are_valid_and_reproducible(seed, isps, width):
    plan = draw_topology(seed, isps, width)
    assert plan == draw_topology(seed, isps, width)
    truth = Truth.of(plan)
    most = 0
    for vantage in plan.of_kind("vantage"):
        for instance in plan.of_kind("instance"):
            assert truth.reachable(vantage.name, instance.name)
            ways = truth.paths(vantage.name, instance.name)
            assert len({sum(line.delay_ms for line in truth.lines(w)) for w in ways}) == 1
            most = max(most, len(ways))
    assert most == width or isps > 1
    assert set().union(*isps_by_zone(truth).values()) <= {64_501 + n for n in range(isps)}
    assert any(node.silent for node in plan.nodes) == (isps > 1)
    assert any(link.block == 0 for link in plan.links) == (isps > 2)


def test_topology_with_ipv6_only():
    plan = draw_topology(2, families=(6,))
    assert ":" in plan.home("v1")
    assert all(":" in prefix for prefix, _ in region_prefixes(plan))
    assert all(":" in line for line in origin_lines(plan).splitlines())


@pytest.mark.django_db
def test_the_command_describes_it():
    out = StringIO()
    call_command("lab", "describe", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["nodes"], len(told["pairs"])) == (41, 48)
    assert told["ability"]["words"]


@pytest.mark.django_db
def test_the_command_describes_a_random_plan():
    out = StringIO()
    call_command("lab", "describe", "--json", "--random", "3", stdout=out)
    found = json.loads(out.getvalue())
    assert (found["name"], len(found["vantages"]), len(found["instances"])) == ("drawn", 6, 8)
    assert found["origins"]
