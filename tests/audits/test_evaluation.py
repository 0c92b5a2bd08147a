"""Evaluation: thin data, baselines, suppressions; and the formats of a report."""

import csv
import io
import json
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml

from audits.evaluation import evaluate
from audits.findings import Severity
from audits.output.document import as_document, as_json, read_baseline
from audits.output.locations import ListLocation
from audits.output.registry import FORMATS
from audits.policy.loading import parse_policy
from audits.rules.base import Context
from audits.rules.registry import RULES
from core.errors import BadInput
from tests.audits.facts import COUNTRIES, NOW, deployment, domain
from tests.audits.sarif import validate_sarif

POLICY = 'version = 1\nname = "test"\n[rules.single-region]\n[rules.wildcard]\n[rules.no-caa]\n'
SUPPRESSED = (
    POLICY
    + """
[[suppressions]]
rule = "wildcard"
subject = "shop.example"
reason = "a | landing page"
owner = "dns team"
expires = 2026-12-31

[[suppressions]]
rule = "wildcard"
subject = "gone.example"
reason = "not here any more"
owner = "dns team"
expires = 2026-12-31

[[suppressions]]
rule = "single-region"
subject = "shop.example"
reason = "migration is planned"
owner = "platform"
expires = 2026-11-01
"""
)
LOCATION = ListLocation("lists/my domains.txt", {"shop.example": 7}, {"shop.example": 12})


def facts():
    return domain(deployment("aws", "us-east-1"), wildcard=True)


def audit(*domains, policy=POLICY, baseline=None, now=NOW):
    context = Context(now=now, countries=COUNTRIES)
    source = {"survey": "demo"}
    return evaluate(domains, parse_policy(policy.encode()), context, source, baseline)


def test_findings_come_most_severe_first_with_their_evidence():
    report = audit(facts())
    assert [f.rule for f in report.findings] == ["single-region", "wildcard"]
    assert [f.rule for f in report.not_judged] == ["no-caa"]
    assert all(f.judgement.evidence for f in report.findings)
    assert [f.rule for f in report.failing(Severity.HIGH)] == ["single-region"]


def test_old_data_are_never_a_pass():
    report = audit(facts(), now=NOW + timedelta(days=31))
    assert not report.findings
    assert not report.passed
    assert [f.rule for f in report.not_judged] == ["thin-data"]
    assert "31.0 days" in report.not_judged[0].judgement.message


def test_a_domain_without_names_is_not_judged():
    empty = facts()
    empty.found = 0
    assert [f.rule for f in audit(empty).not_judged] == ["thin-data"]


def test_failed_questions_leave_claims_about_all_names_unjudged():
    partly = facts()
    partly.failed = 20
    report = audit(partly)
    assert [f.rule for f in report.findings] == ["wildcard"]
    assert [f.rule for f in report.not_judged] == ["single-region", "no-caa"]


def test_a_fingerprint_survives_other_figures_and_severities():
    before = audit(facts())
    changed = domain(deployment("aws", "us-east-1", names=5, addresses=9), wildcard=True)
    policy = POLICY.replace("[rules.wildcard]\n", '[rules.wildcard]\nseverity = "critical"\n')
    after = audit(changed, policy=policy)
    assert {f.fingerprint for f in before.findings} == {f.fingerprint for f in after.findings}
    assert len({f.fingerprint for f in before.findings}) == 2


def test_a_baseline_separates_new_persisting_resolved_and_stale():
    baseline = read_baseline(as_json(audit(facts())).encode())
    moved = domain(deployment("aws", "us-east-1"), deployment("aws", "eu-west-1"), wildcard=True)
    report = audit(moved, baseline=baseline)
    assert [(f.rule, f.state) for f in report.findings] == [("wildcard", "persisting")]
    assert [row["rule"] for row in report.resolved] == ["single-region"]
    unjudged = audit(facts(), baseline=baseline, now=NOW + timedelta(days=60))
    assert sorted(row["rule"] for row in unjudged.stale) == ["single-region", "wildcard"]
    # What could not be judged stays in the next baseline.
    again = read_baseline(as_json(unjudged).encode())
    assert {f.state for f in audit(facts(), baseline=again).findings} == {"persisting"}


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"format": "x"}', b"\xff", b"[" * 100_000])
def test_what_is_no_report_is_no_baseline(data):
    with pytest.raises(BadInput, match="baseline"):
        read_baseline(data)


def test_suppressions_hide_until_their_day_and_are_reported_when_they_do_nothing():
    report = audit(facts(), policy=SUPPRESSED)
    assert {f.rule: bool(f.suppressed) for f in report.findings} == {
        "single-region": False,
        "wildcard": True,
    }
    assert [f.rule for f in report.open_findings] == ["single-region"]
    assert len(report.suppression_problems) == 2
    assert "expired on 2026-11-01" in "".join(report.suppression_problems)
    assert "covers no finding" in "".join(report.suppression_problems)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_deterministic_text(form):
    report = audit(facts(), policy=SUPPRESSED)
    text = FORMATS[form](report, LOCATION)
    assert text == FORMATS[form](report, LOCATION)
    assert text.endswith("\n")


def test_sarif_has_what_code_scanning_asks_for():
    report = audit(facts(), policy=SUPPRESSED)
    log = json.loads(FORMATS["sarif"](report, LOCATION))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == list(RULES)
    for rule in driver["rules"]:
        assert rule["help"]["text"]
        assert rule["shortDescription"]["text"].endswith(".")
        assert len(rule["properties"]["tags"]) <= 10
        score = rule["properties"].get("security-severity")
        assert score is None or 0 < float(score) <= 10
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "lists/my%20domains.txt"
        assert place["region"] == {
            "startLine": 7,
            "startColumn": 1,
            "endLine": 7,
            "endColumn": 13,
        }
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["partialFingerprints"]["primaryLocationLineHash"]
    hashes = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
    assert len(set(hashes)) == len(hashes)
    levels = {r["ruleId"]: r["level"] for r in run["results"]}
    assert levels == {"single-region": "error", "wildcard": "note"}


