"""From packets to the ISP table: equal to the truth, and so is what is lost when an ISP fails."""

from ipaddress import ip_address, ip_network

import pytest

from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from core.clock import SystemClock
from lake.campaigns import rows_of_result, table_of
from probes.kinds import traceroute
from probes.records import Target
from testbed.namespaces.truth import (
    exchange_prefixes,
    isps_by_zone,
    origin_lines,
    region_prefixes,
)
from tests.testbed.namespaces.conftest import everywhere

CLOCK = SystemClock()
FAILING = 64_505


@pytest.fixture(scope="module")
def allocator(lab):
    """The laboratory's own origin table, range file and exchange prefixes."""
    table = OriginTable.build(read_origins(origin_lines(lab.plan).encode()))
    ranges = [(ip_network(prefix), region) for prefix, region in region_prefixes(lab.plan)]

    def clouds(addresses):
        found = (next((r for n, r in ranges if ip_address(a) in n), "") for a in addresses)
        return [("lab", region) if region else ("", "") for region in found]

    return lambda: Addresses(
        table.find_many,
        clouds,
        exchange_prefixes(lab.plan),
        {"lab": frozenset({lab.plan.cloud_asn})},
    )


def measure(lab, number, direction):
    """Traceroutes between every instance and every vantage point, as rows of the lake."""
    plan = lab.plan
    instances, vantages = plan.of_kind("instance"), plan.of_kind("vantage")
    near, far = (instances, vantages) if direction == "from" else (vantages, instances)
    config = traceroute.Config(
        attempts=3, timeout_s=0.15, silent_hops=2, window=8, interval_s=0.002
    )

    def trace(start):
        rows = []
        for end in far:
            path = traceroute.run(Target(plan.home(end.name)), config, CLOCK)
            cloud = plan.by_name[start if direction == "from" else end.name]
            place = {"round": number, "vantage": start, "target": end.name, "provider": "lab"}
            place |= {"region": cloud.region, "zone": cloud.zone, "direction": direction}
            rows += rows_of_result(path.as_json(), place)[1]
        return rows

    found = everywhere(lab, trace, [n.name for n in near])
    return table_of("paths", [row for rows in found.values() for row in rows])


def zones_of(routes):
    rows = (r for r in routes.to_pylist() if r["isp"])
    found = {}
    for row in rows:
        found.setdefault((row["region"], row["zone"]), set()).add(row["isp"])
    return found


@pytest.fixture(scope="module")
def outward(lab, allocator):
    return find_isps(measure(lab, 0, "from"), allocator())


def test_the_isp_table_is_the_truth(lab, outward):
    rows = outward.to_pylist()
    assert len(rows) == 48
    names = {(n.region, n.zone): n.name for n in lab.plan.of_kind("instance")}
    wrong = [r for r in rows if r["isp"] != lab.truth.isp(names[r["region"], r["zone"]], r["end"])]
    assert wrong == []
    assert zones_of(outward) == isps_by_zone(lab.truth)
    table = {(r["region"], r["zone"]): r["isps"] for r in diversity.diversity_table(outward)}
    assert table == {zone: len(own) for zone, own in isps_by_zone(lab.truth).items()}


def test_inbound_path_may_have_another_isp(lab, allocator):
    inward = find_isps(measure(lab, 0, "to"), allocator()).to_pylist()
    names = {(n.region, n.zone): n.name for n in lab.plan.of_kind("instance")}
    differs = set()
    for row in inward:
        end = names[row["region"], row["zone"]]
        way = lab.truth.nodes(row["end"], lab.truth.paths(row["end"], end)[0])
        ases = [lab.plan.by_name[n].asn for n in way]
        true = next(a for a in reversed(ases) if a != lab.plan.cloud_asn)
        assert row["isp"] == true, (row, way)
        if true != lab.truth.isp(end, row["end"]):
            differs.add((row["end"], end))
    assert differs == {("sydney", "asia-a"), ("sydney", "asia-b")}


def test_an_isp_that_fails_shows_what_was_lost(lab, allocator, outward):
    before = lab.truth
    lab.fail(lab.plan.links_of_as(FAILING))
    try:
        after = find_isps(measure(lab, 1, "from"), allocator())
        truth = lab.truth
    finally:
        lab.restore()
    found = diversity.compare_routes(outward, after)
    assert {r["isp"] for r in found["gone"]} >= {FAILING}
    gone = {r["region"] for r in found["gone"] if r["isp"] == FAILING}
    assert gone == {region for (region, _), own in isps_by_zone(before).items() if FAILING in own}
    assert {(r["region"], r["end"]): r["isps"] for r in found["lost"]} == {
        (n.region, v.name): sorted(
            {
                before.isp(m.name, v.name)
                for m in lab.plan.of_kind("instance")
                if m.region == n.region
            }
        )
        for n in lab.plan.of_kind("instance")
        for v in lab.plan.of_kind("vantage")
        if not truth.reachable(v.name, n.name)
    }
    assert zones_of(after) == isps_by_zone(truth)
    # What was foretold of the failure from the routes before it.
    (told,) = (
        r
        for r in diversity.isp_failures(outward)
        if r["isp"] == FAILING and r["region"] == "lab-us"
    )
    assert told["cut_off"] == 1


def test_failed_links_are_restored(lab, allocator, outward):
    assert zones_of(find_isps(measure(lab, 2, "from"), allocator())) == zones_of(outward)
