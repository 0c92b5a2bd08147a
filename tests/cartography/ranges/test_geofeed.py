"""Files of the providers with lists, geofeeds and documents of their own."""

import json
from datetime import date

import pytest

from cartography.ranges import guess_provider, read_ranges
from cartography.ranges.plausibility import assess_file
from core.errors import BadInput
from core.statuses import AddressKind
from tests.cartography.ranges.files import DAY, read_sample, sample

OTHERS = {
    "oracle-sample.json": "oracle",
    "digitalocean-sample.csv": "digitalocean",
    "linode-sample.csv": "linode",
    "cloudflare-v4-sample.txt": "cloudflare",
    "cloudflare-v6-sample.txt": "cloudflare",
    "fastly-sample.json": "fastly",
    "akamai-v4-sample.txt": "akamai",
    "ibm-sample.md": "ibm",
}
DATED = {"oracle-sample.json", "linode-sample.csv", "ibm-sample.md"}


def rows(name):
    return [(e.prefix, e.service, e.region) for e in read_sample(name).entries]


def refusal(provider, data):
    with pytest.raises(BadInput) as caught:
        read_ranges(provider, data, DAY)
    return str(caught.value)


def test_it_works():
    assert rows("oracle-sample.json") == [
        ("198.51.100.0/26", "OCI", "eu-zurich-1"),
        ("198.51.100.64/28", "OSN", "eu-zurich-1"),
        ("198.51.100.64/28", "OBJECT_STORAGE", "eu-zurich-1"),
        ("198.51.100.128/27", "OSN", "us-phoenix-1"),
    ]


def test_a_block_with_two_tags_counts_once():
    assert read_sample("oracle-sample.json").counts == {
        "entries": 3,
        "ipv4": 3,
        "ipv6": 0,
        "regions": 2,
    }


def test_cities_become_regions():
    assert rows("digitalocean-sample.csv") == [
        ("192.0.2.0/28", "DigitalOcean", "nyc"),
        ("192.0.2.16/28", "DigitalOcean", "ams"),
        ("192.0.2.32/28", "DigitalOcean", None),
        ("2001:db8:4::/48", "DigitalOcean", "sgp"),
    ]
    assert [r[2] for r in rows("linode-sample.csv")] == ["eu-west", "jp-osa", None]


def test_a_city_that_is_no_region_keeps_its_name():
    entries = read_sample("linode-sample.csv").entries

    assert entries[2].region_as_published == "US Philadelphia"


def test_edge_networks_stand_nowhere():
    for name in ("cloudflare-v4-sample.txt", "fastly-sample.json", "akamai-v4-sample.txt"):
        assert {(e.kind, e.region) for e in read_sample(name).entries} == {(AddressKind.CDN, None)}


def test_both_families_of_a_list_are_in_force_side_by_side():
    assert read_sample("cloudflare-v4-sample.txt").variant == "v4"
    assert read_sample("cloudflare-v6-sample.txt").variant == "v6"


def test_zones_of_ibm_are_border_groups():
    entries = read_sample("ibm-sample.md").entries

    assert [(e.prefix, e.region, e.border_group) for e in entries] == [
        ("192.0.2.0/27", "us-south", "us-south-1"),
        ("192.0.2.64/28", "us-south", "us-south-1"),
        ("192.0.2.128/26", "us-south", "us-south-2"),
        ("198.51.100.0/24", "jp-osa", "jp-osa-1"),
    ]


def test_a_geofeed_of_cities_that_two_providers_share_fits_both():
    feed = b"192.0.2.0/28,NL,NL-NH,Amsterdam,\n"

    assert guess_provider(feed) is None
    assert read_ranges("digitalocean", feed, DAY).entries[0].region == "ams"
    assert read_ranges("linode", feed, DAY).entries[0].region == "nl-ams"


def test_a_geofeed_with_one_city_of_its_own_is_that_providers():
    feed = b"192.0.2.0/28,NL,NL-NH,Amsterdam,\n192.0.2.16/28,US,US-NJ,North Bergen,\n"

    assert guess_provider(feed) == "digitalocean"
    assert "it looks like a file of digitalocean" in refusal("linode", feed)


