"""A campaign that public networks measure, from its first order to its tables, on loopback."""

import json

import pytest

from core.errors import BadInput
from probes.networks import globalping, ripe_atlas
from tasks.campaigns import commands, results_receiver, scheduler
from tasks.networks import celery_tasks, enlistment
from tasks.networks.enlistment import Wanted
from tests.probes.networks import (
    LIMITS,
    PROBE,
    Series,
    atlas_ping,
    ping_measurement,
    trace_measurement,
)
from tests.tasks.campaigns.field import Field, join, rows_in_lake, targets
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign, VantagePoint

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lake")]
PING = {
    "round_s": 60,
    "rounds": 1,
    "activities": [{"name": "ping", "probe": "icmp-echo", "options": {"count": 3}, "slot_s": 2.0}],
}
TRACE = {**PING, "activities": [{"name": "trace", "probe": "traceroute", "slot_s": 2.0}]}


class Crowd(Field):
    """A field whose orders go to a network, one step after another, on its own clock."""

    def __init__(self, source, **asked):
        super().__init__(**asked)
        self.source, self.orders = source, []

    def tick(self):
        scheduler.tick(self.clock, scheduler.Outlets({self.source: self.way}, self.leave))

    def way(self, point, order, expires_s):
        self.sent.append(order)
        self.orders.append((point, order))

    def step(self, seconds=5.0):
        self.tick()
        self.clock.sleep(seconds)
        api = celery_tasks.api_of(self.source, self.clock)
        self.orders = [o for o in self.orders if celery_tasks.step(*o, api) is not None]


def measured(source, schedule=PING, n_targets=1, detail=None):
    join("somewhere", source=source, country="DE", city="Berlin", asn=3320, detail=detail or {})
    crowd = Crowd(source, schedule=schedule, targets=targets(n_targets), vantages=["somewhere"])
    crowd.start()
    return crowd


def test_a_campaign_of_globalping_ends_with_its_tables_and_keeps_what_came(network):
    network.documents["/v1/measurements/gp1"] = Series(
        ping_measurement(status="in-progress"), ping_measurement(20.0, 22.0, total=3)
    )
    network.documents["/v1/measurements/gp2"] = ping_measurement(status="offline")
    crowd = measured("globalping", n_targets=2)
    done = crowd.run()
    assert done.state == Campaign.State.FINISHED
    rows = sorted(rows_in_lake(done), key=lambda r: -len(r["values"]))
    assert [r["values"] for r in rows] == [[20.0, 22.0], []]
    assert [r["sent"] for r in rows] == [3, 1]
    assert (rows[1]["status"], rows[1]["reason"]) == ("NETWORK", "the probe went offline")
    told = selectors.tables(done)
    assert told["latency-regions"].n == 2
    raw = list((selectors.lake_root() / done.slug / "raw").glob("*.json"))
    assert json.loads(raw[0].read_text())["raw"]["0"]["type"] == "ping"
    assert "key-of-globalping" not in raw[0].read_text()
    assert len(network.bodies) == 2


def test_routes_of_atlas_stand_in_the_lake(network):
    hops = [
        {"hop": 1, "result": [{"from": "192.0.2.1", "rtt": 1.0}]},
        {"hop": 2, "result": [{"x": "*"}]},
        {"hop": 3, "result": [{"from": "8.8.8.8", "rtt": 9.0}]},
    ]
    trace = {**atlas_ping(), "type": "traceroute", "paris_id": 3, "result": hops}
    network.documents["/api/v2/measurements/1001/results/"] = Series([], [], [trace])
    network.documents["/api/v2/measurements/1001/"] = {"status": {"id": 2}}
    done = measured("atlas", TRACE, detail={"probe": 6123}).run()
    (path,) = rows_in_lake(done, "paths")
    assert [h["address"] for h in path["hops"]] == ["192.0.2.1", None, "8.8.8.8"]
    assert path["reached"]
    assert (path["vantage"], path["region"]) == ("somewhere", "region-0")
    assert network.bodies[0]["probes"][0]["value"] == "6123"


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ((429, {"X-RateLimit-Reset": "3000"}, {"error": {"message": "limit"}}), "BUSY", "limit"),
        ((500, {}, {"error": {"message": "broken"}}), "NETWORK", "broken"),
        ((202, {}, b"<html>"), "MALFORMED", "JSON"),
        ((422, {}, {"error": {"message": "No suitable probes"}}), "NOT_PERMITTED", "No suitable"),
    ],
)
def test_what_a_network_refuses_is_a_row_with_its_reason(network, fault, status, reason):
    network.faults["/v1/measurements"] = [fault]
    done = measured("globalping").run()
    (row,) = rows_in_lake(done)
    assert row["status"] == status
    assert reason in row["reason"]


def test_what_never_comes_is_a_time_out(network):
    network.documents["/v1/measurements/gp1"] = ping_measurement(status="in-progress")
    done = measured("globalping").run()
    (row,) = rows_in_lake(done)
    assert (row["status"], row["reason"]) == ("TIMEOUT", "no result in time")


