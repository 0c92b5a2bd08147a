"""What the command and the API ask of an audit: policy, survey, report as text, exit code."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from audits.evaluation import Baseline
from audits.findings import AuditReport, Severity
from audits.output.document import read_baseline, summary
from audits.output.locations import ListLocation
from audits.output.registry import FORMATS
from audits.output.rule_reference import rule_reference
from audits.policy.loading import load_preset, parse_policy, preset_names
from audits.policy.model import Policy, json_schema
from audits.rules.registry import RULES, THIN_DATA
from core.errors import BadInput
from crawlers.files.domain_list import read_domain_list
from tasks.audits.audit import RECORD_RULES, AuditOptions, run_audit
from tasks.surveys import domain_records
from tasks.surveys.study import finished
from webapp.store.access.visibility import OPERATOR
from webapp.store.audits.selectors import find_campaign

__all__ = ["json_schema", "rule_reference", "summary"]
FORMAT_NAMES = tuple(FORMATS)
SEVERITIES = tuple(str(s) for s in Severity)


class ExitCode(IntEnum):
    """Exit codes of the command; findings outrank what could not be judged."""

    CLEAN = 0
    FINDINGS = 1
    BAD_INPUT = 2
    NOT_JUDGED = 3


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """One audit of a survey in the store."""

    survey: str
    policy: Policy
    baseline: Baseline | None = None
    previous: str = ""
    ask_records: bool = False
    campaign: str = ""


def find_policy(text: str) -> Policy:
    """The policy of a file, or a preset by name; raises ``BadInput``."""
    path = Path(text)
    if text in preset_names() and not path.exists():
        return load_preset(text)
    try:
        return parse_policy(path.read_bytes())
    except OSError as error:
        presets = ", ".join(preset_names())
        raise BadInput(
            f"cannot read {text}: {error.strerror}; presets are {presets}", field="policy"
        ) from error


def read_policy_file(text: str) -> bytes | None:
    """The document of a policy that is a file here; ``None`` for a name that a server knows.

    Raises ``BadInput`` where the file is no policy, before anything is sent.
    """
    path = Path(text)
    if not path.is_file():
        if path.suffix in (".toml", ".json"):
            raise BadInput(f"there is no file {text}", field="policy")
        return None
    find_policy(text)
    return path.read_bytes()


def find_baseline(path: Path) -> Baseline:
    """The findings of an earlier JSON report; raises ``BadInput``."""
    return read_baseline(_read_report(path))


def read_baseline_file(path: Path) -> str:
    """The text of an earlier JSON report, for a server.

    Raises ``BadInput`` where the file is none, before anything is sent.
    """
    data = _read_report(path)
    read_baseline(data)
    return data.decode("utf-8")


def _read_report(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}", field="baseline") from error


def list_location(data: bytes, path: str) -> ListLocation:
    """Lines of the domains of a list as it was committed; raises ``BadInput``."""
    lines = data.decode("utf-8", "replace").splitlines()
    found = {entry.domain: entry.line for entry in read_domain_list(data).entries if entry.line}
    widths = {domain: len(lines[line - 1]) for domain, line in found.items() if line <= len(lines)}
    return ListLocation(path, found, widths)


def audit_survey(request: AuditRequest) -> AuditReport:
    """Audit a finished survey; raises ``BadInput`` and ``MissingData``."""
    survey = finished(request.survey)
    if request.ask_records and needs_records(request.policy):
        domain_records.ask_records(survey)
    previous = finished(request.previous) if request.previous else None
    campaign = find_campaign(request.campaign, OPERATOR) if request.campaign else None
    options = AuditOptions(baseline=request.baseline, previous=previous, campaign=campaign)
    return run_audit(survey, request.policy, options)


def needs_records(policy: Policy) -> bool:
    """Whether a policy has rules about records that a survey does not ask for."""
    return bool(RECORD_RULES & policy.rules.keys())


def render(report: AuditReport, form: str, location: ListLocation | None = None) -> str:
    """The report in one of ``FORMAT_NAMES``."""
    return FORMATS[form](report, location or ListLocation())


def exit_code(report: AuditReport, fail_on: str, *, strict: bool = False) -> ExitCode:
    """The exit code of a report.

    Findings at least as severe as ``fail_on`` give 1. Otherwise 3 where a domain could not be
    judged at all, where nothing was judged, or, if ``strict``, where any rule was not judged.
    """
    if report.failing(Severity(fail_on)):
        return ExitCode.FINDINGS
    unusable = any(f.rule == THIN_DATA.id for f in report.not_judged)
    if unusable or not report.judged or (strict and report.not_judged):
        return ExitCode.NOT_JUDGED
    return ExitCode.CLEAN


def describe_rules() -> list[Mapping[str, object]]:
    """Every rule with its default severity and parameters, for documents and the command."""
    return [
        {
            "id": rule.id,
            "title": rule.title,
            "severity": str(rule.severity),
            "category": rule.category,
            "description": rule.description,
            "suggestion": rule.suggestion,
            "parameters": rule.parameters.model_json_schema().get("properties", {}),
        }
        for rule in RULES.values()
    ]
