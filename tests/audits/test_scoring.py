"""The scorer of the benchmark of audits: a miss, an invention and lost evidence are seen."""

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.audits.scoring import Lake, score_rules, table_of

EVIDENCE = {"table": "placements", "domain": "a.example", "name": "www.a.example"}


def row(rule, subject, discriminator="", **more):
    return {
        "id": f"{rule}:{subject}",
        "rule": rule,
        "subject": subject,
        "discriminator": discriminator,
        **more,
    }


def report(findings=(), not_judged=()):
    return {"findings": list(findings), "not_judged": list(not_judged)}


def test_a_miss_lowers_recall_and_an_invention_precision():
    found = report([row("wildcard", "a.example"), row("wildcard", "c.example")])
    planted = [("wildcard", "a.example", ""), ("wildcard", "b.example", "")]
    (score,) = score_rules(found, planted, ["wildcard"])
    assert (score.right, score.missed, score.extra) == (1, 1, 1)
    assert (score.precision, score.recall) == (0.5, 0.5)
    other = report([row("wildcard", "a.example", "x")])
    assert score_rules(other, planted[:1], ["wildcard"])[0].right == 0


def test_what_could_not_be_judged_is_no_miss_and_no_hit():
    planted = [("wildcard", "a.example", ""), ("no-caa", "a.example", "")]
    found = report([], [row("thin-data", "a.example"), row("no-isp", "a.example")])
    scores = {s.rule: s for s in score_rules(found, planted, ["wildcard", "no-caa", "thin-data"])}
    assert (scores["wildcard"].unjudged, scores["wildcard"].recall) == (1, None)
    assert scores["thin-data"].extra == 1
    assert "| `wildcard` | 1 | 0 | could not judge | could not judge | 1 | 1 |" in table_of(
        scores.values()
    )


def test_a_region_that_was_not_judged_excuses_no_other():
    planted = [("slow-country", "a.example", "JP"), ("slow-country", "a.example", "DE")]
    found = report([], [row("slow-country", "a.example", "JP")])
    (score,) = score_rules(found, planted, ["slow-country"])
    assert (score.unjudged, score.missed) == (1, 1)


def test_evidence_that_is_not_in_the_lake_is_listed(tmp_path):
    path = tmp_path / "s" / "placements" / "s0.parquet"
    path.parent.mkdir(parents=True)
    stored = {"domain": ["a.example"], "name": ["www.a.example"], "address": ["192.0.2.1"]}
    pq.write_table(pa.table(stored), path)
    lake = Lake(tmp_path / "s", tmp_path / "c")
    good = [EVIDENCE, {**EVIDENCE, "address": "192.0.2.1"}]
    bad = [
        [],
        [{**EVIDENCE, "address": "192.0.2.2"}],
        [{**EVIDENCE, "name": "x.a.example"}],
        [EVIDENCE, {**EVIDENCE, "domain": "b.example"}],
        [{"table": "servers", "domain": "a.example"}],
        [{"table": "samples", "domain": "a.example", "detail": "campaign c"}],
    ]
    assert lake.unresolved(report([row("r", "a.example", evidence=good)])) == []
    for evidence in bad:
        assert len(lake.unresolved(report([row("r", "a.example", evidence=evidence)]))) == 1
