"""From packets to the ISP table: a cloud and two ISPs as namespaces, and one of them failing."""

from ipaddress import ip_address, ip_network

import pytest

from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses
from analysis.campaigns.routes.downstream_isp import find_isps
from core.clock import SystemClock
from lake.campaigns import rows_of_result, table_of
from probes.kinds import traceroute
from probes.records import Target
from tests.probes.netlab import Lab, need_namespaces

CLIENTS = {"a": "4.1.1.2", "b": "4.2.1.2", "d": "4.3.1.2"}
ORIGINS = {"52.0.0.0/16": (64500,), "4.1.0.0/16": (1,), "4.2.0.0/16": (2,), "4.3.0.0/16": (3,)}


@pytest.fixture(scope="module")
def lab():
    """vm - edge - (one | two) - clients; d hangs on both, and edge prefers one."""
    need_namespaces()
    with Lab("i") as lab:
        for name in ("vm", *CLIENTS):
            lab.host(name)
        for name in ("edge", "one", "two"):
            lab.host(name, router=True)
        lab.link(("vm", "52.0.0.2/24"), ("edge", "52.0.0.1/24"))
        lab.device = lab.link(("edge", "4.1.0.1/30"), ("one", "4.1.0.2/30"))[0]
        lab.link(("edge", "4.2.0.1/30"), ("two", "4.2.0.2/30"))
        lab.link(("one", "4.1.1.1/30"), ("a", "4.1.1.2/30"))
        lab.link(("two", "4.2.1.1/30"), ("b", "4.2.1.2/30"))
        lab.link(("one", "4.1.2.1/30"), ("d", "4.1.2.2/30"))
        lab.link(("two", "4.2.2.1/30"), ("d", "4.2.2.2/30", "4.3.1.2/32"))
        for name, way in {
            "vm": "52.0.0.1",
            "one": "4.1.0.1",
            "two": "4.2.0.1",
            "a": "4.1.1.1",
            "b": "4.2.1.1",
            "d": "4.2.2.1",
        }.items():
            lab.route(name, "default", "via", way)
        lab.route("one", "4.3.1.2/32", "via", "4.1.2.2")
        lab.route("two", "4.3.1.2/32", "via", "4.2.2.2")
        lab.route("edge", "4.1.1.0/24", "via", "4.1.0.2")
        lab.route("edge", "4.2.1.0/24", "via", "4.2.0.2")
        lab.route("edge", "4.3.1.2/32", "via", "4.1.0.2", "metric", "10")
        lab.route("edge", "4.3.1.2/32", "via", "4.2.0.2", "metric", "20")
        yield lab


def within(table, address):
    return next((v for p, v in table.items() if ip_address(address) in ip_network(p)), ())


def measure(lab, number):
    config = traceroute.Config(
        attempts=2, timeout_s=0.4, silent_hops=2, window=4, allow=("4.0.0.0/8",)
    )
    rows = []
    for name, address in CLIENTS.items():
        path = lab.inside("vm", lambda a=address: traceroute.run(Target(a), config, SystemClock()))
        place = {
            "round": number,
            "vantage": "vm",
            "target": name,
            "provider": "acme",
            "region": "east",
            "zone": "z1",
            "direction": "from",
        }
        kind, own = rows_of_result(path.as_json(), place)
        assert kind == "paths"
        rows += own
    book = Addresses(
        lambda own: [within(ORIGINS, a) for a in own],
        lambda own: [("acme", "east") if a.startswith("52.") else ("", "") for a in own],
        cloud_ases={"acme": frozenset({64500})},
    )
    return find_isps(table_of("paths", rows), book)


def test_the_table_is_the_truth_and_a_failure_shows_what_was_lost(lab):
    before = measure(lab, 0)
    assert {r["end"]: (r["isp"], r["reached"]) for r in before.to_pylist()} == {
        "a": (1, True),
        "b": (2, True),
        "d": (1, True),
    }
    (row,) = diversity.diversity_table(before)
    assert (row["isps"], row["certain"], row["largest"]) == (2, 3, 1)
    assert row["effective"] == pytest.approx(9 / 5)
    one, _ = diversity.isp_failures(before)
    assert (one["isp"], one["cut_off"]) == (1, 2)
    lab.ip("-n", lab.full("edge"), "link", "set", lab.device, "down")
    after = measure(lab, 1)
    assert {r["end"]: r["isp"] for r in after.to_pylist()} == {"a": None, "b": 2, "d": 2}
    found = diversity.compare_routes(before, after)
    assert [(r["isp"], r["ends"]) for r in found["gone"]] == [(1, 2)]
    assert [(r["end"], r["isps"]) for r in found["lost"]] == [("a", [1])]
