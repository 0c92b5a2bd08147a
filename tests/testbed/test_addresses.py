import ipaddress
import json
from xml.etree import ElementTree

import pytest

from core.errors import BadInput
from testbed.files.prefix_inventory import invent_ranges
from testbed.files.range_files import OLD_AZURE_NAMES, write_files
from testbed.generate.addresses.allocator import build_allocator
from testbed.world.model import PublishedRange, PublishedRanges
from testbed.worlds.loading import build_world
from tests.shared import shared_file
from tests.testbed.shared_worlds import hundredth, tiny


def test_it_works():
    allocator = build_allocator(invent_ranges({"aws": ["us-east-1"], "azure": ["eastus"]}))
    address = allocator.compute_address("aws", "us-east-1", "a")
    assert allocator.places[address].region == "us-east-1"
    assert allocator.places[address].zone == "a"
    assert allocator.compute_address("aws", "us-east-1") != address


def networks(ranges, provider, region):
    return [
        ipaddress.ip_network(e.prefix)
        for table in ranges
        for e in table.entries
        if e.provider == provider and e.region == region and ":" not in e.prefix
    ]


@pytest.mark.parametrize("world", [tiny, hundredth])
def test_every_address_is_within_its_published_range(world):
    found = world()
    every = [
        n
        for t in found.ranges
        for n in (ipaddress.ip_network(e.prefix) for e in t.entries)
        if n.version == 4
    ]
    for address, place in found.places.items():
        region = place.region or "GLOBAL"
        assert any(
            ipaddress.ip_address(address) in n
            for n in networks(found.ranges, place.provider, region)
        )
    others = {a for _, n in found.names() for a in n.addresses if a not in found.places}
    assert others
    assert not any(ipaddress.ip_address(a) in n for a in list(others)[:200] for n in every)


def ranges_of(*rows, provider="aws"):
    entries = tuple(PublishedRange(p, provider, s, r) for p, s, r in rows)
    return PublishedRanges(provider, entries, "test")


def test_ambiguous_space_is_not_drawn_from():
    allocator = build_allocator(
        [
            ranges_of(
                ("240.0.0.0/28", "AMAZON", "us-east-1"),
                ("240.0.0.0/28", "EC2", "us-east-1"),
                ("240.0.0.0/29", "S3", "us-east-1"),
                ("240.0.0.12/30", "EC2", "us-west-1"),
            )
        ]
    )
    drawn = {allocator.compute_address("aws", "us-east-1") for _ in range(4)}
    assert drawn == {f"240.0.0.{i}" for i in range(8, 12)}
    with pytest.raises(BadInput, match="smaller scale"):
        allocator.compute_address("aws", "us-east-1")


def test_other_hosting_is_outside_published_space():
    allocator = build_allocator([ranges_of(("198.18.0.0/15", "EC2", "us-east-1"))])
    assert not allocator.other_address().startswith("198.18.")
    everything = ranges_of(
        *((p, "EC2", "us-east-1") for p in ("192.0.0.0/8", "198.0.0.0/8", "203.0.0.0/8"))
    )
    with pytest.raises(BadInput, match="other hosting"):
        build_allocator([everything])


def test_missing_region_is_substituted_with_a_note():
    allocator = build_allocator([ranges_of(("240.0.0.0/24", "EC2", "us-east-1"))])
    assert (
        allocator.places[allocator.compute_address("aws", "sa-east-1", "a")].region == "us-east-1"
    )
    assert "sa-east-1" in allocator.notes[0]
    with pytest.raises(BadInput, match="azure"):
        allocator.compute_address("azure", "eastus")
    with pytest.raises(BadInput):
        allocator.cdn_address()


def test_a_bad_prefix_is_named():
    with pytest.raises(BadInput, match="300"):
        build_world("tiny", range_files=[ranges_of(("300.0.0.0/8", "EC2", "us-east-1"))])


def test_files_hold_the_ranges(tmp_path):
    world = tiny()
    files = write_files(world, tmp_path)
    aws = json.loads(files["aws"].read_text())
    rows = [(r["ip_prefix"], r["service"], r["region"]) for r in aws["prefixes"]]
    own = next(t for t in world.ranges if t.provider == "aws").entries
    assert rows == [(e.prefix, e.service, e.region) for e in own if ":" not in e.prefix]
    assert aws["ipv6_prefixes"]
    azure = next(t for t in world.ranges if t.provider == "azure").entries
    found = {
        (r.get("Name"), p.get("Subnet"))
        for r in ElementTree.parse(files["azure"]).getroot()
        for p in r
    }
    assert found == {(OLD_AZURE_NAMES[e.region], e.prefix) for e in azure}
    tags = json.loads(files["azure-tags"].read_text())["values"]
    assert {t["properties"]["region"] for t in tags} == {"", "eastus", "westeurope"}
    assert json.loads(files["google"].read_text())["prefixes"][0]["scope"] == "europe-west3"
    assert files["domains"].read_text().splitlines()[0] == "3,alder.test"
    assert world.id in files["readme"].read_text()


AZURE = {old: new for new, old in OLD_AZURE_NAMES.items()}


def real_ranges():
    aws = json.loads(shared_file("ip-ranges/aws-ip-ranges-2015-04.json").read_text())
    xml = ElementTree.parse(shared_file("ip-ranges/azure-PublicIPs-20170911.xml")).getroot()
    return [
        PublishedRanges(
            "aws",
            tuple(
                PublishedRange(p["ip_prefix"], "aws", p["service"], p["region"])
                for p in aws["prefixes"]
            ),
            "aws",
        ),
        PublishedRanges(
            "azure",
            tuple(
                PublishedRange(
                    p.get("Subnet"), "azure", "AzureCloud", AZURE.get(r.get("Name"), r.get("Name"))
                )
                for r in xml
                for p in r
            ),
            "azure",
        ),
    ]


def test_real_prefixes_place_addresses_consistently():
    radix = pytest.importorskip("radix")
    files = real_ranges()
    tree = radix.Radix()
    for entry in (e for table in files for e in table.entries):
        node = tree.search_exact(entry.prefix) or tree.add(entry.prefix)
        node.data.setdefault("says", set()).add((entry.provider, entry.service, entry.region))
    world = build_world("imc2013", domains=[f"site{i}.test" for i in range(300)], range_files=files)
    for _, name in world.names():
        for address in name.addresses:
            place, node = world.place(address), tree.search_best(address)
            if place.provider is None:
                assert node is None
            else:
                wanted = (place.provider, place.service, place.region or "GLOBAL")
                assert wanted in node.data["says"]
    assert not write_files_of_real(world)


def write_files_of_real(world):
    """Providers whose ranges came from real files get none of ours."""
    return [t for t in world.ranges if t.source == "invented"]
