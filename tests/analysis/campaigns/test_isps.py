"""The rules of the first AS beyond the cloud, each with a path of its own."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.campaigns.routes import diversity
from analysis.campaigns.routes.address_owners import Addresses, AddressKind, _read
from analysis.campaigns.routes.downstream_isp import find_isps
from lake.campaigns import table_of

# A little Internet: the cloud announces as AS 64500, and publishes one of its two prefixes.
ORIGINS = {
    "44.0.0.0/16": (64500,),
    "52.0.0.0/16": (64500,),
    "4.1.0.0/16": (1,),
    "4.2.0.0/16": (2,),
    "4.3.0.0/16": (3,),
    "4.12.0.0/16": (1, 2),
    "2600::/32": (1,),
    "2600:1::/32": (64500,),
}
CLOUD = {"52.0.0.0/17": ("acme", "east"), "52.0.128.0/17": ("acme", "west")}
EXCHANGES = ("5.5.0.0/24", "2001:7f8::/64")
AWAY = {"provider": "acme", "region": "east", "zone": "z1", "direction": "from"}


def within(table, address, nothing):
    try:
        number = ip_address(address)
    except ValueError:
        return nothing
    return next((v for p, v in table.items() if number in ip_network(p)), nothing)


def addresses():
    return Addresses(
        lambda own: [within(ORIGINS, a, ()) for a in own],
        lambda own: [within(CLOUD, a, ("", "")) for a in own],
        EXCHANGES,
        {"acme": frozenset({64500})},
    )


def hops(*addresses_of_hops):
    """One hop each; several replies of a hop are in a tuple, None is silence."""
    found = []
    for ttl, own in enumerate(addresses_of_hops, 1):
        for address in own if isinstance(own, tuple) else (own,):
            found.append({"ttl": ttl, "address": address, "rtt_ms": 1.0})
    return found


def isp_of(*path, **more):
    rows = [{"vantage": "v", "target": "t", "hops": hops(*path), **AWAY, **more}]
    (found,) = find_isps(table_of("paths", rows), addresses()).to_pylist()
    return found["isp"], found["reason"], found["doubtful"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # The first AS that is not the cloud's, by range file or by origin.
        (["10.0.0.1", "52.0.0.1", "44.0.0.1", "4.1.0.1", "4.2.0.1"], (1, "found", False)),
        (["4.2.0.1"], (2, "found", False)),
        # Private hops are passed over; silence and unannounced hops make it doubtful.
        (["52.0.0.1", "10.1.1.1", "4.1.0.1"], (1, "found", False)),
        (["52.0.0.1", None, "4.1.0.1"], (1, "found", True)),
        (["52.0.0.1", "9.9.9.9", "4.1.0.1"], (1, "found", True)),
        ([None, None, "52.0.0.1", "4.1.0.1"], (1, "found", False)),
        # The AS behind an exchange is the neighbour; the exchange itself is nobody's.
        (["52.0.0.1", "5.5.0.9", "4.3.0.1"], (3, "found", False)),
        (["52.0.0.1", "5.5.0.9", None], (None, "exchange", False)),
        # What ends before it leaves.
        (["52.0.0.1", "44.0.0.1"], (None, "never_left", False)),
        (["52.0.0.1", None, None], (None, "silent", False)),
        (["52.0.0.1", "10.1.1.1"], (None, "private", False)),
        (["52.0.0.1", None, "9.9.9.9", "10.1.1.1"], (None, "unannounced", False)),
        ([], (None, "never_left", False)),
        # Several origins: the next hop tells, or nobody does.
        (["52.0.0.1", "4.12.0.1", "4.2.0.1"], (2, "found", False)),
        (["52.0.0.1", "4.12.0.1", "4.3.0.1"], (None, "several_origins", False)),
        (["52.0.0.1", "4.12.0.1", None], (None, "several_origins", False)),
        # Replies of one hop that agree, that do not, and of which one is the cloud's.
        (["52.0.0.1", ("4.1.0.1", None, "4.1.9.9")], (1, "found", False)),
        (["52.0.0.1", ("4.1.0.1", "4.2.0.1")], (None, "disagreeing", False)),
        ([("52.0.0.1", "4.1.0.1"), "4.1.0.1"], (None, "disagreeing", False)),
        (["52.0.0.1", ("10.1.1.1", "4.1.0.1")], (1, "found", False)),
        # The last hop of the cloud counts, though the path was outside before.
        (["52.0.0.1", None, "44.0.0.1", "4.1.0.1"], (1, "found", False)),
        (["52.0.0.1", "not an address", "4.1.0.1"], (1, "found", True)),
        (["2600:1::1", "2001:7f8::1", "2600::1"], (1, "found", False)),
        (["2600:1::1", "fd00::1", "2600::1"], (1, "found", False)),
    ],
)
def test_paths_from_the_cloud(path, expected):
    assert isp_of(*path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (["10.0.0.1", "4.2.0.1", "4.1.0.1", "44.0.0.1", "52.0.0.1"], (1, "found", False)),
        (["4.2.0.1", "4.1.0.1", None, "52.0.0.1"], (1, "found", True)),
        (["4.1.0.1", "5.5.0.9", "52.0.0.1"], (1, "found", False)),
        # A target that did not answer does no harm where a router of the cloud did.
        (["4.1.0.1", "44.0.0.1", None, None], (1, "found", False)),
        (["4.1.0.1", None, None], (None, "cloud_not_reached", False)),
        (["10.0.0.1", "52.0.0.1"], (None, "private", False)),
        (["52.0.0.1"], (None, "never_left", False)),
    ],
)
def test_paths_towards_the_cloud_are_walked_backwards(path, expected):
    assert isp_of(*path, direction="to") == expected


def test_hops_that_are_missing_altogether_are_silence():
    path = [h for h in hops("52.0.0.1", None, "4.1.0.1") if h["address"]]
    rows = [{"vantage": "v", "target": "t", "hops": path, **AWAY}]
    (found,) = find_isps(table_of("paths", rows), addresses()).to_pylist()
    assert (found["isp"], found["doubtful"]) == (1, True)


def test_ends_that_nobody_named_are_placed_by_the_ranges():
    def ends(source, destination):
        row = {"vantage": "v", "target": "t", "source": source, "destination": destination}
        rows = [{**row, "hops": hops("4.1.0.1", "52.0.200.1")}]
        (found,) = find_isps(table_of("paths", rows), addresses()).to_pylist()
        return [found[k] for k in ("provider", "region", "direction", "end", "reason")]

    assert ends("4.1.0.9", "52.0.200.1") == ["acme", "west", "to", "v", "found"]
    assert ends("52.0.0.9", "4.1.0.1") == ["acme", "east", "from", "t", "found"]
    assert ends("4.1.0.9", "4.2.0.1") == ["", "", "", "v", "no_cloud_end"]


def test_kinds_of_addresses():
    book = addresses()
    codes = book.number(
        table_of(
            "paths",
            [
                {
                    "hops": hops(
                        "10.0.0.1", "5.5.0.1", "9.9.9.9", "4.1.0.1", "4.12.0.1", None, "4.1.0.1"
                    )
                }
            ],
        )
        .column("hops")
        .combine_chunks()
        .flatten()
        .field("address")
    )
    known = book.table()
    assert [AddressKind(known.kinds[c]).name for c in codes] == [
        "PRIVATE",
        "EXCHANGE",
        "UNANNOUNCED",
        "AS",
        "SEVERAL",
        "SILENT",
        "AS",
    ]
    assert codes[3] == codes[6]


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_public_is_what_the_registry_says(number):
    address = ip_address(number)
    public = address.is_global and not address.is_multicast
    assert _read(str(address)) == (number | 1 << 40, public)


VIA = {1: "4.1.0.1", 2: "4.2.0.1", 3: "4.3.0.1", 0: None}


def routes(*rows):
    """(zone, end, ISP or 0 for silence, reached)."""
    made = [
        {
            "vantage": "i",
            "target": end,
            "hops": hops("52.0.0.1", VIA[isp]),
            "reached": reached,
            **AWAY,
            "zone": zone,
        }
        for zone, end, isp, reached in rows
    ]
    return find_isps(table_of("paths", made), addresses())


def test_table_14_counts_distinct_isps_and_their_spread():
    found = routes(
        *[("z1", f"n{i}", 1, True) for i in range(6)],
        *[("z1", f"n{i}", 2, True) for i in range(3)],
        ("z1", "n9", 3, True),
        ("z1", "n9", 0, True),
        ("z2", "n1", 1, True),
        ("z3", "n1", 0, True),
    )
    one, two, three = diversity.diversity_table(found)
    assert (one["isps"], one["routes"], one["certain"], one["unknown"]) == (3, 11, 10, 1)
    assert (one["largest"], one["largest_share"]) == (1, pytest.approx(0.6))
    assert one["effective"] == pytest.approx(1 / (0.6**2 + 0.3**2 + 0.1**2))
    assert (two["isps"], two["effective"], two["largest_share"]) == (1, 1.0, 1.0)
    assert (three["isps"], three["largest"], three["effective"]) == (0, None, None)
    (region,) = diversity.diversity_table(found, diversity.REGION)
    assert (region["isps"], region["routes"], region["ends"]) == (3, 13, 7)
    assert [(r["isp"], r["routes"]) for r in diversity.isp_shares(found)] == [
        (1, 7),
        (2, 3),
        (3, 1),
    ]
    assert sum(r["share"] for r in diversity.isp_shares(found)) == pytest.approx(1)
    reasons = diversity.unknown_reasons(found)
    assert [(r["zone"], r["reason"], r["routes"]) for r in reasons] == [
        ("z1", "silent", 1),
        ("z3", "silent", 1),
    ]
    all_of_them = diversity.route_totals(found)
    assert (all_of_them["routes"], all_of_them["certain"]) == (13, 11)
    assert all_of_them["by_reason"]["silent"] == 2


def test_doubtful_routes_are_told_apart_and_do_not_count():
    rows = [
        {"vantage": "i", "target": "n", "hops": hops("52.0.0.1", *path), **AWAY}
        for path in (["4.1.0.1"], [None, "4.2.0.1"], [None, "4.1.0.1"])
    ]
    (found,) = diversity.diversity_table(find_isps(table_of("paths", rows), addresses()))
    assert (found["isps"], found["isps_with_doubtful"]) == (1, 2)
    assert (found["certain"], found["doubtful"], found["unknown"]) == (1, 2, 0)


def test_what_fails_with_an_isp():
    found = routes(
        ("z1", "only-1", 1, True),
        ("z1", "only-1", 1, True),
        ("z1", "both", 1, True),
        ("z2", "both", 2, True),
        ("z1", "unsure", 1, True),
        ("z1", "unsure", 0, True),
    )
    one, two = diversity.isp_failures(found)
    assert (one["isp"], one["routes"], one["share"]) == (1, 4, pytest.approx(0.8))
    assert (one["cut_off"], one["unsettled"], one["rerouted"], one["ends"]) == (1, 1, 1, 3)
    assert (two["isp"], two["cut_off"], two["rerouted"]) == (2, 0, 1)
    # In its own zone, the end that another zone would still serve is cut off.
    zone = diversity.isp_failures(found, diversity.ZONE)
    assert [(r["zone"], r["isp"], r["cut_off"]) for r in zone] == [("z1", 1, 2), ("z2", 2, 1)]


def test_a_real_failure_shows_what_was_lost():
    before = routes(
        ("z1", "a", 1, True), ("z1", "b", 1, True), ("z1", "c", 2, True), ("z1", "dark", 2, False)
    )
    after = routes(
        ("z1", "a", 2, True), ("z1", "b", 0, False), ("z1", "c", 2, True), ("z1", "dark", 2, False)
    )
    found = diversity.compare_routes(before, after)
    assert [(r["isp"], r["routes"], r["ends"]) for r in found["gone"]] == [(1, 2, 2)]
    assert [(r["end"], r["isps"]) for r in found["lost"]] == [("b", [1])]
