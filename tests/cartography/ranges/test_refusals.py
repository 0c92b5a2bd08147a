"""Range files that are refused: one clear message each."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cartography.ranges import MAX_FILE_BYTES, read_ranges
from core.errors import BadInput
from tests.cartography.ranges.files import DAY, REAL, sample
from tests.shared import shared_file

SAMPLES = {
    "aws-sample.json": "aws",
    "azure-tags-sample.json": "azure",
    "azure-list-sample.xml": "azure",
    "google-cloud-sample.json": "google",
    "google-goog-sample.json": "google",
}


def refusal(provider, data):
    with pytest.raises(BadInput) as caught:
        read_ranges(provider, data, DAY)
    return str(caught.value)


def aws(**changes):
    row = {"ip_prefix": "198.51.100.0/25", "region": "us-east-1", "service": "EC2"} | changes
    good = {"ip_prefix": "192.0.2.0/24", "region": "us-east-1", "service": "EC2"}
    document = {"createDate": "2013-03-29-00-00-00", "prefixes": [good, row]}
    return json.dumps(document).encode()


def test_it_works():
    assert "IPv4 entry 2: '198.51.100.0/33'" in refusal("aws", aws(ip_prefix="198.51.100.0/33"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ip_prefix": "198.51.100.1/25"}, "host bits set"),
        ({"ip_prefix": "198.51.100.0/x"}, "not a length"),
        ({"ip_prefix": "198.51.100.0/-1"}, "not a length"),
        ({"ip_prefix": "198.51.100.0/²5"}, "not a length"),
        ({"ip_prefix": "198.51.100/24"}, "not an IP address"),
        ({"ip_prefix": "198.51.100.00/25"}, "not an IP address"),
        ({"ip_prefix": "198.51.100.0\x00/25"}, "not an IP address"),
        ({"ip_prefix": "0.0.0.0/0"}, "wider than anything"),
        ({"ip_prefix": "2001:db8::/32"}, "not an IPv4 prefix"),
        ({"ip_prefix": 3325256704}, "there is no prefix"),
        ({"ip_prefix": None}, "there is no prefix"),
        ({"region": None}, "no region is given"),
        ({"region": ["us-east-1"]}, "region is not a text"),
        ({"service": ""}, "no service is given"),
        ({"network_border_group": 7}, "network_border_group is not a text"),
    ],
)
def test_a_bad_entry_is_named(changes, message):
    said = refusal("aws", aws(**changes))

    assert said.startswith("IPv4 entry 2: ")
    assert message in said


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("provider", ["aws", "azure", "google"])
def test_another_providers_file_is_recognised(name, provider):
    if provider != SAMPLES[name]:
        assert f"it looks like a file of {SAMPLES[name]}" in refusal(provider, sample(name))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_is_cut_off(name):
    data = sample(name)
    for size in (1, len(data) // 3, len(data) // 2, len(data) - 3):
        assert refusal(SAMPLES[name], data[:size])
        packed = gzip.compress(data)
        assert "gzip" in refusal(SAMPLES[name], packed[:-9])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (b"\x00\x01\x02", "no aws range file"),
        (b"<html>not found</html>", "no aws range file"),
        (b'["ip_prefix"]', "no JSON object"),
        (b'{"createDate": 1, "prefixes": {}}', "the list 'prefixes' is missing"),
        (b'{"createDate": 1, "prefixes": []}', "lists no prefix"),
        (b'{"createDate": 1, "prefixes": [3]}', "IPv4 entry 1: it is not an object"),
        (b'{"createDate": 1, "ipv6_prefixes": 1, "prefixes": []}', "'ipv6_prefixes' is missing"),
        (b'{"createDate": "\xff", "prefixes": []}', "not UTF-8 at byte 16"),
        (b'{"createDate": ' + b"[" * 100_000, "JSON"),
        (b'{"createDate": ' + b"1" * 10_000 + b"}", "JSON"),
    ],
)
def test_a_file_of_another_kind(data, message):
    assert message in refusal("aws", data)


def test_a_file_without_its_date():
    data = aws().replace(b"2013-03-29-00-00-00", b"yesterday")

    with pytest.raises(BadInput, match="'yesterday' is not a date; give --as-of"):
        read_ranges("aws", data)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([7], "tag 1: no name"),
        ([{"name": "A"}], r"tag 1 (A): no properties"),
        ([{"name": "A", "properties": {}}], "tag 1 (A): the list 'addressPrefixes' is missing"),
        ([{"name": "A", "properties": {"addressPrefixes": [5]}}], "tag 1 (A): there is no"),
        ([{"name": "A", "properties": {"region": 5, "addressPrefixes": []}}], "region is not"),
        ([], "lists no prefix"),
    ],
)
def test_service_tags_of_another_shape(values, message):
    data = json.dumps({"changeNumber": 1, "cloud": "Public", "values": values}).encode()

    assert message in refusal("azure", data)


def test_xml_names_the_region_and_entry():
    data = sample("azure-list-sample.xml").replace(b"192.0.2.96/28", b"192.0.2.97/28")

    assert "region useast2, entry 2: '192.0.2.97/28'" in refusal("azure", data)


def test_xml_with_entities_is_refused():
    bomb = b'<!DOCTYPE x [<!ENTITY a "aa">]><AzurePublicIpAddresses>&a;</AzurePublicIpAddresses>'

    assert "entities" in refusal("azure", bomb)


def test_xml_of_a_strange_encoding_is_refused():
    data = sample("azure-list-sample.xml").replace(b"utf-8", b"klingon")

    assert "XML is damaged" in refusal("azure", data)


def test_a_file_that_is_too_large():
    bomb = gzip.compress(b" " * (MAX_FILE_BYTES + 1), 1)

    assert "more than 64 MiB" in refusal("aws", bomb)


def test_an_unknown_provider():
    assert "use one of aws, azure, google" in refusal("nimbus", sample("aws-sample.json"))


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_damage_is_refused_or_harmless(name, data):
    original = sample(name)
    at = data.draw(st.integers(0, len(original) - 1))
    damaged = original[:at] + bytes([data.draw(st.integers(0, 255))]) + original[at + 1 :]
    try:
        file = read_ranges(SAMPLES[name], damaged, DAY)
    except BadInput:
        return
    assert file.entries


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_that_is_cut_off(name):
    data = shared_file(f"ip-ranges/{name}").read_bytes()

    assert refusal(REAL[name][0], data[: len(data) * 2 // 3])
