"""Clients of public networks against servers that speak their API on loopback."""

import gzip
from datetime import timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import FakeClock
from core.errors import BadInput, Unavailable
from probes.networks import globalping, ripe_atlas
from probes.networks.web_client import (
    LONGEST_PAUSE_S,
    MAX_BYTES,
    Api,
    Busy,
    MalformedAnswer,
    Refused,
)
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
        "type": "ping",
        "target": "8.8.8.8",
        "locations": [{"country": "DE", "city": "Berlin", "asn": 3320, "limit": 1}],
        "measurementOptions": {"packets": 3, "protocol": "TCP", "port": 443},
    }
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
    network.faults["/v1/limits"] = [
        (429, {"Retry-After": "4"}, said),
        (429, {"X-RateLimit-Reset": "7"}, said),
    ]
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
    said = {
        "error": {
            "type": "validation_error",
            "message": f"bad {GLOBALPING_KEY}",
            "params": {"target": '"target" is private'},
        }
    }
    network.faults["/v1/measurements"] = [(400, {}, said)]
    with pytest.raises(Refused, match="is private") as told:
        globalping.create(api, {})
    assert GLOBALPING_KEY not in str(told.value)
    assert GLOBALPING_KEY not in repr(api)


@pytest.mark.parametrize("body", [b"not json", b"[1, 2", b"{}", b"null", b'{"id": 7}'])
def test_answers_that_cannot_be_read_are_garbled(network, api, body):
    network.faults["/v1/measurements"] = [(202, {}, body)]
    with pytest.raises(MalformedAnswer):
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
        ripe_atlas.request_for("tcp-ping", TARGET, {}, {"probe": 1})
    with pytest.raises(BadInput, match="number"):
        ripe_atlas.request_for("icmp-echo", TARGET, {}, PLACE)


def test_atlas_creates_a_one_off_and_reads_its_results(network):
    api = ripe_atlas.client(ATLAS_KEY, network.url, FakeClock())
    body = ripe_atlas.request_for("icmp-echo", TARGET, {"count": 3}, {"probe": 6123})
    assert body["is_oneoff"] is True
    assert body["probes"] == [{"requested": 1, "type": "probes", "value": "6123"}]
    name = ripe_atlas.create(api, body)
    path = f"/api/v2/measurements/{name}"
    network.documents[f"{path}/results/"] = Series([], [atlas_ping(20.0, 21.0, None)])
    network.documents[f"{path}/"] = {"status": {"id": 2, "name": "Ongoing"}}
    waiting, tag = ripe_atlas.fetch(api, name)
    assert not ripe_atlas.is_done(waiting)
    found, _ = ripe_atlas.fetch(api, name, tag)
    assert ripe_atlas.is_done(found)
    (row,) = ripe_atlas.results(found, "icmp-echo", "8.8.8.8")
    assert (row["status"], row["sent"], row["values"]) == ("OK", 3, [20.0, 21.0])
    assert set(network.keys) == {f"Key {ATLAS_KEY}"}


def test_atlas_says_why_nothing_came(network):
    api = ripe_atlas.client(ATLAS_KEY, network.url, FakeClock())
    network.documents["/api/v2/measurements/1001/results/"] = []
    network.documents["/api/v2/measurements/1001/"] = {"status": {"id": 6}}
    found, _ = ripe_atlas.fetch(api, "1001")
    assert ripe_atlas.is_done(found)
    (row,) = ripe_atlas.results(found, "icmp-echo", "8.8.8.8")
    assert (row["status"], row["reason"]) == ("NETWORK", "no suitable probe")


def test_atlas_tells_errors_of_packets_and_of_names():
    unreachable = atlas_ping()
    unreachable["result"] = [{"error": "sendto failed: Network is unreachable"}] * 3
    nameless = {k: v for k, v in atlas_ping().items() if k != "dst_addr"}
    odd = {"timestamp": "yesterday"}
    told = list(ripe_atlas.results({"results": [unreachable, nameless, odd]}, "icmp-echo", "x"))
    assert [r["status"] for r in told] == ["UNREACHABLE", "NO_NAME", "MALFORMED"]
    assert "unreachable" in told[0]["reason"]


def test_atlas_tells_its_balance_and_prices(network):
    api = ripe_atlas.client(ATLAS_KEY, network.url, FakeClock())
    network.documents["/api/v2/credits/"] = {
        "current_balance": 5000,
        "estimated_daily_expenditure": 12,
    }
    assert ripe_atlas.balance(api) == ripe_atlas.Balance(5000, 12)
    assert ripe_atlas.credits_for("icmp-echo", {"count": 3}) == 6
    assert ripe_atlas.credits_for("traceroute", {}) == 60
    network.faults["/api/v2/credits/"] = [
        (403, {}, {"error": {"status": 403, "code": 104, "detail": "no permission"}})
    ]
    with pytest.raises(Refused, match="no permission"):
        ripe_atlas.balance(api)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "status",
                    "result",
                    "results",
                    "timings",
                    "rtt",
                    "hops",
                    "stats",
                    "hop",
                    "from",
                    "probe",
                    "dst_addr",
                    "timestamp",
                    "sent",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_result_whatever_stops_the_others(entry):
    good = ping_measurement(5.0)
    good["results"].insert(0, entry)
    rows = list(globalping.results(good, "icmp-echo", "x"))
    assert len(rows) == 2
    assert rows[1]["values"] == [5.0]
    rows = list(ripe_atlas.results({"results": [entry, atlas_ping(5.0)]}, "icmp-echo", "x"))
    assert len(rows) == 2
    assert rows[1]["values"] == [5.0]


