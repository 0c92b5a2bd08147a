import pytest

from cartography.placement.cloud_table import PrefixTable
from cartography.placement.placement import place_lookups
from core.records import Answer, Lookup, Record
from core.statuses import DnsStatus, Technique
from tests.cartography.ranges.files import read_sample

DOMAIN = "example.com"


@pytest.fixture(scope="module")
def table():
    return PrefixTable.build(
        [read_sample("aws-sample.json"), read_sample("azure-tags-sample.json")]
    )


def lookup(name, *data, type="A", status=DnsStatus.NOERROR, how=Technique.WORDLIST, domain=DOMAIN):
    """Data are addresses, host names for NS, or ``CNAME target``."""
    records = []
    for item in data:
        kind, _, target = item.rpartition(" ")
        records.append(Record(name, kind or type, 60, target))
    return Lookup(domain, how, Answer(name, type, status, tuple(records)))


def listed(name, *data, **more):
    return lookup(name, *data, how=Technique.LISTED, **more)


def servers(placed):
    return [
        (s.domain, s.server, str(s.status), s.placement.address, s.placement.service)
        for s in placed.servers
    ]


def test_it_works(table):
    placed = place_lookups(
        [
            listed(DOMAIN, "198.51.100.7"),
            lookup("www.example.com", "CNAME x.elb.amazonaws.com", "198.51.100.8"),
            listed(DOMAIN, "ns1.example.net", type="NS"),
            listed("ns1.example.net", "198.51.100.225"),
        ],
        table,
    )

    assert [(d, n, p.address, p.region) for d, n, p in placed.placements] == [
        (DOMAIN, DOMAIN, "198.51.100.7", "us-east-1"),
        (DOMAIN, "www.example.com", "198.51.100.8", "us-east-1"),
    ]
    assert [(d, f.name, f.label) for d, f in placed.fronts] == [
        (DOMAIN, DOMAIN, "vm"),
        (DOMAIN, "www.example.com", "elb"),
    ]
    assert servers(placed) == [(DOMAIN, "ns1.example.net", "NOERROR", "198.51.100.225", "ROUTE53")]


def test_an_address_outside_every_cloud_is_placed_too(table):
    placed = place_lookups([lookup("a.example.com", "203.0.113.5")], table)

    ((_, _, place),) = placed.placements
    assert (place.address, place.provider) == ("203.0.113.5", None)
    assert placed.fronts == []


def test_a_name_found_twice_is_placed_once(table):
    placed = place_lookups(
        [
            lookup("a.example.com", "198.51.100.7", how=Technique.AXFR),
            lookup("a.example.com", "198.51.100.7", "198.51.100.7"),
            lookup("a.example.com", "2001:db8:1::1", type="AAAA"),
        ],
        table,
    )

    assert [p.address for _, _, p in placed.placements] == ["198.51.100.7", "2001:db8:1::1"]
    assert [f.instance for _, f in placed.fronts] == ["198.51.100.7", "2001:db8:1::1"]


def test_failed_and_empty_answers_place_nothing(table):
    placed = place_lookups(
        [
            lookup("a.example.com", status=DnsStatus.TIMEOUT),
            lookup("b.example.com", "198.51.100.7", status=DnsStatus.SERVFAIL),
            lookup("c.example.com", "CNAME gone.example.net", status=DnsStatus.NODATA),
            lookup("d.example.com", "CNAME x.elb.amazonaws.com"),
            lookup("e.example.com", "not-an-address"),
        ],
        table,
    )

    assert [(n, p.provider) for _, n, p in placed.placements] == [("e.example.com", None)]
    assert placed.fronts == []


def test_one_name_under_two_domains_is_placed_under_both(table):
    names = [lookup("a.example.com", "198.51.100.7", domain=d) for d in (DOMAIN, "a.example.com")]

    assert [d for d, _, _ in place_lookups(names, table).placements] == [DOMAIN, "a.example.com"]


def test_name_servers_that_did_not_resolve_have_a_row_with_the_reason(table):
    placed = place_lookups(
        [
            listed(DOMAIN, "ns1.example.net", "ns2.example.net", "ns3.example.net", type="NS"),
            listed("ns1.example.net", status=DnsStatus.TIMEOUT),
            listed("ns2.example.net", status=DnsStatus.NODATA),
        ],
        table,
    )

    assert servers(placed) == [
        (DOMAIN, "ns1.example.net", "TIMEOUT", "", None),
        (DOMAIN, "ns2.example.net", "NODATA", "", None),
        (DOMAIN, "ns3.example.net", "SKIPPED", "", None),
    ]
    assert placed.placements == []


def test_name_servers_are_no_names_of_the_domain(table):
    placed = place_lookups(
        [
            listed(DOMAIN, "NS1.example.com.", type="NS"),
            listed("ns1.example.com", "198.51.100.200", "192.0.2.1"),
        ],
        table,
    )

    assert placed.placements == []
    assert [(s[1], s[3], s[4]) for s in servers(placed)] == [
        ("ns1.example.com", "198.51.100.200", "CLOUDFRONT"),
        ("ns1.example.com", "192.0.2.1", "AzureCloud"),
    ]


def test_a_name_server_may_be_the_domain_itself_or_a_found_name(table):
    placed = place_lookups(
        [
            listed(DOMAIN, "198.51.100.7"),
            listed(DOMAIN, DOMAIN, "ns1.example.com", type="NS"),
            lookup("ns1.example.com", "198.51.100.8"),
        ],
        table,
    )

    assert [s[3] for s in servers(placed)] == ["198.51.100.7", "198.51.100.8"]
    assert len(placed.placements) == 2


def test_a_server_of_many_domains_has_a_row_for_each(table):
    batch = [
        item
        for domain in ("a.test", "b.test")
        for item in (
            listed(domain, "ns.host.test", type="NS", domain=domain),
            listed("ns.host.test", "198.51.100.225", domain=domain),
        )
    ]
    batch.append(listed("ns.host.test", status=DnsStatus.TIMEOUT, domain="b.test"))

    assert [(s[0], s[3]) for s in servers(place_lookups(batch, table))] == [
        ("a.test", "198.51.100.225"),
        ("b.test", "198.51.100.225"),
    ]


def test_an_empty_batch(table):
    placed = place_lookups([], table)

    assert (placed.placements, placed.fronts, placed.servers) == ([], [], [])


def test_distinct_addresses_are_looked_up_once_and_together(table):
    class Counting:
        asked = []

        def place_many(self, addresses):
            self.asked.append(list(addresses))
            return table.place_many(addresses)

    batch = [lookup(f"n{i}.example.com", f"198.51.100.{i % 4}") for i in range(100)]

    assert len(place_lookups(batch, Counting()).placements) == 100
    assert Counting.asked == [[f"198.51.100.{i}" for i in range(4)]]
