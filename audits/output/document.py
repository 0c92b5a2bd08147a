"""A report as one JSON document, which is also the baseline of a later audit."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from audits.evaluation import Baseline
from audits.findings import AuditReport, Evidence, Finding, Judgement, Outcome, Severity
from core.errors import BadInput

FORMAT = "nephoscope-audit-report"
FORMAT_VERSION = 1


def as_document(report: AuditReport) -> dict[str, Any]:
    """The report as JSON-ready data."""
    return {
        **header_of(report),
        "findings": [f.as_json() for f in report.findings],
        "not_judged": [f.as_json() for f in report.not_judged],
        "resolved": list(report.resolved),
        "stale": list(report.stale),
        "suppression_problems": list(report.suppression_problems),
    }


def header_of(report: AuditReport) -> dict[str, Any]:
    """The fields of the document that come before its lists."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "policy": report.policy,
        "source": report.source,
        "generated_at": report.generated_at.isoformat(),
        "summary": summary(report),
    }


def parse_report(document: Mapping[str, Any]) -> AuditReport:
    """The report of a document, from which every format is written again; raises ``BadInput``.

    Confidence and age are as precise as the document has them.
    """
    try:
        if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
            raise BadInput("this is not a JSON report of an audit in a version that is known here")
        counts = document["summary"]
        return AuditReport(
            policy=document["policy"],
            source=document["source"],
            generated_at=datetime.fromisoformat(document["generated_at"]),
            domains=counts["domains"],
            findings=_parse_findings(document["findings"]),
            not_judged=_parse_findings(document["not_judged"]),
            passed=counts["passed"],
            not_applicable=counts["not_applicable"],
            resolved=tuple(document["resolved"]),
            stale=tuple(document["stale"]),
            suppression_problems=tuple(document["suppression_problems"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput("this is not a JSON report of an audit") from error


def _parse_findings(rows: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    return tuple(_parse_finding(row) for row in rows)


def _parse_finding(row: Mapping[str, Any]) -> Finding:
    judgement = Judgement(
        row["subject"],
        Outcome(row["outcome"]),
        row["message"],
        n=row["n"],
        confidence=row["confidence"],
        discriminator=row["discriminator"],
        evidence=tuple(_parse_evidence(item) for item in row["evidence"]),
    )
    observed_at = row["observed_at"]
    return Finding(
        row["rule"],
        judgement,
        Severity(row["severity"]),
        row["title"],
        row["suggestion"],
        state=row["state"],
        suppressed=row["suppressed"],
        observed_at=datetime.fromisoformat(observed_at) if observed_at else None,
        age_days=row["age_days"],
    )


def _parse_evidence(item: Mapping[str, str]) -> Evidence:
    values: dict[str, Any] = dict(item)
    if "as_of" in values:
        values["as_of"] = date.fromisoformat(values["as_of"])
    return Evidence(**values)


def summary(report: AuditReport) -> dict[str, Any]:
    """Counts of a report."""
    by_severity = Counter(str(f.severity) for f in report.open_findings)
    return {
        "domains": report.domains,
        "findings": len(report.open_findings),
        "by_severity": dict(by_severity),
        "new": sum(f.state == "new" for f in report.open_findings),
        "suppressed": len(report.findings) - len(report.open_findings),
        "not_judged": len(report.not_judged),
        "resolved": len(report.resolved),
        "stale": len(report.stale),
        "passed": report.passed,
        "not_applicable": report.not_applicable,
    }


def as_json(report: AuditReport) -> str:
    """The document as JSON with one field or one row on each line.

    ``json`` encodes a whole value several times faster than one that it has to indent.
    """
    fields = [f"{_encode(key)}: {_field(value)}" for key, value in as_document(report).items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _field(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(_encode, value)) + "\n]"
    return _encode(value)


_encode = json.JSONEncoder(ensure_ascii=False).encode


# The texts of a finding that a client sends, and the number of characters that are kept.
_SENT_TEXTS = {
    "rule": 80,
    "subject": 255,
    "discriminator": 500,
    "title": 200,
    "message": 2_000,
    "suggestion": 2_000,
    "state": 20,
    "suppressed": 1_500,
}
_MAX_COUNT = 10**15


def read_sent_baseline(data: bytes) -> Baseline:
    """The same of a report that a client sent: fields of known types, without evidence.

    Raises ``BadInput``.
    """
    sent = read_baseline(data).values()
    try:
        found = [_parse_finding(_check_sent(row)) for row in sent]
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadInput("a finding of the baseline is not one of a JSON report") from error
    return {finding.fingerprint: finding.as_json() for finding in found}


def _check_sent(row: Mapping[str, Any]) -> dict[str, Any]:
    n, age_days = int(row["n"]), row["age_days"]
    numbers = (float(row["confidence"]), 0.0 if age_days is None else float(age_days))
    if not 0 <= n <= _MAX_COUNT or not all(0 <= number <= _MAX_COUNT for number in numbers):
        raise ValueError("a number of the baseline is out of range")
    return {
        **{name: _clean(row[name])[:most] for name, most in _SENT_TEXTS.items()},
        "severity": row["severity"],
        "outcome": Outcome.FINDING,
        "n": n,
        "confidence": numbers[0],
        "observed_at": row["observed_at"],
        "age_days": None if age_days is None else numbers[1],
        "evidence": (),
    }


def _clean(text: Any) -> str:
    """A text without what a database or a file of the store refuses."""
    if not isinstance(text, str):
        raise TypeError("a text of the baseline is of another type")
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def read_baseline(data: bytes) -> Baseline:
    """The findings of an earlier report by fingerprint; raises ``BadInput``.

    Suppressed findings are part of the baseline: when their suppression ends they are persisting,
    not new.
    """
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise BadInput("the baseline is not a JSON report of an audit")
        rows = [*document["findings"], *document["stale"]]
        return {row["fingerprint"]: row for row in rows if row["rule"] and row["subject"]}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadInput("the baseline is not a JSON report of an audit") from error
