"""Reports of probes against figures that follow from planted values, and a report that is added."""

import json
import statistics

import pyarrow as pa
import pytest

from analysis.campaigns.probe_reports import summaries
from analysis.campaigns.probe_reports.probe_report import Limit, ProbeReport, Statistic, detail
from analysis.campaigns.probe_reports.registry import REPORTS
from analysis.campaigns.probe_reports.summaries import build_probe_tables
from lake.campaigns import rows_of_result, table_of
from probes.kinds import http_timing, jitter
from probes.records import ProbeStatus, Target
from probes.registry import PROBES

HOUR_S = 3600


def place(number, **more):
    """Where run ``number`` belongs: a run an hour, of alternating zones."""
    zone = f"eu-west-1{'ab'[number % 2]}"
    head = {"round": number, "vantage": "berlin", "target": "t", "provider": "aws"}
    return {**head, "region": "eu-west-1", "zone": zone, "slot": 0, "late_s": 0.0, **more}


def head(probe, number, **more):
    own = {"probe": probe.NAME, "version": 1, "target": Target("t"), "at": number * HOUR_S}
    return {**own, "status": ProbeStatus.OK, **more}


def stored(runs):
    """Records of probes as they arrive in the lake."""
    return table_of("samples", [r for n, run in runs for r in rows_of_result(run, place(n))[1]])


def http(number):
    steps = {"dns_ms": 1.0, "connect_ms": 20.0, "wait_ms": 30.0 + number, "read_ms": 2.0}
    run = http_timing.Split(**head(http_timing, number), **steps, total_ms=53.0 + number)
    return number, run.as_json()


def call(number, rtt_ms, jitter_ms, lost=0):
    transits = tuple((i, rtt_ms) for i in range(50 - lost))
    own = head(jitter, number)
    run = jitter.Stream(**own, count=50, transits_ms=transits, jitter_ms=jitter_ms)
    return number, run.as_json()


def test_http_is_split_by_step_and_by_region_zone_vantage_point_and_hour():
    rows = build_probe_tables(stored([http(n) for n in range(48)]))["probe-http"].to_pylist()
    by = {(r["grouped_by"], r["zone"], r["hour"], r["statistic"]): r for r in rows}
    waits = [30.0 + n for n in range(48)]
    wait = by["region", "", None, "wait"]
    assert (wait["n"], wait["p50"]) == (48, statistics.median(waits))
    # By the binomial distribution, the 17th to 32nd of 48 hold the median with 95 %; the normal
    # approximation is one value wider at most.
    assert 30 + 15 <= wait["p50_low"] <= 30 + 16
    assert 30 + 31 <= wait["p50_high"] <= 30 + 32
    assert wait["latest_at"].timestamp() == 47 * HOUR_S
    assert by["region", "", None, "first_byte"]["p50"] == wait["p50"] + 21
    assert ("region", "", None, "tls") not in by
    assert by["zone", "eu-west-1a", None, "wait"]["p50"] == statistics.median(waits[::2])
    assert by["hour", "", 3, "wait"]["n"] == 2
    assert by["hour", "", 3, "wait"]["p50_low"] is None
    assert {r["vantage"] for r in rows if r["grouped_by"] == "vantage"} == {"berlin"}


@pytest.mark.parametrize(
    ("rtt_ms", "jitter_ms", "lost", "expected", "verdict"),
    [
        # d = 40 / 2 + 20 + 2 * 1 = 42 ms.
        (40.0, 1.0, 0, 93.2 - 0.024 * 42, "yes"),
        # d = 202 ms is 24.7 ms beyond 177.3 ms.
        (340.0, 6.0, 0, 93.2 - 0.024 * 202 - 0.11 * 24.7, "yes"),
        (40.0, 1.0, 2, 93.2 - 0.024 * 42 - 95 * 4 / 8.3, "no"),
    ],
)
def test_calls_are_judged_by_the_e_model(rtt_ms, jitter_ms, lost, expected, verdict):
    runs = [call(n, rtt_ms, jitter_ms, lost) for n in range(100)]
    tables = build_probe_tables(stored(runs))
    found = {
        r["statistic"]: r["p50"]
        for r in tables["probe-jitter"].to_pylist()
        if r["grouped_by"] == "region"
    }
    assert found["r_factor"] == pytest.approx(expected, abs=1e-3)
    assert found["loss"] == pytest.approx(100 * lost / 50)
    (row,) = tables["suitability"].to_pylist()
    assert (row["use"], row["n"], row["verdict"]) == ("calls", 100, verdict)


@pytest.mark.parametrize(
    ("within", "late", "lost", "verdict"),
    [(200, 0, 0, "yes"), (100, 100, 0, "no"), (100, 0, 100, "no"), (19, 1, 0, "undecided")],
)
def test_a_loss_is_beyond_the_limit_and_few_values_decide_nothing(within, late, lost, verdict):
    values = [99.0] * within + [101.0] * late
    row = {**place(0), "at": 0, "probe": "game-query", "sent": within + late + lost}
    tables = build_probe_tables(table_of("samples", [{**row, "values": values}]))
    (found,) = tables["suitability"].to_pylist()
    assert (found["use"], found["within"], found["verdict"]) == ("games", within, verdict)
    assert found["low"] <= found["share"] <= found["high"]


def test_a_report_is_one_declaration():
    """A new probe has tables and verdicts by its declaration alone."""
    limit = Limit("tides", "height", 3, 0.5, "half below 3 m", "it's a test")
    own = ProbeReport(
        "probe-tide", "Tide", ("tide",), (Statistic("height", "m", detail("h")),), (limit,)
    )
    row = {**place(0), "at": 0, "probe": "tide", "sent": 1, "values": []}
    rows = [{**row, "detail": text} for text in (json.dumps({"h": 2}), "", "no JSON", "[]")]
    tables = build_probe_tables(table_of("samples", rows), (own,))
    (first, *_) = tables["probe-tide"].to_pylist()
    assert (first["statistic"], first["n"], first["runs"], first["p50"]) == ("height", 1, 4, 2.0)
    (verdict,) = tables["suitability"].to_pylist()
    assert (verdict["within"], verdict["n"], verdict["source"]) == (1, 4, "it's a test")


def test_every_probe_that_gives_values_has_a_report():
    reported = {probe for report in REPORTS for probe in report.probes}
    assert {p.NAME for p in PROBES} - {"traceroute"} <= reported


def test_files_of_others_without_details_have_no_reports():
    assert build_probe_tables(table_of("samples", []).select(["region", "probe"])) == {}


def test_a_report_beyond_its_memory_costs_no_other_table(monkeypatch, caplog):
    samples = pa.concat_tables([stored([http(n) for n in range(100)])] * 1_000)
    whole = set(build_probe_tables(samples))
    monkeypatch.setattr(summaries, "MEMORY", "8MB")
    cut = set(build_probe_tables(samples))
    assert (whole - cut, whole & cut) == ({"probe-http"}, {summaries.SUITABILITY})
    assert "no table probe-http" in caplog.text