@pytest.mark.parametrize("name", OTHERS)
def test_the_date_is_the_files_own_or_has_to_be_given(name):
    if name in DATED:
        assert read_ranges(OTHERS[name], sample(name)).as_of == date(2013, 3, 29)
        return
    with pytest.raises(BadInput) as caught:
        read_ranges(OTHERS[name], sample(name))
    assert caught.value.field == "as-of"


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("provider", ["aws", "oracle", "linode", "cloudflare", "akamai", "ibm"])
def test_the_file_of_another_provider(name, provider):
    if provider != OTHERS[name]:
        assert f"it looks like a file of {OTHERS[name]}" in refusal(provider, sample(name))


IBM = sample("ibm-sample.md")


def oracle(prefix, *tags):
    block = {"cidr": prefix, "tags": tags}
    return json.dumps({"regions": [{"region": "a", "cidrs": [block]}]}).encode()


def fastly(ipv6):
    return json.dumps({"addresses": ["192.0.2.0/24"], "ipv6_addresses": ipv6}).encode()


@pytest.mark.parametrize(
    ("provider", "data", "message"),
    [
        ("cloudflare", b"173.245.48.0/20\n192.0.2.0/2", "line 2: '192.0.2.0/2'"),
        ("cloudflare", b"173.245.48.0/20\n192.0.2.0", "its length is missing"),
        ("cloudflare", b"173.245.48.0/20\n2400:cb00::/32", "prefixes of both families"),
        ("cloudflare", b"173.245.48.0/20\n\xff", "not UTF-8"),
        ("cloudflare", b"<html>104.16.0.0/13</html>", "no cloudflare range file"),
        ("akamai", b"198.51.100.0/25\nhello", "line 2: 'hello' is not a prefix"),
        ("akamai", b"# nothing\n", "no akamai range file"),
        ("digitalocean", b"192.0.2.0/28,US,US-NJ,North Bergen,070", "does not end"),
        ("digitalocean", b"192.0.2.0/28,US,US-NJ,North Bergen\n", "it has 4 cells"),
        ("digitalocean", b"192.0.2.0/28,us,US-NJ,North Bergen,1\n", "'us'"),
        ("digitalocean", b"192.0.2.0/28,US,US-NJ,,1\n", "are not a country's code and a city"),
        ("linode", b"# feed\n192.0.2.9/28,US,US-NJ,Newark,\n", "no linode range file"),
        ("linode", b"#\n::/64,US,,A,\n192.0.2.9/28,US,,A,\n", "line 3: '192.0.2.9/28'"),
        ("oracle", b'{"regions": [{"cidrs": []}]}', "region 1: no name"),
        ("oracle", oracle("192.0.2.0/24"), "region a, entry 1: no tag"),
        ("oracle", oracle("192.0.2.0", "OCI"), "region a, entry 1: '192.0.2.0'"),
        ("oracle", b'{"regions": [], "cidrs": 1}', "lists no prefix"),
        ("fastly", fastly(["192.0.2.0/24"]), "not an IPv6 prefix"),
        ("fastly", fastly(None), "'ipv6_addresses' is missing"),
        ("ibm", IBM.replace(b"jp-osa-1", b"osaka"), "'osaka' is not a zone"),
        ("ibm", IBM.replace(b"192.0.2.64/28", b"192.0.2.65/28"), "'192.0.2.65/28'"),
        ("ibm", IBM[:-60], "cut off"),
        ("ibm", IBM[:-20], "cut off"),
    ],
)
def test_what_is_refused(provider, data, message):
    assert message in refusal(provider, data)


def test_a_damaged_digit_of_aws_lies_outside_amazons_blocks():
    rows = [
        f'{{"ip_prefix": "198.51.{n}.0/24", "region": "us-east-1", "service": "{s}"}}'
        for n in range(100)
        for s in ("AMAZON", "EC2")
    ]
    whole = '{"createDate": "2013-03-29-00-00-00", "prefixes": [%s]}'
    damaged = [row.replace("198.51.7.0", "198.151.7.0") if "EC2" in row else row for row in rows]

    assert assess_file(read_ranges("aws", (whole % ", ".join(rows)).encode())).refusal is None
    said = assess_file(read_ranges("aws", (whole % ", ".join(damaged)).encode())).refusal
    assert "198.151.7.0/24 (EC2) is in no block of AMAZON" in said
