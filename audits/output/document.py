"""A report as one JSON document, which is also the baseline of a later audit."""

import json
from collections import Counter
from typing import Any

from audits.evaluation import Baseline
from audits.findings import AuditReport
from core.errors import BadInput

FORMAT = "nephoscope-audit-report"
FORMAT_VERSION = 1


def as_document(report: AuditReport) -> dict[str, Any]:
    """The report as JSON-ready data."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "policy": report.policy,
        "source": report.source,
        "generated_at": report.generated_at.isoformat(),
        "summary": summary(report),
        "findings": [f.as_json() for f in report.findings],
        "not_judged": [f.as_json() for f in report.not_judged],
        "resolved": list(report.resolved),
        "stale": list(report.stale),
        "suppression_problems": list(report.suppression_problems),
    }


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
