import ipaddress
from datetime import date
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cartography.placement.cloud_table import PrefixTable
from cartography.ranges import RangeEntry, RangeFile
from core.records import Placement
from core.statuses import AddressKind
from tests.cartography.ranges.files import DAY, read_sample

SAMPLE_FILES = (
    "aws-sample.json",
    "azure-tags-sample.json",
    "google-cloud-sample.json",
    "google-goog-sample.json",
)


@pytest.fixture(scope="module")
def table():
    return PrefixTable.build([read_sample(name) for name in SAMPLE_FILES])


def entry(prefix, service="EC2", region="us-east-1", provider="aws", **more):
    return RangeEntry(prefix, provider, service, region, **more)


def build(*entries, as_of=DAY):
    return PrefixTable.build([RangeFile("aws", as_of, entries)])


def test_it_works(table):
    assert table.place("198.51.100.7") == Placement(
        address="198.51.100.7",
        provider="aws",
        service="EC2",
        services=("EC2", "AMAZON"),
        region="us-east-1",
        border_group="us-east-1",
        prefix="198.51.100.0/25",
        as_of=DAY,
        kind=AddressKind.CLOUD,
        region_as_published="us-east-1",
    )


@pytest.mark.parametrize(
    ("address", "service", "services", "region", "kind"),
    [
        # A service that Amazon also lists as EC2 is shown under its own name.
        ("198.51.100.40", "S3", ("S3", "EC2", "AMAZON"), "us-east-1", "cloud"),
        ("198.51.100.200", "CLOUDFRONT", ("CLOUDFRONT", "AMAZON"), None, "cdn"),
        ("198.51.100.225", "ROUTE53", ("ROUTE53",), None, "cloud"),
        ("192.0.2.1", "AzureCloud", ("AzureCloud",), "westeurope", "cloud"),
        ("192.0.2.17", "Storage", ("Storage", "AzureCloud"), "westeurope", "cloud"),
        # A tag without a region is in the region of the block around it.
        ("192.0.2.41", "PowerBI", ("PowerBI", "AzureCloud"), "westeurope", "cloud"),
        ("192.0.2.70", "AzureCloud", ("AzureCloud",), "norwayeast", "cloud"),
        ("192.0.2.100", "AzureFrontDoor.Frontend", ("AzureFrontDoor.Frontend",), None, "cdn"),
        ("203.0.113.9", "Google Cloud", ("Google Cloud", "Google"), "europe-west3", "cloud"),
        ("203.0.113.65", "Google Cloud", ("Google Cloud", "Google"), None, "cloud"),
        ("203.0.113.200", "Google", ("Google",), None, "corporate"),
        ("2001:db8:1::1", "EC2", ("EC2",), "us-east-1", "cloud"),
        ("2001:db8:1:0:8000::1", "S3", ("S3", "EC2"), "us-east-1", "cloud"),
        ("2001:db8:1:0:c000::1", "EC2", ("EC2",), "us-east-1", "cloud"),
        ("2001:db8:2::4f", "PowerBI", ("PowerBI", "AzureCloud"), "westeurope", "cloud"),
        ("2001:db8:3::1", "Google Cloud", ("Google Cloud", "Google"), "us-central1", "cloud"),
    ],
)
def test_the_shown_label_and_what_is_inherited(table, address, service, services, region, kind):
    place = table.place(address)

    assert (place.service, place.services, place.region, str(place.kind)) == (
        service,
        services,
        region,
        kind,
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nephos",
        "198.51.100",
        "198.51.100.256",
        "198.51.100.07",
        "1.2.3.4/32",
        "fe80::1%eth0",
        "1.2.3.4\x00",
        "١.٢.٣.٤",
        "2001:db8:::1",
    ],
)
def test_what_is_no_address_is_placed_nowhere(table, text):
    assert table.place(text) == Placement(text)


def test_an_address_outside_every_prefix_is_other(table):
    assert table.place("10.0.0.1") == Placement("10.0.0.1", kind=AddressKind.OTHER)
    assert table.place("::") == Placement("::")


def test_mapped_addresses_are_read_as_ipv4(table):
    for text in ("::ffff:198.51.100.7", "::FFFF:c633:6407", "0:0:0:0:0:ffff:c633:6407"):
        place = table.place(text)
        assert (place.address, place.prefix) == (text, "198.51.100.0/25")


def test_families_never_meet():
    # 0x34 is 52: a table that keeps both families in one structure finds one in the other.
    table = build(entry("52.0.0.0/8"))

    assert table.place("3400::1").provider is None
    assert table.place("::34.0.0.0").provider is None
    assert table.place("::52.0.0.1").provider is None


def test_after_a_nested_prefix_its_parent_is_open_again():
    table = build(
        entry("198.51.100.0/24", "AMAZON"),
        entry("198.51.100.64/27", region="us-west-2"),
        entry("198.51.100.64/28", "S3", region="us-west-2"),
    )

    places = table.place_many([f"198.51.100.{n}" for n in (63, 64, 80, 95, 96, 255)])
    assert [p.service for p in places] == ["AMAZON", "S3", "EC2", "EC2", "AMAZON", "AMAZON"]
    assert places[1].services == ("S3", "EC2", "AMAZON")


