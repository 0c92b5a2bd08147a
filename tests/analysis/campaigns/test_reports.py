import json

from analysis.campaigns.importers.ripe_atlas import AtlasFiles
from analysis.campaigns.routes.downstream_isp import find_isps
from analysis.campaigns.tables.reports import isp_report, performance_report
from lake.campaigns import table_of
from tests.analysis.campaigns.test_grid import BOULDER, SEATTLE, rounds_of, row
from tests.analysis.campaigns.test_isps import addresses, routes


def test_the_isp_report_is_whole_and_plain():
    found = routes(("z1", "a", 1, True), ("z2", "b", 2, True), ("z2", "c", 0, True))
    report = isp_report(found, {1: "One Networks"})
    again = json.loads(json.dumps(report))
    assert again["table"] == [{"provider": "acme", "region": "east", "zones": {"z1": 1, "z2": 1}}]
    assert [(r["isp"], r["name"]) for r in again["shares"]] == [(1, "One Networks"), (2, "")]
    assert sum(again["totals"][k] for k in ("certain", "doubtful", "unknown")) == 3
    assert any("lower bound" in note for note in again["notes"])
    assert not any("towards" in note for note in again["notes"])


def test_routes_towards_a_cloud_say_so(tmp_path):
    trace = {
        "type": "traceroute",
        "prb_id": 1,
        "timestamp": 9,
        "dst_addr": "52.0.0.1",
        "result": [
            {"hop": 1, "result": [{"from": "4.1.0.1"}]},
            {"hop": 2, "result": [{"from": "52.0.0.1"}]},
        ],
    }
    (tmp_path / "t.json").write_text(json.dumps([trace]))
    (table,) = AtlasFiles([tmp_path / "t.json"]).traceroutes()
    report = isp_report(find_isps(table, addresses()))
    assert any("towards" in note for note in report["notes"])
    assert [(r["region"], r["isps"]) for r in report["regions"]] == [("east", 1)]


def test_the_report_of_nothing_is_empty_and_not_an_error():
    report = isp_report(find_isps(table_of("paths", []), addresses()))
    assert (report["table"], report["shares"], report["failures"]) == ([], [], [])
    assert report["totals"]["routes"] == 0


def test_the_performance_report_is_whole_and_plain():
    report = performance_report(
        rounds_of({"seattle": SEATTLE, "boulder": BOULDER}), vantages=["seattle"]
    )
    again = json.loads(json.dumps(report))
    assert len(again["grid"]) == 6
    assert [b["vantage"] for b in again["figure"]] == ["seattle"] * 3
    assert again["choice"]["never_differs"] == 1
    assert again["zones"] == []
    plain = table_of("samples", [row("a", "x", [1.0])]).drop_columns(["zone"])
    assert performance_report(plain)["zones"] == []
