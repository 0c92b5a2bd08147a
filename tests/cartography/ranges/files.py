"""The sample range files, and the real ones where they are at hand."""

from datetime import date
from functools import cache
from pathlib import Path

from cartography.ranges import RangeFile, read_ranges
from tests.shared import shared_file

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "ranges"
DAY = date(2013, 3, 29)

# file: provider, date where the file has none, entries by family
REAL = {
    "aws-ip-ranges-2015-04.json": ("aws", None, 393, 0),
    "aws-ip-ranges-2018-06.json": ("aws", None, 1177, 409),
    "aws-ip-ranges-2024-06.json.gz": ("aws", None, 9468, 2341),
    "azure-PublicIPs-20170911.xml": ("azure", date(2017, 9, 11), 3454, 0),
    "azure-ServiceTags_Public_20240624.json.gz": ("azure", date(2024, 6, 24), 59217, 20219),
    "azure-ServiceTags_China_20240624.json.gz": ("azure", date(2024, 6, 24), 2665, 1040),
    "google-cloud-2024-06.json": ("google", None, 622, 44),
    "google-goog-2023-02.json": ("google", None, 76, 11),
    "oracle-public_ip_ranges-2024-06.json": ("oracle", None, 727, 0),
    "digitalocean-google-2024-06.csv": ("digitalocean", date(2024, 6, 30), 997, 143),
    "linode-geofeed-2024-06.csv": ("linode", None, 3780, 31),
    "cloudflare-ips-v4-2024-06.txt": ("cloudflare", date(2024, 6, 30), 15, 0),
    "cloudflare-ips-v6-2024-06.txt": ("cloudflare", date(2024, 6, 30), 0, 7),
    "fastly-public-ip-list-2024-06.json": ("fastly", date(2024, 6, 30), 19, 2),
    "akamai-v4-2024-06.txt": ("akamai", date(2024, 6, 30), 19, 0),
}


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def read_sample(name: str) -> RangeFile:
    return read_ranges(name.partition("-")[0], sample(name), DAY)


@cache
def read_real(name: str) -> RangeFile:
    provider, as_of, *_ = REAL[name]
    return read_ranges(provider, shared_file(f"ip-ranges/{name}").read_bytes(), as_of)