def test_the_order_of_rows_and_files_does_not_matter():
    rows = [entry("198.51.100.0/24", s) for s in ("AMAZON", "EC2", "S3")]
    places = {build(*order).place("198.51.100.1") for order in permutations(rows)}
    assert len(places) == 1

    files = [read_sample(name) for name in SAMPLE_FILES]
    assert PrefixTable.build(files).place("203.0.113.9") == PrefixTable.build(files[::-1]).place(
        "203.0.113.9"
    )


def test_a_global_block_has_no_region_whatever_lies_around_it():
    table = build(
        entry("198.51.100.0/24", "AMAZON", border_group="us-east-1"),
        entry("198.51.100.0/28", "GLOBALACCELERATOR", None, region_as_published="GLOBAL"),
    )

    place = table.place("198.51.100.1")
    assert (place.region, place.region_as_published) == (None, "GLOBAL")


def test_nothing_is_inherited_from_another_provider():
    table = build(
        entry("198.51.100.0/24", "AMAZON"),
        entry("198.51.100.0/28", "PowerBI", None, "azure"),
    )

    place = table.place("198.51.100.1")
    assert (place.provider, place.services, place.region) == ("azure", ("PowerBI",), None)


def test_one_prefix_of_two_providers_shows_one_of_them_alone():
    table = build(
        entry("198.51.100.0/24", "Google", None, "google", kind=AddressKind.CORPORATE),
        entry("198.51.100.0/24", "EC2"),
    )

    place = table.place("198.51.100.1")
    assert (place.provider, place.services) == ("aws", ("EC2",))


def test_each_placement_carries_the_date_of_its_own_file():
    old, new = date(2013, 3, 29), date(2024, 6, 29)
    files = [
        RangeFile("aws", old, (entry("198.51.100.0/24"),)),
        RangeFile("azure", new, (entry("192.0.2.0/24", "AzureCloud", "eastus", "azure"),)),
    ]

    table = PrefixTable.build(files)
    assert [table.place(a).as_of for a in ("198.51.100.1", "192.0.2.1")] == [old, new]


def test_an_empty_table_places_nothing():
    assert PrefixTable.build([]).place_many(["198.51.100.1", "::1"]) == [
        Placement("198.51.100.1"),
        Placement("::1"),
    ]
    assert PrefixTable.build([]).place_many([]) == []


def test_many_keep_order_and_repeats(table):
    asked = ["198.51.100.7", "x", "2001:db8:1::1", "198.51.100.7", "192.0.2.1", ""]

    assert table.place_many(asked) == [table.place(a) for a in asked]


FIELDS = st.sampled_from([("AMAZON", "us-east-1"), ("EC2", "us-west-2"), ("S3", None)])


@st.composite
def nested_entries(draw, base, bits):
    """Prefixes in one /24 or /120: dense, so that they nest, touch and repeat."""
    drawn = draw(st.lists(st.tuples(st.integers(0, 255), st.integers(0, 8), FIELDS), max_size=20))
    entries = []
    for offset, host_bits, (service, region) in drawn:
        first = base + (offset >> host_bits << host_bits)
        network = ipaddress.ip_network((first, bits - host_bits))
        entries.append(entry(str(network), service, region))
    return entries


def expected(entries, address):
    """The stated rule by linear search: (prefix, services of that prefix, region)."""
    around = [e for e in entries if address in ipaddress.ip_network(e.prefix)]
    around.sort(key=lambda e: -ipaddress.ip_network(e.prefix).prefixlen)
    if not around:
        return None, set(), None
    best = around[0].prefix
    regions = [e for e in around if e.region]
    same = [e.region for e in regions if e.prefix == regions[0].prefix]
    # AMAZON's word on the region goes before that of a service.
    region = "us-east-1" if "us-east-1" in same else next(iter(same), None)
    return best, {e.service for e in around}, region


@settings(deadline=None)
@given(st.data(), st.sampled_from(["198.51.100.0/24", "2001:db8::ff00/120"]))
def test_nested_tables_agree_with_a_linear_search(data, corner):
    network = ipaddress.ip_network(corner)
    base = int(network.network_address)
    entries = data.draw(nested_entries(base, network.max_prefixlen))
    asked = [network.network_address - 1, *network, network.broadcast_address + 1]

    places = build(*entries).place_many([str(a) for a in asked])

    for address, place in zip(asked, places, strict=True):
        assert (place.prefix, set(place.services), place.region) == expected(entries, address)


@pytest.mark.parametrize("text", ["10.0.0.0/+8", "10.0.0.1/8", "10.0.0.0/33", "10.0/8", "::1/300"])
def test_an_entry_that_is_no_prefix_is_refused(text):
    good = RangeEntry("192.0.2.0/24", "aws", "EC2", "us-east-1")
    bad = RangeEntry(text, "aws", "EC2", "us-east-1")
    with pytest.raises(ValueError, match=r"/|length|address|bits"):
        PrefixTable.build([RangeFile("aws", date(2024, 6, 1), (good, bad))])


def test_two_spellings_of_one_prefix_are_one():
    rows = [
        RangeEntry("2001:db8::/32", "aws", "AMAZON", "us-east-1"),
        RangeEntry("2001:0db8:0::/32", "aws", "EC2", "us-east-1"),
        RangeEntry("192.0.2.7", "aws", "EC2", "us-east-1"),
    ]
    table = PrefixTable.build([RangeFile("aws", date(2024, 6, 1), tuple(rows))])
    assert set(table.place("2001:db8::1").services) == {"EC2", "AMAZON"}
    assert table.place("192.0.2.7").prefix == "192.0.2.7/32"
    assert len(table.prefixes.lengths) == 2
