"""Real results of other tools, and real route tables, on every page of a campaign."""

import gzip
import html
import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from cartography.asn.files import read_origins, rows_of
from tasks.campaigns.import_results import Source, import_campaign
from tasks.campaigns.result_files import Asked
from tests.pages.campaigns.test_pages import SECTIONS
from tests.shared import shared_file
from webapp.store.campaigns import probe_reports
from webapp.store.models import Campaign
from webapp.store.ranges import asn, tables

pytestmark = pytest.mark.django_db
CASES = [
    ("traceroute/ripe-atlas-ping-sample-2023.json.gz", {"probe-ping"}),
    ("traceroute/ripe-atlas-traceroute-sample-2023.json.gz", {"probe-traceroute"}),
    ("traceroute/ripe-atlas-trace_49857316.json.gz", {"probe-traceroute"}),
    ("traceroute/scamper-mda-valid-complex.jsonl", {"probe-traceroute"}),
    ("latency/wondernetwork/pings-2018-11-sources-odd.csv.xz", set()),
    ("latency/aws-interregion-cloudping-p50-1y-2022-04.json", set()),
]


@pytest.mark.parametrize(("path", "reports"), CASES, ids=[c[0].split("/")[-1] for c in CASES])
def test_real_results_are_shown_on_every_page(
    client: Any, settings: Any, tmp_path: Any, path: str, reports: set[str]
) -> None:
    settings.LAKE_DIR = tmp_path / "lake"
    row = import_campaign(Source((shared_file(path),), Asked()))
    check_pages(client, row, reports)


def check_pages(client: Any, row: Campaign, reports: set[str]) -> None:
    """Every page of a campaign, and of the reports that its probes have."""
    home = f"/wide-area/{row.slug}/"
    for section in SECTIONS:
        answer = client.get(home + section)
        assert answer.status_code == 200, section
        page = html.unescape(re.sub(r"<[^>]+>", "", answer.content.decode()))
        assert not re.search(r"\bnan\b", page), section
    found = probe_reports.list_reports(row)
    assert {report.id for report in found} == reports
    for report in found:
        name = report.id.removeprefix("probe-")
        for part in report.parts:
            for grouping in ("region", "zone", "hour", "vantage"):
                query = {"statistic": part.name, "by": grouping}
                answer = client.get(f"{home}probes/{name}/", query)
                assert answer.status_code == 200, (part.name, grouping)
        rows = probe_reports.read_rows(row, report, {"grouped_by": "region"})
        assert sum(r["n"] for r in rows) > 0


def test_a_real_route_table_names_the_isps_of_real_paths(
    client: Any, settings: Any, tmp_path: Path
) -> None:
    settings.LAKE_DIR, settings.RANGES_DIR = tmp_path / "lake", tmp_path / "ranges"
    table = gzip.decompress(shared_file("ip-asn/ipasn_20140513.dat.gz").read_bytes())
    stored = asn.import_file(table, file_name="ipasn_20140513.dat")
    assert stored.as_of == date(2014, 5, 13)
    names = shared_file("ip-asn/asnames.json.gz").read_bytes()
    asn.import_file(names, as_of=date(2014, 5, 13), file_name="asnames.json.gz")
    ranges = shared_file("ip-ranges/aws-ip-ranges-2024-06.json.gz").read_bytes()
    tables.import_ranges("aws", gzip.decompress(ranges), file_name="aws-ip-ranges-2024-06.json")
    path = shared_file("traceroute/ripe-atlas-trace_49857316.json.gz")
    row = import_campaign(Source((path,), Asked()))
    check_pages(client, row, {"probe-traceroute"})
    isps = html.unescape(client.get(f"/wide-area/{row.slug}/isps/").content.decode())
    # tests/analysis/campaigns/test_real_files.py counts the same by plain loops.
    assert "connects through at least 11 ISPs" in " ".join(re.sub("<[^>]+>", "", isps).split())
    for name in ("COMCAST-7922 - Comcast Cable", "UUNET - MCI Communications", "TELIANET"):
        assert name in isps
    # The layout of CAIDA's routeviews-prefix2as, with prefix and length in columns, says the same.
    lines = [x for x in table.decode().splitlines() if not x.startswith(";")][::50]
    columns = "\n".join(x.replace("/", "\t", 1) for x in lines).encode()
    one, other = read_origins("\n".join(lines).encode()), read_origins(columns)
    assert len(lines) > 9_000
    assert sorted(rows_of(one)) == sorted(rows_of(other))


def test_globalping_results_of_the_documented_form_are_shown_on_every_page(
    client: Any, settings: Any, tmp_path: Path
) -> None:
    """The shared data have none of Globalping: the form is that of its API's documents."""
    settings.LAKE_DIR = tmp_path / "lake"
    probes = [
        {"country": "DE", "city": "Falkenstein", "asn": 24940, "network": "Hetzner"},
        {"country": "BR", "city": "Sao Paulo", "asn": 28573, "network": "Claro"},
    ]
    measurements = []
    for hour in range(4):
        common = {"status": "finished", "createdAt": f"2024-03-01T0{hour}:00:00.000Z"}
        ping = [
            {
                "probe": p,
                "result": {
                    "status": "finished",
                    "resolvedAddress": "52.0.0.1",
                    "timings": [{"ttl": 50, "rtt": rtt + hour}, {"ttl": 50, "rtt": rtt + 1.0}],
                    "stats": {"total": 3, "rcv": 2, "drop": 1},
                },
            }
            for p, rtt in zip(probes, (90.0, 180.0), strict=True)
        ]
        hops = [
            {"resolvedAddress": "10.0.0.1", "timings": [{"rtt": 1.0}]},
            {"resolvedAddress": None, "timings": []},
            {"resolvedAddress": "52.0.0.1", "timings": [{"rtt": 90.0}]},
        ]
        trace = {"status": "finished", "resolvedAddress": "52.0.0.1", "hops": hops}
        failed = {"probe": probes[1], "result": {"status": "failed", "rawOutput": "unknown host"}}
        for kind, results in (
            ("ping", ping),
            ("traceroute", [{"probe": probes[0], "result": trace}, failed]),
        ):
            shape = {"id": f"{kind}{hour}", "type": kind, "target": "t.example", **common}
            measurements.append({**shape, "results": results})
    file = tmp_path / "globalping.jsonl"
    file.write_text("".join(json.dumps(m) + "\n" for m in measurements))
    row = import_campaign(Source((file,), Asked()))
    check_pages(client, row, {"probe-ping", "probe-traceroute"})
    assert "Falkenstein" in client.get(f"/wide-area/{row.slug}/grid/").content.decode()
