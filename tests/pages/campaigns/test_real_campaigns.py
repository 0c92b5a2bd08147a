"""Real results of RIPE Atlas, scamper, WonderNetwork and cloudping on every page of a campaign."""

import html
import re
from typing import Any

import pytest

from tasks.campaigns.import_results import Source, import_campaign
from tasks.campaigns.result_files import Asked
from tests.pages.campaigns.test_pages import SECTIONS
from tests.shared import shared_file
from webapp.store.campaigns import probe_reports

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
