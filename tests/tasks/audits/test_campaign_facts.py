"""Facts of a campaign: percentiles with intervals, ISPs of regions, regret; and what rules make."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audits.facts.latencies import read_first_paths, read_latencies
from audits.policy.loading import parse_policy
from core.clock import FakeClock
from lake.campaigns import table_of
from lake.parts import write_part
from tasks.audits.audit import AuditOptions, load_facts, run_audit
from tasks.audits.campaign_facts import read_campaign_facts
from tests.pages import cast
from tests.pages.campaigns.campaign_cast import campaign, sample
from webapp.store.models import CampaignReport, VantagePoint

POLICY = b"""version = 1
name = "measured"
[data]
max_age_days = 30
[rules.slow-country]
countries = ["DE"]
max_p95_ms = 100
[rules.isp-concentration]
[rules.region-regret]
"""
REGIONS = ("us-east-1", "eu-west-1", "ap-south-1")
BASE_MS = {"us-east-1": 120.0, "eu-west-1": 20.0, "ap-south-1": 180.0}
NEAR = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture
def survey(db, settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR = tmp_path
    return cast.atlas("Atlas")


@pytest.fixture
def measured(survey):
    """Twelve German vantage points that see Ireland near, and one in Oslo that does not count."""
    rng = np.random.default_rng(7)
    rows = []
    for i in range(12):
        name = f"v-de-{i}"
        VantagePoint.objects.create(name=name, city="Ulm", country="DE", lat=48.4, lon=10.0)
        for region in REGIONS:
            values = rng.normal(BASE_MS[region], 2.0, 20).tolist()
            rows += [sample(name, region, values, round=n) for n in range(2)]
    rows += [sample("v-one", region, [900.0]) for region in REGIONS]
    found = campaign("measured", rows)
    CampaignReport.objects.create(
        campaign=found,
        table_id="isp-shares",
        columns=["provider", "region", "isp", "routes", "ends", "share", "name"],
        rows=[
            ["aws", "us-east-1", 3356, 70, 9, 0.7, "Lumen"],
            ["aws", "us-east-1", 1299, 30, 9, 0.3, "Arelion"],
            ["aws", "eu-west-1", 3356, 4, 2, 1.0, "Lumen"],
        ],
        headline="",
        n=104,
    )
    return found


def test_percentiles_are_those_of_the_samples_with_ranks_around_them(survey, measured):
    policy = parse_policy(POLICY)
    facts = read_campaign_facts(measured, load_facts(survey, policy), policy)
    used = {region for country, region in facts.latencies}
    assert {country for country, _ in facts.latencies} == {"DE"}
    assert used <= {("aws", region) for region in REGIONS}
    for (_, (_, region)), fact in facts.latencies.items():
        assert fact.n == 12 * 2 * 20
        assert fact.low_ms <= fact.p95_ms <= fact.high_ms
        assert abs(fact.p95_ms - (BASE_MS[region] + 1.645 * 2.0)) < 1.0
        assert [row.value_ms for row in fact.rows] == [fact.p95_ms, fact.low_ms, fact.high_ms]
        assert {row.region for row in fact.rows} == {region}
        assert {row.vantage[:4] for row in fact.rows} == {"v-de"}
        assert {row.at.timestamp() for row in fact.rows} == {1_700_000_000}
    for fact in facts.isps.values():
        assert abs(sum(isp.share for isp in fact.shares) - 1.0) < 1e-9


@given(st.lists(st.floats(0.5, 5_000, width=32), min_size=30, max_size=300))
def test_the_percentile_is_the_value_of_its_rank(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("p") / "all.parquet"
    write_part(path, "samples", table_of("samples", [sample("v", "eu-west-1", values)]))
    (fact,) = read_latencies([path], {"v": "DE"}, {"DE"}).values()
    ranked = np.sort(np.array(values, dtype=np.float32).astype(np.float64))
    n = len(values)
    assert fact.p95_ms == ranked[int(np.ceil(n * 0.95)) - 1]
    half = 1.96 * (n * 0.95 * 0.05) ** 0.5
    assert fact.low_ms == ranked[max(1, int(np.floor(n * 0.95 - half))) - 1]
    assert fact.high_ms == ranked[min(n, int(np.ceil(n * 0.95 + half)) + 1) - 1]
    assert fact.n == n


def test_the_first_paths_of_a_region_are_those_that_reached_it(tmp_path):
    rows = [
        {
            **{"vantage": f"v-{n}", "target": "t", "provider": "aws", "region": "eu-west-1"},
            **{"round": n, "at": 1_700_000_000_000_000 + n, "probe": "trace", "reached": n != 1},
            "hops": [],
        }
        for n in range(5)
    ]
    path = tmp_path / "all.parquet"
    write_part(path, "paths", table_of("paths", rows))
    found = read_first_paths([path])
    assert {place: [row.round for row in kept] for place, kept in found.items()} == {
        "aws/eu-west-1": [0, 2, 3]
    }
    assert read_first_paths([]) == {}


def test_regret_is_that_of_every_set_tried(survey, measured):
    policy = parse_policy(POLICY)
    facts = read_campaign_facts(measured, load_facts(survey, policy), policy)
    means = {r: BASE_MS[r] for r in REGIONS}
    for k in (1, 2):
        best = min(combinations(REGIONS, k), key=lambda regions: min(means[r] for r in regions))
        for regions in combinations(REGIONS, k):
            fact = facts.regret(frozenset(("aws", r) for r in regions))
            assert {region for _, region in fact.best} >= {min(best, key=means.get)}
            assert fact.now_ms >= fact.best_ms
            assert fact.clients == 13
            assert fact.margin_ms >= 0
            assert {region for _, region in fact.slowest} <= set(regions)
            assert len({vantage for vantage, _ in fact.slowest}) == 3
    assert facts.regret(frozenset({("aws", "sa-east-1")})) is None
    assert facts.regret(frozenset({("azure", "us-east-1")})) is not None


# The survey is of 2013, the campaign of 1 November 2026.
PATIENT = parse_policy(POLICY.replace(b"max_age_days = 30", b"max_age_days = 5000"))


def report_of(survey, measured, now=NEAR):
    return run_audit(survey, PATIENT, AuditOptions(campaign=measured, clock=FakeClock(now)))


def test_rules_judge_with_a_campaign_and_not_without(survey, measured):
    without = report_of(survey, None)
    assert not without.findings
    assert {f.rule for f in without.not_judged} >= {"slow-country", "isp-concentration"}
    report = report_of(survey, measured)
    assert {f.rule for f in report.findings} == {
        "slow-country",
        "isp-concentration",
        "region-regret",
    }
    for finding in report.findings:
        assert all("campaign measured" in e.detail for e in finding.judgement.evidence)
    assert report.source["campaign"] == "measured"


def test_a_campaign_that_is_too_old_is_not_judged(survey, measured):
    type(measured).objects.filter(pk=measured.pk).update(finished_at=NEAR - timedelta(days=5001))
    measured.refresh_from_db()
    report = report_of(survey, measured)
    assert not report.findings
    assert "ended 5001.0 days ago" in " ".join(f.judgement.message for f in report.not_judged)


def test_findings_of_a_synthetic_campaign_say_so(survey, measured):
    measured.synthetic = True
    report = report_of(survey, measured)
    texts = [e.detail for f in report.findings for e in f.judgement.evidence]
    assert texts
    assert all("(synthetic)" in text for text in texts)
