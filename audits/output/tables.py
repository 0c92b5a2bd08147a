"""A report for people and for spreadsheets: Markdown, CSV, and GitLab's Code Quality."""

import csv
import io
import json
from typing import Any

from audits.findings import AuditReport, Finding, Severity
from audits.output.document import summary
from audits.output.locations import ListLocation

CSV_COLUMNS = (
    "id",
    "outcome",
    "severity",
    "rule",
    "subject",
    "message",
    "n",
    "confidence",
    "observed_at",
    "age_days",
    "state",
    "suppressed",
    "suggestion",
    "evidence",
)
# GitLab's own scale.
_GITLAB = {
    Severity.CRITICAL: "blocker",
    Severity.HIGH: "critical",
    Severity.MEDIUM: "major",
    Severity.LOW: "minor",
    Severity.INFO: "info",
}
# A cell that begins so is run as a formula by spreadsheets.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_csv(report: AuditReport) -> str:
    """One row per finding and per judgement that was not possible."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for found in (*report.findings, *report.not_judged):
        row = found.as_json()
        row["evidence"] = " | ".join(item.text for item in found.judgement.evidence)
        writer.writerow([_cell(row[column]) for column in CSV_COLUMNS])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return "'" + value
    return "" if value is None else value


def as_gitlab(report: AuditReport, location: ListLocation) -> str:
    """GitLab's Code Quality report: a JSON list of open findings."""
    rows = [
        {
            "description": f"{f.judgement.subject}: {f.judgement.message}",
            "check_name": f.rule,
            "fingerprint": f.fingerprint,
            "severity": _GITLAB[f.severity],
            "location": {
                "path": location.path,
                "lines": {"begin": location.line(f.judgement.subject)},
            },
        }
        for f in report.open_findings
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"


def as_markdown(report: AuditReport) -> str:
    """A report to read: a sentence, the counts, the findings, what was not judged."""
    counts = summary(report)
    failing = {f.judgement.subject for f in report.open_findings}
    lines = [
        f"# Audit: {_escape(report.policy['name'])}",
        "",
        f"{len(failing):,} of {report.domains:,} domains have findings: "
        + (_severities(counts["by_severity"]) or "none")
        + f". {counts['not_judged']:,} judgements were not possible, "
        f"{counts['suppressed']:,} findings are suppressed.",
        "",
        f"Made {report.generated_at:%Y-%m-%d %H:%M} UTC from survey "
        f"`{report.source.get('survey', '')}`, rule set {report.source['rule_set']}, "
        f"policy `{report.policy['sha256'][:12]}`.",
        "",
    ]
    lines += _section("Findings", report.open_findings)
    lines += _section("Suppressed", tuple(f for f in report.findings if f.suppressed))
    lines += _section("Not evaluated", report.not_judged)
    if report.resolved:
        lines += ["## Resolved", ""]
        lines += [f"- {r['rule']}: {_escape(r['subject'])}" for r in report.resolved] + [""]
    if report.suppression_problems:
        lines += ["## Suppressions to check", ""]
        lines += [f"- {_escape(text)}" for text in report.suppression_problems] + [""]
    return "\n".join(lines)


def _severities(counts: dict[str, int]) -> str:
    return ", ".join(f"{counts[s]:,} {s}" for s in Severity if s in counts)


def _section(title: str, findings: tuple[Finding, ...]) -> list[str]:
    if not findings:
        return []
    rows = [
        f"| {f.severity} | {f.rule} | {_escape(f.judgement.subject)} | "
        f"{_escape(f.judgement.message)} | {_escape(_evidence(f))} | {_confidence(f)} | "
        f"{_escape(f.suppressed or f.suggestion)} |"
        for f in findings
    ]
    last = "Reason" if title == "Suppressed" else "Suggestion"
    header = f"| Severity | Rule | Subject | Finding | Evidence | Confidence | {last} |"
    return [f"## {title}", "", header, "|" + "-|" * 7, *rows, ""]


def _evidence(found: Finding) -> str:
    return "; ".join(item.text for item in found.judgement.evidence)


def _confidence(found: Finding) -> str:
    age = "" if found.age_days is None else f", {found.age_days:.1f} days old"
    return f"{found.judgement.confidence:.0%}, n = {found.judgement.n:,}{age}"


def _escape(text: str) -> str:
    """Text that a Markdown table shows as it is."""
    for sign in "\\`*_[]<>|":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
