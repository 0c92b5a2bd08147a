"""A report as JUnit XML: a suite per rule, a case per subject.

``failure`` is a finding, ``skipped`` a suppressed one, ``error`` what could not be judged.
"""

from collections.abc import Iterable
from xml.etree import ElementTree

from audits.findings import AuditReport, Finding

_SHORT_DIGITS = 8


def as_junit(report: AuditReport) -> str:
    """The report as XML text; names are unique, since readers keep the first of equal ones."""
    root = ElementTree.Element("testsuites", {"name": f"audit {report.policy['name']}"})
    rules = sorted({f.rule for f in (*report.findings, *report.not_judged)} | set(report.passed))
    for rule in rules:
        findings = [f for f in report.findings if f.rule == rule]
        unjudged = [f for f in report.not_judged if f.rule == rule]
        passed = report.passed.get(rule, 0)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            {
                "name": rule,
                "tests": str(len(findings) + len(unjudged) + (1 if passed else 0)),
                "failures": str(sum(not f.suppressed for f in findings)),
                "skipped": str(sum(bool(f.suppressed) for f in findings)),
                "errors": str(len(unjudged)),
            },
        )
        _add_cases(suite, findings, unjudged)
        if passed:
            name = f"{passed} domains pass" if passed > 1 else "1 domain passes"
            ElementTree.SubElement(suite, "testcase", {"classname": rule, "name": name})
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + (
        ElementTree.tostring(root, encoding="unicode") + "\n"
    )


def _add_cases(
    suite: ElementTree.Element, findings: Iterable[Finding], unjudged: Iterable[Finding]
) -> None:
    for found in findings:
        case = _case(suite, found)
        if found.suppressed:
            ElementTree.SubElement(case, "skipped", {"message": _clean(found.suppressed)})
            continue
        details = {"message": _clean(found.judgement.message), "type": str(found.severity)}
        failure = ElementTree.SubElement(case, "failure", details)
        lines = [item.text for item in found.judgement.evidence]
        failure.text = _clean("\n".join([*lines, found.suggestion]))
    for found in unjudged:
        details = {"message": _clean(found.judgement.message), "type": "not-judged"}
        ElementTree.SubElement(_case(suite, found), "error", details)


def _case(suite: ElementTree.Element, found: Finding) -> ElementTree.Element:
    name = f"{found.judgement.subject} {found.fingerprint[:_SHORT_DIGITS]}"
    return ElementTree.SubElement(
        suite, "testcase", {"classname": found.rule, "name": _clean(name)}
    )


def _clean(text: str) -> str:
    """The text without characters that XML 1.0 forbids."""
    return "".join(c for c in text if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "�")