def test_the_github_profile_leaves_suppressed_results_out_and_keeps_stale_ones():
    baseline = read_baseline(as_json(audit(facts())).encode())
    report = audit(facts(), policy=SUPPRESSED)
    (run,) = json.loads(FORMATS["sarif-github"](report, LOCATION))["runs"]
    assert [r["ruleId"] for r in run["results"]] == ["single-region"]
    stale = audit(facts(), baseline=baseline, now=NOW + timedelta(days=60))
    (run,) = json.loads(FORMATS["sarif-github"](stale, LOCATION))["runs"]
    assert sorted(r["ruleId"] for r in run["results"]) == ["single-region", "wildcard"]
    assert {r["level"] for r in run["results"]} == {"error", "note"}


def test_independent_validators_accept_every_kind_of_result(tmp_path):
    """Findings that are new, persist, are suppressed or stale; runs without a finding."""
    baseline = read_baseline(as_json(audit(facts())).encode())
    reports = [
        audit(facts(), policy=SUPPRESSED, baseline=baseline),
        audit(facts(), baseline=baseline, now=NOW + timedelta(days=60)),
        audit(domain(deployment("aws", "us-east-1"), deployment("aws", "eu-west-1"))),
    ]
    logs = [
        json.loads(FORMATS[form](report, LOCATION))
        for form in ("sarif", "sarif-github")
        for report in reports
    ]
    # A log may have several runs, which one start of the validators reads.
    path = tmp_path / "runs.sarif"
    path.write_text(json.dumps({**logs[0], "runs": [log["runs"][0] for log in logs]}))
    validate_sarif(path)


def test_the_validators_refuse_a_result_without_a_place(tmp_path):
    log = json.loads(FORMATS["sarif-github"](audit(facts()), LOCATION))
    del log["runs"][0]["results"][0]["locations"]
    path = tmp_path / "broken.sarif"
    path.write_text(json.dumps(log))
    with pytest.raises(AssertionError):
        validate_sarif(path)


def test_a_clean_report_is_one_run_without_results():
    clean = domain(deployment("aws", "us-east-1"), deployment("aws", "eu-west-1"))
    (run,) = json.loads(FORMATS["sarif-github"](audit(clean), LOCATION))["runs"]
    assert run["results"] == []


def test_junit_counts_findings_suppressions_and_what_was_not_judged():
    report = audit(facts(), policy=SUPPRESSED)
    root = ElementTree.fromstring(FORMATS["junit"](report, LOCATION))
    suites = {suite.get("name"): suite.attrib for suite in root}
    assert suites["single-region"]["failures"] == "1"
    assert suites["wildcard"]["skipped"] == "1"
    assert suites["no-caa"]["errors"] == "1"
    for suite in root:
        names = [case.get("name") for case in suite]
        assert len(names) == len(set(names)) == int(suite.get("tests"))
        assert {case.get("classname") for case in suite} == {suite.get("name")}


def test_a_parser_of_ci_tools_reads_junit_with_the_same_counts(tmp_path):
    path = tmp_path / "audit.xml"
    path.write_text(FORMATS["junit"](audit(facts(), policy=SUPPRESSED), LOCATION))
    kinds = {}
    for suite in JUnitXml.fromfile(str(path)):
        results = [result for case in suite for result in case.result]
        kinds[suite.name] = [type(result).__name__ for result in results]
        counts = [kinds[suite.name].count(kind) for kind in ("Failure", "Error", "Skipped")]
        assert [suite.failures, suite.errors, suite.skipped] == counts
        assert suite.tests == len(list(suite))
        assert all(result.message for result in results)
    assert kinds == {"no-caa": ["Error"], "single-region": ["Failure"], "wildcard": ["Skipped"]}


def test_code_quality_lists_open_findings_only():
    rows = json.loads(FORMATS["gitlab"](audit(facts(), policy=SUPPRESSED), LOCATION))
    assert [(r["check_name"], r["severity"], r["location"]) for r in rows] == [
        ("single-region", "critical", {"path": "lists/my domains.txt", "lines": {"begin": 7}})
    ]


def test_csv_has_one_row_per_finding_and_no_formula():
    report = audit(facts(), policy=SUPPRESSED)
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](report, LOCATION))))
    assert [(r["rule"], r["outcome"]) for r in rows] == [
        ("single-region", "finding"),
        ("wildcard", "finding"),
        ("no-caa", "not-judged"),
    ]
    assert not any(value.startswith(("=", "+", "@")) for row in rows for value in row.values())


def test_markdown_escapes_what_would_break_a_table():
    text = FORMATS["markdown"](audit(facts(), policy=SUPPRESSED), LOCATION)
    assert "a \\| landing page" in text
    table = [line for line in text.splitlines() if line.startswith("| high")]
    assert len(table) == 1


def test_the_document_states_versions_and_counts():
    document = as_document(audit(facts(), policy=SUPPRESSED))
    assert document["source"]["rule_set"] == 1
    assert set(document["source"]["lists"]) >= {"entities", "residency/eu"}
    assert document["summary"]["by_severity"] == {"high": 1}
    assert document["summary"]["suppressed"] == 1
    row = document["findings"][0]
    assert row["n"]
    assert row["confidence"] == 1.0
    assert row["age_days"] == 0.0
    assert row["evidence"][0]["prefix"] == "192.0.2.0/24"