HOSTS = ("8.8.8.8", "2001:4860:4860::8888", "dns.google")


@pytest.mark.parametrize("family", [0, 4, 6])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("icmp-echo", {"count": 99, "size": 1600}),
        ("tcp-ping", {"method": "connect"}),
        ("traceroute", {"method": "raw"}),
        ("traceroute", {"protocol": "tcp", "attempts": 20, "max_ttl": 12}),
        ("traceroute", {"protocol": "icmp"}),
        ("http", {"tls": True}),
        ("http", {}),
    ],
)
def test_no_body_breaks_the_documented_rules(network, host, family, probe, options):
    target = {"host": host, "port": 0, "family": family, "path": "/a?b=c"}
    made = globalping.request_for(probe, target, options, PLACE)
    assert globalping.create(globalping.client(url=network.url), made) == "gp1"
    if probe in ripe_atlas.TYPES:
        made = ripe_atlas.request_for(probe, target, options, {"probe": 1})
        assert ripe_atlas.create(ripe_atlas.client(ATLAS_KEY, network.url), made) == "1002"
        assert network.spent["atlas"] == ripe_atlas.credits_for(probe, options)


def test_a_body_says_what_was_planned():
    def asked(probe, options, host="dns.google", **more):
        target = {"host": host, "port": 0, "family": 0, "path": "/a?b=c", **more}
        return globalping.request_for(probe, target, options, PLACE)["measurementOptions"]

    # Without a word a network would take HTTPS, HEAD and ICMP.
    request = {"path": "/a", "query": "b=c", "method": "GET"}
    assert asked("http", {}) == {"request": request, "protocol": "HTTP", "port": 80}
    assert asked("http", {"tls": True})["protocol"] == "HTTPS"
    assert asked("http", {"tls": True})["port"] == 443
    assert asked("traceroute", {}) == {"protocol": "UDP"}
    assert asked("traceroute", {"protocol": "tcp"}, port=443)["port"] == 443
    assert asked("icmp-echo", {}, family=6)["ipVersion"] == 6
    assert "ipVersion" not in asked("icmp-echo", {}, host="::1", family=6)

    def of_atlas(host, probe="icmp-echo", options=(), **more):
        target = {"host": host, "port": 0, "family": 0, **more}
        return ripe_atlas.request_for(probe, target, dict(options), {"probe": 1})["definitions"][0]

    assert of_atlas("2001:db8::1")["af"] == 6
    assert of_atlas("192.0.2.1", family=6)["af"] == 4
    named = of_atlas("dns.google", family=6)
    assert (named["af"], named["resolve_on_probe"]) == (6, True)
    route = of_atlas("192.0.2.1", "traceroute", {"protocol": "tcp"}, port=443)
    assert (route["protocol"], route["port"], route["paris"]) == ("TCP", 443, 16)


def test_answers_are_packed_for_the_way_and_a_bomb_is_refused(network, api):
    network.documents["/v1/limits"] = LIMITS
    assert globalping.limits(api).free == 487
    assert network.packed == 1
    bomb = gzip.compress(b" " * (MAX_BYTES + 5))
    network.faults["/v1/limits"] = [(200, {"Content-Encoding": "gzip"}, bomb)] * 4
    network.packs = False
    with pytest.raises(MalformedAnswer, match="more than"):
        globalping.limits(api)
    network.faults["/v1/limits"] = [(200, {"Content-Encoding": "gzip"}, b"no")] * 4
    with pytest.raises(MalformedAnswer, match="packing"):
        globalping.limits(api)


def test_a_wait_may_be_told_as_a_date(network, api):
    until = format_datetime(api.clock.now() + timedelta(seconds=7), usegmt=True)
    network.faults["/v1/limits"] = [(429, {"Retry-After": until}, {})]
    network.documents["/v1/limits"] = LIMITS
    before = api.clock.monotonic()
    assert globalping.limits(api).credits == 9000
    assert 6 <= api.clock.monotonic() - before <= 8


def test_atlas_stops_what_nobody_waits_for(network):
    ripe_atlas.cancel(ripe_atlas.client(ATLAS_KEY, network.url), "1001")
    assert network.asked == [("DELETE", "/api/v2/measurements/1001/")]
    assert network.keys == [f"Key {ATLAS_KEY}"]


def test_whose_fault_a_failure_is_is_heard():
    found = ping_measurement(status="failed", failureSource="target", rawOutput="odd")
    (row,) = globalping.results(found, "icmp-echo", "x")
    assert (row["status"], row["reason"]) == ("UNREACHABLE", "odd")


def test_the_api_is_asked_by_name():
    assert isinstance(globalping.client(), Api)
    assert globalping.client().headers == {}
