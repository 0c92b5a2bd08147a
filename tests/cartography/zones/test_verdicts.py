"""What each method says of one target, and why it may say nothing."""

import pytest

from cartography.zones.inference import infer_zones
from cartography.zones.observations import (
    Observations,
    RoundTrip,
    Rules,
    Sample,
    Target,
    prefix_text,
    prefixes_of,
)
from cartography.zones.report import document

REGION = "us-east-1"


def samples(prefix, label, n=20, account="me"):
    return [Sample(REGION, account, label, f"{prefix}.{i // 8}.{i % 8 + 10}") for i in range(n)]


OWN = [*samples("10.1", "a"), *samples("10.2", "b")]


def trips(target, a, b, account="me"):
    rows = zip("ab", (a, b), strict=True)
    return [RoundTrip(REGION, target, account, label, rtt) for label, rtt in rows]


# Ten own instances of each zone were pinged from both.
PINGED = [
    trip
    for n in range(10)
    for trip in (
        *trips(f"10.1.{n // 8}.{n % 8 + 10}", 0.5 + n / 100, 1.5 + n / 100),
        *trips(f"10.2.{n // 8}.{n % 8 + 10}", 1.5 + n / 100, 0.5 + n / 100),
    )
]


def verdict(internal="", pings=(), own=OWN, calibration=PINGED, rules=None):
    target = Target(REGION, "203.0.113.1", internal)
    given = Observations(tuple(own), (target,), (*calibration, *pings))
    (result,) = infer_zones(given, rules)
    return result.verdicts[0]


def test_it_works():
    found = verdict("10.1.200.1", trips("203.0.113.1", 0.52, 1.53))

    assert (found.zone, found.method, found.reason) == ("a", "proximity", None)
    assert found.proximity.prefix == "10.1.0.0/16"
    assert found.proximity.votes == {"a": 20}
    assert found.latency.zone == "a"
    assert found.latency.rtt_ms == {"a": 0.52, "b": 1.53}


def test_methods_that_disagree_leave_the_zone_open_and_both_answers_visible():
    found = verdict("10.1.200.1", trips("203.0.113.1", 1.53, 0.52))

    assert (found.zone, found.method, found.reason) == (None, "none", "methods_disagree")
    assert (found.proximity.zone, found.latency.zone) == ("a", "b")


def test_proximity_is_preferred_to_a_bare_threshold():
    found = verdict("10.1.200.1", trips("203.0.113.1", 1.53, 0.52), calibration=())

    assert (found.zone, found.method, found.latency.zone) == ("a", "proximity", "b")


def test_proximity_answers_where_round_trips_do_not():
    found = verdict("10.1.200.1", trips("203.0.113.1", 0.55, 0.55))

    assert (found.zone, found.method, found.latency.reason) == ("a", "proximity", "tie")


def test_latency_answers_where_addresses_do_not():
    found = verdict("10.99.0.1", trips("203.0.113.1", 1.53, 0.52))

    assert (found.zone, found.method) == ("b", "latency")
    assert found.confidence > 0.97


@pytest.mark.parametrize(
    ("internal", "pings", "reason"),
    [
        ("", (), "no_internal_address + not_probed"),
        ("10.99.0.1", (), "no_sample + not_probed"),
        ("10.99.0.1", (None, None), "no_sample + unresponsive"),
        ("10.99.0.1", (0.55, 0.55), "no_sample + tie"),
        ("10.99.0.1", (9.0, 9.0), "no_sample + over_threshold"),
        ("10.99.0.1", (None, 1.55), "no_sample + no_probe_in_zone"),
    ],
)
def test_every_unknown_has_its_reason(internal, pings, reason):
    found = verdict(internal, trips("203.0.113.1", *pings) if pings else ())

    assert (found.zone, found.method) == (None, "none")
    assert found.reason == reason


def test_a_prefix_that_zones_share_without_order_is_a_conflict():
    mixed = [Sample(REGION, "me", "ab"[i % 2], f"10.7.1.{i + 1}") for i in range(40)]

    found = verdict("10.7.1.200", own=[*OWN, *mixed])
    assert found.proximity.reason == "conflicting_samples"
    assert found.proximity.votes == {"a": 20, "b": 20}


