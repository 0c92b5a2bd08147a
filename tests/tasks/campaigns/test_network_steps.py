"""Orders at public networks step by step: what is paid, what is waited for, and what is ended."""

import pytest

from core.errors import BadInput, Unavailable
from tasks.campaigns import commands
from tasks.networks import celery_tasks, rate_state
from tasks.networks.rate_state import Work
from tests.probes.networks import atlas_ping, ping_measurement
from tests.tasks.campaigns.field import join, rows_in_lake, targets
from tests.tasks.campaigns.test_public_networks import PING, Crowd, measured

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lake")]


def begun(network, source="globalping", schedule=PING, n_targets=1, **more):
    """A campaign up to the moment at which its first order has gone out."""
    crowd = measured(source, schedule, n_targets, **more)
    while not crowd.orders:
        crowd.tick()
        crowd.clock.sleep(5)
    return crowd, *crowd.orders[0], celery_tasks.api_of(source, crowd.clock)


def test_a_worker_that_dies_while_it_creates_pays_once(network):
    """Whether the network took it, nobody knows: it is a row that says so, and no second test."""
    crowd, point, order, api = begun(network)
    work = Work(attempt=order.attempt)
    work.tests["0"] = {"name": "", "etag": "", "late_s": 0.0}
    rate_state.write(rate_state.path_of(order), work)
    assert celery_tasks.step(point, order, api) is None
    (row,) = rows_in_lake(crowd.campaign)
    assert (row["status"], network.bodies) == ("NETWORK", [])
    assert "nothing is paid twice" in row["reason"]


def test_what_cannot_be_kept_is_not_created(network, tmp_path):
    crowd, point, order, api = begun(network)
    crowd.clock.sleep(60)
    folder = rate_state.path_of(order).parent
    celery_tasks.step(point, order, api)
    assert len(network.bodies) == 1
    for path in folder.glob(f"{order.unit}*"):
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder can be made here, as on a full disk")
    with pytest.raises(Unavailable, match="cannot write"):
        celery_tasks.step(point, order, api)
    assert len(network.bodies) == 1


def test_a_stopped_campaign_creates_nothing_more_and_ends_what_runs(network):
    network.documents["/api/v2/measurements/1001/results/"] = []
    network.documents["/api/v2/measurements/1001/"] = {"status": {"id": 2}}
    crowd, point, order, api = begun(network, "atlas", n_targets=3, detail={"probe": 6123})
    while not network.bodies:
        crowd.clock.sleep(1)
        celery_tasks.step(point, order, api)
    made = len(network.bodies)
    assert made < 3
    assert commands.stop(crowd.campaign)
    crowd.clock.sleep(60)
    assert celery_tasks.step(point, order, api) is None
    assert celery_tasks.step(point, order, api) is None
    assert len(network.bodies) == made
    assert network.ended == [f"/api/v2/measurements/{1001 + i}/" for i in range(made)]


def test_a_network_that_asks_to_wait_is_left_alone_by_all(network):
    """One worker was told; another one's order does not ask before the time has come."""
    for i in range(1, 9):
        network.documents[f"/v1/measurements/gp{i}"] = ping_measurement(7.0)
    for i in range(1, 9):
        network.documents[f"/v1/measurements/gp{i}"] = ping_measurement(7.0)
    network.faults["/v1/measurements"] = [(429, {"X-RateLimit-Reset": "30"}, {})] * 8
    join("elsewhere", source="globalping", country="FR")
    join("somewhere", source="globalping", country="DE")
    # A slot of ten seconds can wait no longer than its window; one of a minute can.
    long = {**PING, "activities": [{**PING["activities"][0], "slot_s": 50.0}]}
    crowd = Crowd(
        "globalping", schedule=long, targets=targets(1), vantages=["somewhere", "elsewhere"]
    )
    crowd.start()
    while not network.asked:
        crowd.step(1.0)
    first = network.asked[-1]
    assert first == ("POST", "/v1/measurements")
    for _ in range(20):
        crowd.step(1.0)
    assert network.asked == [first]
    network.faults.clear()
    done = crowd.run()
    assert sorted(r["values"] for r in rows_in_lake(done)) == [[7.0], [7.0]]
    assert min(r["late_s"] for r in rows_in_lake(done)) > 1
    assert len(network.bodies) == 3


def test_credits_that_were_predicted_are_those_that_are_spent(network):
    """By the prices that the networks document, counted by a server that keeps to them."""
    schedule = {
        **PING,
        "rounds": 3,
        "activities": [
            {"name": "ping", "probe": "icmp-echo", "options": {"count": 4}, "slot_s": 2.0},
            {"name": "trace", "probe": "traceroute", "slot_s": 2.0, "times": 2},
        ],
    }
    for i in range(1, 99):
        network.documents[f"/v1/measurements/gp{i}"] = ping_measurement(7.0)
        network.documents[f"/api/v2/measurements/{1000 + i}/results/"] = [atlas_ping(7.0)]
    for source in ("globalping", "atlas"):
        detail = {"probe": 6123}
        join(source, source=source, country="DE", detail=detail if source == "atlas" else {})
        crowd = Crowd(source, schedule=schedule, targets=targets(2), vantages=[source])
        done = crowd.start() and crowd.run()
        assert done.predicted["credits"] == {source: network.spent[source]}
        assert network.spent[source] > 0


def test_what_a_network_has_not_is_refused_before_it_starts(network):
    schedule = {**PING, "activities": [{"name": "get", "probe": "throughput", "slot_s": 2.0}]}
    with pytest.raises(BadInput, match="Globalping has no throughput"):
        measured("globalping", schedule)
