"""Real logs, placed by real ranges, beside an independent count with py-radix."""

from datetime import date

import pytest

from analysis.traffic.report import compute_traffic
from benchmarks.traffic.recount import read_trees, recount
from cartography.placement.cloud_table import PrefixTable
from cartography.ranges import read_ranges
from tests.cartography.traffic.logs import read_paths
from tests.shared import shared_file

# The newest file of each provider and variant.
RANGES = (
    "aws-ip-ranges-2024-06.json.gz",
    "azure-ServiceTags_Public_20240624.json.gz",
    "azure-ServiceTags_China_20240624.json.gz",
    "google-cloud-2024-06.json",
    "google-goog-2023-02.json",
    "oracle-public_ip_ranges-2024-06.json",
    "digitalocean-google-2024-06.csv",
    "linode-geofeed-2024-06.csv",
    "cloudflare-ips-v4-2024-06.txt",
    "fastly-public-ip-list-2024-06.json",
    "akamai-v4-2024-06.txt",
)
LOGS = [f"m57-short-{kind}.log.gz" for kind in ("conn", "http", "ssl", "dns")]
LOGS += [f"rita-2024-04-19-h00-11-{kind}.log.gz" for kind in ("conn", "http", "ssl", "dns")]
LOGS += ["wrccdc2018-dns.log.gz", "wrccdc2018-ssl.json.gz", "wrccdc2018-ssl.log.gz"]
LOGS += [f"zat-{kind}.log.gz" for kind in ("conn", "http", "ssl")]


@pytest.fixture(scope="module")
def trees():
    return read_trees(shared_file(f"ip-ranges/{name}") for name in RANGES)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    files = [
        read_ranges(
            name.partition("-")[0], shared_file(f"ip-ranges/{name}").read_bytes(), date(2024, 7, 1)
        )
        for name in RANGES
    ]
    out = tmp_path_factory.mktemp("real")
    paths = [shared_file(f"zeek/{name}") for name in LOGS]
    accounts, _ = read_paths(out, paths, table=PrefixTable.build(files))
    return accounts, compute_traffic(out)


@pytest.mark.parametrize("number", range(len(LOGS)), ids=LOGS)
def test_a_log_has_the_shares_that_an_independent_count_finds(real, trees, number):
    account = real[0][number]
    counted = recount(shared_file(f"zeek/{LOGS[number]}"), trees)
    assert (account.rows, account.tally.total, account.damage) == (counted.total, 0, "")
    found = account.clouds.total()
    assert {cloud: own.rows for cloud, own in found.items()} == dict(counted.rows)
    if "conn" in account.kinds:
        assert {cloud: own.bytes for cloud, own in found.items()} == dict(counted.bytes)


def test_masked_times_are_counted(real):
    masked = {a.path.rpartition("/")[2]: a.without_time for a in real[0] if a.without_time}
    assert set(masked) == {name for name in LOGS if name.startswith("m57")}


def test_the_tables_add_up(real):
    report = real[1]
    assert report.checks == []
    top = report.tables["traffic-domains"].rows
    assert {row[0] for row in top} >= {"aws", "azure", "cloudflare"}