def test_a_longer_prefix_decides_where_a_shared_one_cannot():
    halves = [
        Sample(REGION, "me", label, f"10.7.{block}.{i + 1}")
        for label, block in (("a", 10), ("b", 200))
        for i in range(15)
    ]

    found = verdict("10.7.201.9", own=[*OWN, *halves])
    assert (found.zone, found.proximity.prefix) == ("b", "10.7.192.0/20")


def test_samples_of_a_label_without_a_zone_are_a_reason_of_their_own():
    strange = [*samples("10.8", "x", account="other"), *samples("10.9", "y", account="other")]

    found = verdict("10.8.0.200", own=[*OWN, *samples("10.3", "c"), *strange])
    assert found.proximity.reason == "unmapped_samples"


def test_a_zone_without_a_probe_is_not_claimed_by_its_round_trips():
    third = samples("10.3", "c")
    pinged = [t for s in third[:10] for t in trips(s.address, 1.0, 2.5)]

    found = verdict("10.99.0.1", trips("203.0.113.1", 1.0, 2.5), [*OWN, *third], PINGED + pinged)
    assert found.latency.reason == "no_probe_in_zone"


def test_without_calibration_the_papers_threshold_decides():
    def by_threshold(a, b):
        found = verdict("", trips("203.0.113.1", a, b), calibration=())
        assert (found.latency.rule, found.latency.confidence) == ("threshold", None)
        return found.latency.zone or found.latency.reason

    assert by_threshold(0.5, 1.5) == "a"
    assert by_threshold(0.5, 0.5) == "tie"
    assert by_threshold(1.1, 1.5) == "over_threshold"
    assert by_threshold(0.5, None) == "no_probe_in_zone"


def test_the_threshold_may_be_asked_for():
    rules = Rules(threshold_ms=0.4, calibrate=False)

    found = verdict("", trips("203.0.113.1", 0.5, 1.5), rules=rules)
    assert found.latency.reason == "over_threshold"


def test_the_tables_arithmetic():
    targets = tuple(
        Target(REGION, f"203.0.113.{n}", f"10.{1 + n % 2}.250.{n}" if n < 12 else "10.99.0.1")
        for n in range(20)
    )
    pings = [
        trip
        for n, target in enumerate(targets)
        if n % 4
        for trip in trips(target.target, *((0.52, 1.52) if n % 2 == 0 else (1.52, 0.52)))
    ]
    given = Observations(tuple(OWN), targets, (*PINGED, *pings))

    total = document(infer_zones(given))["total"]
    assert total["targets"] == 20
    assert total["identified"] == sum(total["methods"].values()) == 18
    assert sum(total["unknown"].values()) == 2
    table = total["agreement"]
    assert table["count"] == table["match"] + table["unknown"] + table["mismatch"] == 9
    assert table["error"] == 0.0
    assert sum(row["targets"] for row in table["matrix"]) == table["match"] + table["mismatch"]


def test_regions_do_not_mix():
    given = Observations(
        (*OWN, Sample("eu-west-1", "me", "z", "10.1.0.1")),
        (Target(REGION, "203.0.113.1", "10.1.0.9"), Target("eu-west-1", "203.0.113.1", "10.1.0.9")),
    )

    assert [r.verdicts[0].zone for r in infer_zones(given)] == ["z", "a"]


def test_prefixes():
    assert prefixes_of("10.1.2.3", (16, 24)) == ((4, 16, 2561), (4, 24, 655618))
    assert prefixes_of("::ffff:10.1.2.3", (16,)) == prefixes_of("10.1.2.3", (16,))
    assert prefixes_of("no address", (16,)) == ()
    assert prefix_text((4, 16, 2561)) == "10.1.0.0/16"
    assert [prefix_text(p) for p in prefixes_of("2001:db8:1:2::3", (16,))] == [
        "2001:db8:1::/48",
        "2001:db8:1::/56",
        "2001:db8:1:2::/64",
    ]
