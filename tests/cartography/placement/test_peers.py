"""Real tables beside an independent longest-prefix match: random addresses and every edge."""

import ipaddress
import random
from functools import lru_cache

import pytest
import radix

from cartography.placement.cloud_table import PrefixTable
from core.statuses import AddressKind
from tests.cartography.ranges.files import REAL, read_real

BITS = {4: 32, 6: 128}
NEWEST = (
    "aws-ip-ranges-2024-06.json.gz",
    "azure-ServiceTags_Public_20240624.json.gz",
    "azure-ServiceTags_China_20240624.json.gz",
    "google-cloud-2024-06.json",
    "google-goog-2023-02.json",
)


def text_of(family, number):
    kind = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
    return str(kind(number))


def edges(table, family):
    """Every boundary of the table and both of its neighbours."""
    around = {start + step for start in table.boundaries(family) for step in (-1, 0, 1)}
    return [text_of(family, n) for n in sorted(around) if 0 <= n < 2 ** BITS[family]]


def strangers(family, count=5_000):
    generator = random.Random(2013)
    return [text_of(family, generator.getrandbits(BITS[family])) for _ in range(count)]


def peer_of(files):
    """One tree per family; a node holds the entries of its prefix."""
    trees = {4: radix.Radix(), 6: radix.Radix()}
    for file in files:
        for entry in file.entries:
            node = trees[6 if ":" in entry.prefix else 4].add(entry.prefix)
            node.data.setdefault("entries", []).append(entry)
    return trees


@pytest.mark.parametrize("name", REAL)
def test_the_longest_prefix_is_found(name):
    file = read_real(name)
    table = PrefixTable.build([file])
    for family, tree in peer_of([file]).items():
        asked = edges(table, family) + strangers(family)
        for address, place in zip(asked, table.place_many(asked), strict=True):
            node = tree.search_best(address)
            assert place.prefix == (node.prefix if node else None), address


@lru_cache(maxsize=1)
def newest():
    files = [read_real(name) for name in NEWEST]
    return PrefixTable.build(files), peer_of(files)


def rederive(tree, address):
    """Provider, region and services from the covering prefixes, most specific first."""
    groups = [node.data["entries"] for node in tree.search_covering(address)]
    if not groups:
        return None, None, set()
    rented = [g for g in groups if any(e.kind != AddressKind.CORPORATE for e in g)]
    provider = (rented or groups)[0][0].provider
    own = [[e for e in group if e.provider == provider] for group in groups]
    said = [g for g in own if any(e.region_as_published for e in g)]
    regions = {e.region for e in said[0]} - {None} if said else set()
    assert len(regions) < 2
    return provider, next(iter(regions), None), {e.service for g in own for e in g}


@pytest.mark.parametrize("family", [4, 6])
def test_provider_region_and_services_are_rederived(family):
    table, trees = newest()
    generator = random.Random(4)
    asked = generator.sample(edges(table, family), 4_000) + strangers(family, 1_000)

    for address, place in zip(asked, table.place_many(asked), strict=True):
        found = (place.provider, place.region, set(place.services))
        assert found == rederive(trees[family], address), address


@pytest.mark.parametrize(
    ("address", "provider", "service", "region"),
    [
        ("23.20.0.1", "aws", "EC2", "us-east-1"),
        ("52.31.0.1", "aws", "EC2", "eu-west-1"),
        ("54.252.0.1", "aws", "EC2", "ap-southeast-2"),
        ("52.216.0.1", "aws", "S3", "us-east-1"),
        ("205.251.197.10", "aws", "ROUTE53", None),
        ("54.230.1.1", "aws", "CLOUDFRONT", None),
        ("75.2.60.5", "aws", "GLOBALACCELERATOR", None),
        ("2600:1f18::1", "aws", "EC2", "us-east-1"),
        ("2a05:d018::1", "aws", "EC2", "eu-west-1"),
        ("13.64.0.1", "azure", "AzureCloud", "westus"),
        ("40.112.124.5", "azure", "AzureCloud", "westeurope"),
        ("20.36.64.1", "azure", "AzureCloud", "australiacentral2"),
        ("13.107.246.10", "azure", "AzureFrontDoor.Frontend", None),
        ("34.35.0.1", "google", "Google Cloud", "africa-south1"),
        ("35.247.0.1", "google", "Google Cloud", "us-west1"),
        ("8.8.8.8", "google", "Google", None),
        ("::ffff:52.31.0.1", "aws", "EC2", "eu-west-1"),
        ("1.1.1.1", None, None, None),
        ("192.168.0.1", None, None, None),
    ],
)
def test_well_known_addresses(address, provider, service, region):
    place = newest()[0].place(address)

    assert (place.provider, place.service, place.region) == (provider, service, region)