def test_a_worker_that_dies_after_creating_pays_once(network):
    network.documents["/v1/measurements/gp1"] = ping_measurement(7.0)
    crowd = measured("globalping")
    while not crowd.orders:
        crowd.tick()
        crowd.clock.sleep(5)
    point, order = crowd.orders[0]
    api = celery_tasks.api_of("globalping", crowd.clock)
    while not network.bodies:
        celery_tasks.step(point, order, api)
        crowd.clock.sleep(1)
    # Another worker takes the order up, and once more when it is done.
    while celery_tasks.step(point, order, api) is not None:
        crowd.clock.sleep(1)
    assert celery_tasks.step(point, order, api) is None
    assert len(network.bodies) == 1
    assert [r["values"] for r in rows_in_lake(crowd.campaign)] == [[7.0]]


def test_traceroutes_that_fail_are_paths_without_hops(network):
    network.faults["/v1/measurements"] = [(500, {}, {})]
    done = measured("globalping", TRACE).run()
    (path,) = rows_in_lake(done, "paths")
    assert (path["status"], path["hops"]) == ("NETWORK", [])


def test_a_traceroute_of_globalping_is_a_path(network):
    network.documents["/v1/measurements/gp1"] = trace_measurement()
    (path,) = rows_in_lake(measured("globalping", TRACE).run(), "paths")
    assert [h["ttl"] for h in path["hops"]] == [1, 1, 2, 3]


def test_places_become_vantage_points_once_spread_over_countries(network):
    places = [{**PROBE, "asn": n} for n in (1, 1, 2)] + [
        {**PROBE, "country": "JP", "city": "Tokyo"}
    ]
    network.documents["/v1/probes"] = [{"location": p} for p in places]
    found = enlistment.enlist(Wanted("globalping", count=2))
    assert [p.name for p in found] == ["globalping-de-berlin-1", "globalping-jp-tokyo-3320"]
    assert enlistment.enlist(Wanted("globalping", count=2))[0].pk == found[0].pk
    assert found[1].state == VantagePoint.State.JOINED
    assert (found[0].lat, found[0].city, found[0].provider) == (52.52, "Berlin", PROBE["network"])
    with pytest.raises(BadInput, match="no probe there"):
        enlistment.enlist(Wanted("globalping", "AQ"))


def test_probes_of_atlas_become_vantage_points_with_their_number(network):
    network.documents["/api/v2/probes/"] = {
        "results": [
            {
                "id": 6123,
                "asn_v4": 3320,
                "country_code": "DE",
                "geometry": {"type": "Point", "coordinates": [13.4, 52.5]},
            },
            {"id": "odd"},
        ]
    }
    (point,) = enlistment.enlist(Wanted("atlas", "de", count=5))
    assert (point.name, point.detail, point.lon) == ("atlas-6123", {"probe": 6123}, 13.4)
    assert "country_code=DE" in network.asked[0][1]


def test_credits_are_told_before_anything_is_created(network):
    network.documents["/v1/limits"] = LIMITS
    network.documents["/api/v2/credits/"] = {"current_balance": 70}
    assert enlistment.credits("globalping")["credits"] == 9000
    assert enlistment.credits("atlas")["credits"] == 70
    assert network.bodies == []


def test_ways_of_both_networks_are_known():
    for source in ("globalping", "atlas"):
        assert celery_tasks.dispatch.WAYS[source] is celery_tasks.send
    assert {globalping.NETWORK, ripe_atlas.NETWORK} == set(celery_tasks.NETWORKS)
    assert results_receiver.store_result
    assert commands.start


def test_what_a_probe_of_atlas_could_not_do_is_told_and_second_answers_are_none():
    def told(probe, **entry):
        usual = {"timestamp": 1_700_000_000, "dst_addr": "8.8.8.8", "sent": 3, **entry}
        (row,) = ripe_atlas.results({"results": [usual]}, probe, "dns.google")
        return row

    twice = told("icmp-echo", result=[{"rtt": 9.0}, {"rtt": 9.5, "dup": 1}, {"x": "*"}])
    assert (twice["sent"], twice["values"], twice["status"]) == (3, [9.0], "OK")
    error = [{"error": "name resolution failed: no such name"}]
    nameless = told("traceroute", dst_addr="", result=error)
    assert (nameless["status"], nameless["reason"]) == ("NO_NAME", error[0]["error"])
    mute = told("traceroute", result=[{"error": "sendto failed: Network is unreachable"}])
    assert (mute["status"], mute["replies"]) == ("UNREACHABLE", [])
    hops = [
        {
            "hop": 1,
            "result": [
                {"from": "192.0.2.1", "rtt": 1.0},
                {"from": "8.8.8.8", "late": 1},
                {"from": "192.0.2.1", "rtt": 2.0, "dup": True},
            ],
        }
    ]
    assert [r["address"] for r in told("traceroute", result=hops)["replies"]] == ["192.0.2.1"]
