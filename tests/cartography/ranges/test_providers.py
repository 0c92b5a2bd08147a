import gzip
from datetime import date

import pytest

from cartography.ranges import guess_provider, read_ranges
from cartography.ranges.providers.azure_names import modern_region
from core.errors import BadInput
from core.statuses import AddressKind
from tests.cartography.ranges.files import DAY, REAL, read_real, read_sample, sample


def by_prefix(file, prefix):
    return {e.service: e for e in file.entries if e.prefix == prefix}


def test_it_works():
    file = read_ranges("aws", sample("aws-sample.json"))

    assert (file.provider, file.as_of) == ("aws", DAY)
    assert file.counts == {"entries": 11, "ipv4": 9, "ipv6": 2, "regions": 2}


def test_aws_keeps_every_row_of_a_block():
    rows = by_prefix(read_sample("aws-sample.json"), "198.51.100.32/28")

    assert set(rows) == {"AMAZON", "S3", "EC2"}
    assert {e.region for e in rows.values()} == {"us-east-1"}


def test_aws_cloudfront_is_an_edge_network_without_a_region():
    entry = by_prefix(read_sample("aws-sample.json"), "198.51.100.192/27")["CLOUDFRONT"]

    assert (entry.kind, entry.region, entry.region_as_published) == (
        AddressKind.CDN,
        None,
        "GLOBAL",
    )


def test_aws_keeps_the_border_group():
    entry = by_prefix(read_sample("aws-sample.json"), "198.51.100.128/26")["EC2"]

    assert (entry.region, entry.border_group) == ("us-west-2", "us-west-2-lax-1")


def test_azure_tags_are_regions_and_services():
    file = read_sample("azure-tags-sample.json")

    assert file.counts == {"entries": 7, "ipv4": 5, "ipv6": 2, "regions": 2, "tags": 5}
    assert file.variant == "public"
    assert by_prefix(file, "192.0.2.0/26")["AzureCloud"].region == "westeurope"
    assert by_prefix(file, "192.0.2.16/28")["Storage"].region == "westeurope"
    assert by_prefix(file, "192.0.2.40/31")["PowerBI"].region is None
    front = by_prefix(file, "192.0.2.96/28")["AzureFrontDoor.Frontend"]
    assert front.kind == AddressKind.CDN


def test_azure_short_names_become_location_codes():
    entry = by_prefix(read_sample("azure-tags-sample.json"), "192.0.2.64/27")["AzureCloud"]

    assert (entry.region, entry.region_as_published) == ("norwayeast", "norwaye")


def test_azure_older_list_has_the_same_codes():
    file = read_sample("azure-list-sample.xml")

    assert file.counts == {"entries": 3, "ipv4": 3, "ipv6": 0, "regions": 2, "tags": 0}
    assert {(e.region, e.region_as_published) for e in file.entries} == {
        ("westeurope", "europewest"),
        ("eastus2", "useast2"),
    }


@pytest.mark.parametrize(
    ("published", "code"),
    [
        ("usnorth", "northcentralus"),
        ("ussouth", "southcentralus"),
        ("uscentral", "centralus"),
        ("asiasoutheast", "southeastasia"),
        ("indiawest", "westindia"),
        ("useast2euap", "eastus2euap"),
        ("francec", "francecentral"),
        ("centralfrance", "francecentral"),
        ("usstagee", "eastusstg"),
        ("UKSouth", "uksouth"),
        ("atlantis", "atlantis"),
    ],
)
def test_azure_region_names(published, code):
    assert modern_region(published) == code


def test_google_regions_and_own_services():
    cloud, own = read_sample("google-cloud-sample.json"), read_sample("google-goog-sample.json")

    assert (cloud.variant, own.variant) == ("cloud", "goog")
    assert [(e.region, e.kind) for e in cloud.entries] == [
        ("europe-west3", AddressKind.CLOUD),
        (None, AddressKind.CLOUD),
        ("us-central1", AddressKind.CLOUD),
    ]
    assert {e.kind for e in own.entries} == {AddressKind.CORPORATE}


def test_gzip_is_read_as_plain():
    packed = gzip.compress(sample("google-cloud-sample.json"))

    assert read_ranges("google", packed) == read_ranges(
        "google", sample("google-cloud-sample.json")
    )
    assert guess_provider(packed) == "google"


def test_a_given_date_wins_over_the_file():
    assert read_ranges("aws", sample("aws-sample.json"), date(2020, 1, 2)).as_of == date(2020, 1, 2)


def test_azure_needs_a_date():
    with pytest.raises(BadInput) as caught:
        read_ranges("azure", sample("azure-tags-sample.json"))

    assert caught.value.field == "as-of"


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("aws-sample.json", "aws"),
        ("azure-tags-sample.json", "azure"),
        ("azure-list-sample.xml", "azure"),
        ("google-goog-sample.json", "google"),
        ("README.md", None),
    ],
)
def test_guess_provider(name, provider):
    assert guess_provider(sample(name)) == provider


@pytest.mark.parametrize("name", REAL)
def test_real_file(name):
    provider, as_of, ipv4, ipv6 = REAL[name]
    file = read_real(name)

    assert file.provider == provider
    assert as_of in (None, file.as_of)
    assert (file.counts["ipv4"], file.counts["ipv6"]) == (ipv4, ipv6)
    assert file.counts["entries"] == ipv4 + ipv6
    # Oracle's blocks may have two tags, and stand for two entries then.
    assert len({e.prefix for e in file.entries}) <= ipv4 + ipv6 <= len(file.entries)


def test_real_azure_tags_are_counted():
    assert read_real("azure-ServiceTags_Public_20240624.json.gz").counts["tags"] == 2604
