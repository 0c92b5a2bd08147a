"""Addresses whose place is known from elsewhere, beside the tables of all providers together.

What is known: the addresses by which Amazon lets people test that a region can be reached; those of
Microsoft's own site, which stood in five regions; speed tests that Linode and DigitalOcean run in
each data centre; regional endpoints of storage; public resolvers and edges.
"""

from functools import lru_cache

import pytest

from cartography.placement.cloud_table import PrefixTable
from tests.cartography.ranges.files import REAL, read_real

OLDER = {"aws-ip-ranges-2015-04.json", "aws-ip-ranges-2018-06.json", "azure-PublicIPs-20170911.xml"}
KNOWN = [
    ("23.23.255.255", "aws", "EC2", "us-east-1"),
    ("50.112.120.176", "aws", "EC2", "us-west-2"),
    ("52.8.63.252", "aws", "EC2", "us-west-1"),
    ("52.16.63.252", "aws", "EC2", "eu-west-1"),
    ("52.28.63.252", "aws", "EC2", "eu-central-1"),
    ("13.228.0.251", "aws", "EC2", "ap-southeast-1"),
    ("13.54.63.252", "aws", "EC2", "ap-southeast-2"),
    ("46.51.255.254", "aws", "EC2", "ap-northeast-1"),
    ("177.71.128.21", "aws", "EC2", "sa-east-1"),
    ("52.94.5.1", "aws", "DYNAMODB", "eu-west-1"),
    ("205.251.197.10", "aws", "ROUTE53", None),
    ("2600:1f18::1", "aws", "EC2", "us-east-1"),
    ("40.76.4.15", "azure", "AzureCloud", "eastus"),
    ("40.112.72.205", "azure", "AzureCloud", "northeurope"),
    ("40.113.200.201", "azure", "AzureCloud", "centralus"),
    ("104.215.148.63", "azure", "AzureCloud", "southeastasia"),
    ("::ffff:13.77.161.179", "azure", "AzureCloud", "westus2"),
    ("13.107.246.10", "azure", "AzureFrontDoor.Frontend", None),
    ("34.65.1.1", "google", "Google Cloud", "europe-west6"),
    ("8.8.4.4", "google", "Google", None),
    ("134.70.24.1", "oracle", "OBJECT_STORAGE", "us-ashburn-1"),
    ("192.241.184.88", "digitalocean", "DigitalOcean", "nyc"),
    ("107.170.223.15", "digitalocean", "DigitalOcean", "sfo"),
    ("188.226.175.227", "digitalocean", "DigitalOcean", "ams"),
    ("50.116.25.154", "linode", "Linode", "us-central"),
    ("50.116.14.9", "linode", "Linode", "us-west"),
    ("176.58.107.39", "linode", "Linode", "eu-west"),
    ("139.162.130.8", "linode", "Linode", "eu-central"),
    ("139.162.65.37", "linode", "Linode", "ap-northeast"),
    ("104.16.132.229", "cloudflare", "Cloudflare", None),
    ("2606:4700::1", "cloudflare", "Cloudflare", None),
    ("151.101.1.140", "fastly", "Fastly", None),
    ("23.32.1.1", "akamai", "Akamai", None),
    ("9.9.9.9", None, None, None),
    ("192.168.0.1", None, None, None),
]


@lru_cache(maxsize=1)
def newest():
    return PrefixTable.build([read_real(name) for name in REAL if name not in OLDER])


@pytest.mark.parametrize(("address", "provider", "service", "region"), KNOWN)
def test_known_addresses(address, provider, service, region):
    place = newest().place(address)

    assert (place.provider, place.service, place.region) == (provider, service, region)


@pytest.mark.parametrize(
    ("address", "region", "group"),
    [
        ("70.224.192.1", "us-west-2", "us-west-2-lax-1"),
        ("15.181.240.1", "us-east-1", "us-east-1-dfw-1"),
        ("23.23.255.255", "us-east-1", "us-east-1"),
    ],
)
def test_local_zones_are_border_groups_of_their_region(address, region, group):
    place = newest().place(address)

    assert (place.region, place.border_group) == (region, group)
