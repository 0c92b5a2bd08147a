"""Clients of public networks against servers that speak their API on loopback."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import FakeClock
from core.errors import BadInput, Unavailable
from probes.sources import atlas, globalping
from probes.sources.web import LONGEST_PAUSE_S, Api, Busy, Garbled, Refused
from tests.probes.networks import (
    ATLAS_KEY,
    GLOBALPING_KEY,
    LIMITS,
    PROBE,
    Network,
    Series,
    atlas_ping,
    ping_measurement,
    trace_measurement,
)

KEEPS_TIME = False

TARGET = {"host": "8.8.8.8", "port": 443, "family": 0, "path": "/"}
PLACE = {"country": "DE", "city": "Berlin", "asn": 3320}


@pytest.fixture
def network():
    with Network() as found:
        yield found


@pytest.fixture
def api(network):
    return globalping.client(GLOBALPING_KEY, network.url, FakeClock())


def test_a_ping_is_created_polled_with_its_etag_and_read(network, api):
    body = globalping.request_for("tcp-ping", TARGET, {"count": 3}, PLACE)
    name = globalping.create(api, body)
    assert network.bodies[0] == {
        "type": "ping", "target": "8.8.8.8",
        "locations": [{"country": "DE", "city": "Berlin", "asn": 3320, "limit": 1}],
        "measurementOptions": {"packets": 3, "protocol": "TCP", "port": 443},
    }  # fmt: skip
    waiting = ping_measurement(status="in-progress")
    network.documents["/v1/measurements/gp1"] = Series(
        waiting, waiting, ping_measurement(10.0, 12.5, total=3)
    )
    first, tag = globalping.fetch(api, name)
    assert first
    assert not globalping.is_done(first)
    again, tag = globalping.fetch(api, name, tag)
    assert again is None
    assert network.etags["/v1/measurements/gp1"] == 1
    found, _ = globalping.fetch(api, name, tag)
    assert globalping.is_done(found)
    (row,) = globalping.results(found, "tcp-ping", "8.8.8.8")
    assert row["values"] == [10.0, 12.5]
    assert (row["status"], row["sent"], row["at"]) == ("OK", 3, 1_795_255_200.0)
    assert set(network.keys) == {f"Bearer {GLOBALPING_KEY}"}


@pytest.mark.parametrize(
    ("result", "status", "reason"),
    [
        ({"status": "offline"}, "NETWORK", "offline"),
        ({"status": "in-progress"}, "TIMEOUT", "no result in time"),
        ({"status": "failed", "rawOutput": "ping: x: Name or service not known"}, "NO_NAME", "not"),
        ({"status": "failed", "rawOutput": "Private IP ranges are not allowed"}, "FORBIDDEN", ""),
        ({"status": "failed", "rawOutput": "\nConnection  refused"}, "REFUSED", "Connection"),
        ({"status": "failed", "rawOutput": None}, "NETWORK", "the test failed"),
        ({"status": "finished", "timings": []}, "TIMEOUT", ""),
        ({"timings": "nonsense"}, "MALFORMED", "cannot be read"),
    ],
)
def test_what_a_probe_could_not_do_is_a_result_with_its_reason(result, status, reason):
    found = ping_measurement()
    found["results"][0]["result"] = {**found["results"][0]["result"], **result}
    (row,) = globalping.results(found, "icmp-echo", "8.8.8.8")
    assert row["status"] == status
    assert reason in row["reason"]
    assert row["values"] == []
    assert row["sent"] >= 1


def test_a_traceroute_has_one_reply_per_packet_and_silent_hops():
    (row,) = globalping.results(trace_measurement(), "traceroute", "8.8.8.8")
    assert row["status"] == "OK"
    told = [(r["ttl"], r["address"], r["rtt_ms"], r["kind"]) for r in row["replies"]]
    assert told == [
        (1, "192.0.2.1", 1.1, "hop"),
        (1, "192.0.2.1", 1.2, "hop"),
        (2, None, None, "silent"),
        (3, "8.8.8.8", 20.5, "target"),
    ]


def test_limits_and_places_are_told(network, api):
    network.documents["/v1/limits"] = LIMITS
    entry = {"version": "1", "location": PROBE, "tags": [], "resolvers": []}
    network.documents["/v1/probes"] = [entry, entry, {"location": None}, "odd"]
    assert globalping.limits(api) == globalping.Limits(487, 500, 1234, 9000)
    (place,) = globalping.places(api)
    assert (place["city"], place["asn"], place["probes"]) == ("Berlin", 3320, 2)


def test_a_network_that_asks_to_wait_is_waited_for(network, api):
    network.documents["/v1/limits"] = LIMITS
    said = {"error": {"type": "too_many_requests", "message": "Please retry in 4 seconds."}}
    network.faults["/v1/limits"] = [(429, {"Retry-After": "4"}, said),
                                    (429, {"X-RateLimit-Reset": "7"}, said)]  # fmt: skip
    assert globalping.limits(api).free == 487
    assert api.clock.monotonic() == 11.0


def test_whoever_asks_to_wait_too_long_is_told_on(network, api):
    wait_s = int(LONGEST_PAUSE_S) + 1800
    network.faults["/v1/measurements"] = [(429, {"X-RateLimit-Reset": str(wait_s)}, {})]
    with pytest.raises(Busy) as told:
        globalping.create(api, {})
    assert told.value.wait_s == wait_s
    assert len(network.asked) == 1


def test_server_errors_are_tried_again_for_reading_and_never_for_creating(network, api):
    network.documents["/v1/limits"] = LIMITS
    network.faults["/v1/limits"] = [(502, {}, b"<html>bad gateway</html>"), (500, {}, {})]
    assert globalping.limits(api).free_limit == 500
    assert 1 < api.clock.monotonic() < 5
    network.faults["/v1/measurements"] = [(500, {}, {"error": {"message": "oh"}})]
    with pytest.raises(Unavailable, match="oh"):
        globalping.create(api, {})
    # A second one might be paid for twice.
    assert len(network.bodies) == 1


def test_refusals_are_told_in_the_network_s_own_words_without_the_key(network, api):
    said = {"error": {"type": "validation_error", "message": f"bad {GLOBALPING_KEY}",
                      "params": {"target": "\"target\" is private"}}}  # fmt: skip
    network.faults["/v1/measurements"] = [(400, {}, said)]
    with pytest.raises(Refused, match="is private") as told:
        globalping.create(api, {})
    assert GLOBALPING_KEY not in str(told.value)
    assert GLOBALPING_KEY not in repr(api)


@pytest.mark.parametrize("body", [b"not json", b"[1, 2", b"{}", b"null", b'{"id": 7}'])
def test_answers_that_cannot_be_read_are_garbled(network, api, body):
    network.faults["/v1/measurements"] = [(202, {}, body)]
    with pytest.raises(Garbled):
        globalping.create(api, {})


def test_a_redirect_takes_no_key_elsewhere(network, api):
    with Network() as other:
        network.faults["/v1/limits"] = [(302, {"Location": f"{other.url}/v1/limits"}, b"")]
        with pytest.raises(Refused):
            globalping.limits(api)
        assert other.asked == []


def test_a_network_that_is_away_is_unavailable():
    with Network() as gone:
        url = gone.url
    with pytest.raises(Unavailable, match="no answer"):
        globalping.limits(globalping.client("", url, FakeClock()))


def test_probes_that_a_network_has_not_are_refused():
    with pytest.raises(BadInput, match="throughput"):
        globalping.request_for("throughput", TARGET, {}, PLACE)
    with pytest.raises(BadInput, match="tcp-ping"):
        atlas.request_for("tcp-ping", TARGET, {}, {"probe": 1})
    with pytest.raises(BadInput, match="number"):
        atlas.request_for("icmp-echo", TARGET, {}, PLACE)


def test_atlas_creates_a_one_off_and_reads_its_results(network):
    api = atlas.client(ATLAS_KEY, network.url, FakeClock())
    body = atlas.request_for("icmp-echo", TARGET, {"count": 3}, {"probe": 6123})
    assert body["is_oneoff"] is True
    assert body["probes"] == [{"requested": 1, "type": "probes", "value": "6123"}]
    name = atlas.create(api, body)
    path = f"/api/v2/measurements/{name}"
    network.documents[f"{path}/results/"] = Series([], [atlas_ping(20.0, 21.0, None)])
    network.documents[f"{path}/"] = {"status": {"id": 2, "name": "Ongoing"}}
    waiting, tag = atlas.fetch(api, name)
    assert not atlas.is_done(waiting)
    found, _ = atlas.fetch(api, name, tag)
    assert atlas.is_done(found)
    (row,) = atlas.results(found, "icmp-echo", "8.8.8.8")
    assert (row["status"], row["sent"], row["values"]) == ("OK", 3, [20.0, 21.0])
    assert set(network.keys) == {f"Key {ATLAS_KEY}"}


def test_atlas_says_why_nothing_came(network):
    api = atlas.client(ATLAS_KEY, network.url, FakeClock())
    network.documents["/api/v2/measurements/1001/results/"] = []
    network.documents["/api/v2/measurements/1001/"] = {"status": {"id": 6}}
    found, _ = atlas.fetch(api, "1001")
    assert atlas.is_done(found)
    (row,) = atlas.results(found, "icmp-echo", "8.8.8.8")
    assert (row["status"], row["reason"]) == ("NETWORK", "no suitable probe")


def test_atlas_tells_errors_of_packets_and_of_names():
    unreachable = atlas_ping()
    unreachable["result"] = [{"error": "sendto failed: Network is unreachable"}] * 3
    nameless = {k: v for k, v in atlas_ping().items() if k != "dst_addr"}
    odd = {"timestamp": "yesterday"}
    told = list(atlas.results({"results": [unreachable, nameless, odd]}, "icmp-echo", "x"))
    assert [r["status"] for r in told] == ["UNREACHABLE", "NO_NAME", "MALFORMED"]
    assert "unreachable" in told[0]["reason"]


def test_atlas_tells_its_balance_and_prices(network):
    api = atlas.client(ATLAS_KEY, network.url, FakeClock())
    network.documents["/api/v2/credits/"] = {
        "current_balance": 5000, "estimated_daily_expenditure": 12}  # fmt: skip
    assert atlas.balance(api) == atlas.Balance(5000, 12)
    assert atlas.credits_for("icmp-echo", {"count": 3}) == 6
    assert atlas.credits_for("traceroute", {}) == 60
    network.faults["/api/v2/credits/"] = [
        (403, {}, {"error": {"status": 403, "code": 104, "detail": "no permission"}})
    ]
    with pytest.raises(Refused, match="no permission"):
        atlas.balance(api)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["status", "result", "results", "timings", "rtt", "hops", "stats", "hop",
                         "from", "probe", "dst_addr", "timestamp", "sent"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_result_whatever_stops_the_others(entry):
    good = ping_measurement(5.0)
    good["results"].insert(0, entry)
    rows = list(globalping.results(good, "icmp-echo", "x"))
    assert len(rows) == 2
    assert rows[1]["values"] == [5.0]
    rows = list(atlas.results({"results": [entry, atlas_ping(5.0)]}, "icmp-echo", "x"))
    assert len(rows) == 2
    assert rows[1]["values"] == [5.0]


def test_the_api_is_asked_by_name():
    assert isinstance(globalping.client(), Api)
    assert globalping.client().headers == {}
