# ruff: noqa: D101
"""Response schemas of audits, saved domain lists and policies, and suppressions."""

from datetime import date, datetime
from typing import Literal

from ninja import Schema

from webapp.api.framework.replies.common import Page, RejectedLine
from webapp.api.framework.replies.details import (
    AuditedSource,
    Parameter,
    PolicyVersion,
)
from webapp.api.framework.replies.surveys import SurveyPlan

Severity = Literal["critical", "high", "medium", "low", "info"]


class AuditSource(Schema):
    """What was audited; names that the reader may not open are null."""

    kind: Literal["domains", "domain-list", "survey"]
    survey: str | None
    domain_list: str | None


class AppliedPolicy(Schema):
    name: str
    sha256: str
    saved: str | None


class AuditSummary(Schema):
    """Counts of a report; those of severities are of findings that are not suppressed."""

    domains: int
    findings: int
    by_severity: dict[Severity, int]
    new: int
    suppressed: int
    not_judged: int
    resolved: int
    stale: int
    passed: dict[str, int]
    not_applicable: dict[str, int]


class Audit(Schema):
    """``exit_code`` is that of the command: 0 clean, 1 findings, 3 not judged."""

    id: str
    name: str
    status: Literal["queued", "surveying", "running", "finished", "partial", "failed"]
    is_public: bool
    source: AuditSource
    policy: AppliedPolicy
    campaign: str | None
    previous: str | None
    fail_on: Severity
    strict: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    step: str
    error: str
    summary: AuditSummary | None
    exit_code: int | None
    links: dict[str, str]


class AuditPlan(Schema):
    policy: PolicyVersion
    rules: list[str]
    domains: int
    survey: SurveyPlan | None
    record_queries: int
    estimated_queries: int
    estimated_s: float


class AuditFinding(Schema):
    """A judgement with its evidence; rows of ``resolved`` and ``stale`` are of the audit before."""

    id: str
    fingerprint: str
    rule: str
    title: str
    severity: Severity
    outcome: Literal["finding", "not-judged"]
    subject: str
    discriminator: str
    message: str
    n: int
    confidence: float
    observed_at: datetime | None
    age_days: float | None
    state: Literal["open", "new", "persisting"]
    suppressed: str
    suggestion: str
    evidence: list[dict[str, str]]


class ListedFinding(AuditFinding):
    category: Literal["finding", "suppressed", "not-judged", "stale", "resolved"]
    row: int


class AuditFindings(Page[ListedFinding]):
    pass


class AuditReport(Schema):
    """The whole report, as the command ``audit --format json`` gives it."""

    format: Literal["nephoscope-audit-report"]
    version: int
    policy: PolicyVersion
    source: AuditedSource
    generated_at: datetime
    summary: AuditSummary
    findings: list[AuditFinding]
    not_judged: list[AuditFinding]
    resolved: list[AuditFinding]
    stale: list[AuditFinding]
    suppression_problems: list[str]


class AuditVisibility(Schema):
    audit: str
    is_public: bool


class DomainList(Schema):
    id: str
    name: str
    version: int
    sha256: str
    domains: int
    duplicates: int
    n_rejected: int
    rejected: list[RejectedLine]
    notes: list[str]
    created_at: datetime
    changed_at: datetime
    links: dict[str, str]


class AuditRule(Schema):
    id: str
    title: str
    severity: Severity
    category: str
    description: str
    suggestion: str
    parameters: dict[str, Parameter]


class AuditPolicy(Schema):
    """A preset, which has no times, or a saved policy."""

    id: str
    name: str
    preset: bool
    version: int
    sha256: str
    rules: list[str]
    created_at: datetime | None
    changed_at: datetime | None
    links: dict[str, str]


class AuditPolicyWithDocument(AuditPolicy):
    document: str


class Suppression(Schema):
    id: int
    rule: str
    subject: str
    fingerprint: str
    reason: str
    owner: str
    expires: date
    policy: str | None
    created_at: datetime
