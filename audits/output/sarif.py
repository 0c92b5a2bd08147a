"""A report as SARIF 2.1.0, as code-scanning services read it.

GitHub refuses a file in which one result has no physical location, and compares alerts by
``primaryLocationLineHash``; both are always set. Its limits: 25,000 results a run, 10 MB gzipped.
"""

import json
from typing import Any

from audits import RULE_SET_VERSION
from audits.findings import AuditReport, Finding, Severity
from audits.output.locations import ListLocation
from audits.rules.base import Rule
from audits.rules.registry import RULES
from core.release import VERSION

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
# What GitHub keeps of one run.
MAX_RESULTS = 25_000
_LEVELS = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}


def as_sarif(report: AuditReport, location: ListLocation, *, github: bool = False) -> str:
    """The report as a SARIF log with one run.

    ``github`` leaves suppressed findings out, since ``suppressions`` are not reliably honoured
    there, and keeps findings that could not be judged this time, which would otherwise be closed
    as fixed.
    """
    results = [
        _result(found, location) for found in report.findings if not (github and found.suppressed)
    ]
    results += [_stale_result(row, location) for row in report.stale]
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver()},
                "automationDetails": {"id": f"nephoscope-audit/{report.policy['name']}/"},
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "endTimeUtc": report.generated_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "toolExecutionNotifications": [
                            {"level": "note", "message": {"text": text}}
                            for text in _notifications(report)
                        ],
                    }
                ],
                "columnKind": "unicodeCodePoints",
                "results": results[:MAX_RESULTS],
                "properties": {"policy": report.policy, "source": report.source},
            }
        ],
    }
    return json.dumps(log, ensure_ascii=False) + "\n"


def _driver() -> dict[str, Any]:
    return {
        "name": "Nephoscope",
        "semanticVersion": VERSION,
        "rules": [_rule(rule) for rule in RULES.values()],
        "properties": {"ruleSet": RULE_SET_VERSION},
    }


def _rule(rule: Rule) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "tags": [rule.category, *(["security"] if rule.security_severity else [])],
        "precision": "high",
        "problem.severity": {"note": "recommendation"}.get(
            _LEVELS[rule.severity], _LEVELS[rule.severity]
        ),
    }
    if rule.security_severity:
        properties["security-severity"] = str(rule.security_severity)
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.title.split()),
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.description},
        "help": {
            "text": f"{rule.description}\n\n{rule.suggestion}",
            "markdown": f"{rule.description}\n\n**What to do:** {rule.suggestion}",
        },
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": properties,
    }


def _result(found: Finding, location: ListLocation) -> dict[str, Any]:
    j = found.judgement
    evidence = "; ".join(item.text for item in j.evidence)
    text = f"{j.subject}: {j.message}."
    if evidence:
        text += f" Evidence: {evidence}."
    result = _located(found.rule, found.severity, text, j.subject, found.fingerprint, location)
    result["properties"] = {
        "severity": str(found.severity),
        "n": j.n,
        "confidence": j.confidence,
        "evidence": [item.as_json() for item in j.evidence],
    }
    if found.state in ("new", "persisting"):
        result["baselineState"] = "new" if found.state == "new" else "unchanged"
    if found.suppressed:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": found.suppressed}
        ]
    return result


def _stale_result(row: dict[str, Any], location: ListLocation) -> dict[str, Any]:
    text = f"{row['subject']}: {row.get('message', '')}. Not evaluated this time; still open."
    severity = Severity(row.get("severity", Severity.MEDIUM))
    result = _located(row["rule"], severity, text, row["subject"], row["fingerprint"], location)
    result["baselineState"] = "unchanged"
    return result


def _located(
    rule: str,
    severity: Severity,
    text: str,
    subject: str,
    fingerprint: str,
    location: ListLocation,
) -> dict[str, Any]:
    line, width = location.line(subject), location.width(subject)
    return {
        "ruleId": rule,
        "ruleIndex": list(RULES).index(rule),
        "level": _LEVELS[severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": location.uri},
                    "region": {
                        "startLine": line,
                        "startColumn": 1,
                        "endLine": line,
                        "endColumn": width + 1,
                    },
                },
                "logicalLocations": [{"fullyQualifiedName": subject, "kind": "resource"}],
            }
        ],
        "partialFingerprints": {
            "primaryLocationLineHash": f"{fingerprint[:32]}:1",
            "nephoscopeFinding/v1": fingerprint,
        },
    }


def _notifications(report: AuditReport) -> list[str]:
    texts = list(report.suppression_problems)
    if report.not_judged:
        texts.append(f"{len(report.not_judged)} judgements were not possible")
    return texts
