"""Findings: the result of a rule for a subject, with evidence, confidence and a stable identity."""

import hashlib
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

# Part of every fingerprint: raised when the canonical form of subjects changes.
_FINGERPRINT_VERSION = "nephoscope-audit-1"
# Rows of evidence that a finding lists; all of them are in the lake.
MAX_EVIDENCE = 5


class Severity(StrEnum):
    """How much a finding matters, most severe first."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the most severe."""
        return _SEVERITIES.index(self)

    def at_least(self, other: "Severity") -> bool:
        return self.rank <= other.rank


_SEVERITIES = tuple(Severity)


class Outcome(StrEnum):
    """What a rule decided about one subject."""

    FINDING = "finding"
    PASS = "pass"
    # The observations do not suffice; never counted as a pass.
    NOT_JUDGED = "not-judged"
    # The rule is about something that the subject does not have.
    NOT_APPLICABLE = "not-applicable"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One raw observation: the lake table, and the values that find its row again."""

    table: str
    domain: str
    name: str = ""
    address: str = ""
    prefix: str = ""
    as_of: date | None = None
    detail: str = ""
    # Of a campaign: the ends of a measurement, its round and its moment.
    vantage: str = ""
    region: str = ""
    round: str = ""
    at: str = ""

    def as_json(self) -> dict[str, Any]:
        """The fields that are set."""
        values = [(name, getattr(self, name)) for name in self.__slots__]
        return {name: str(value) for name, value in values if value}

    @property
    def text(self) -> str:
        """One line for people: ``www.shop.example 192.0.2.1 (192.0.2.0/24 of 2026-11-01), aws``."""
        prefix = f"({self.prefix} of {self.as_of})" if self.prefix else ""
        where = " ".join(part for part in (self.name, self.address, prefix) if part)
        ends = f"{self.vantage} to {self.region}" if self.vantage else ""
        return ", ".join(part for part in (where, self.detail, ends, self.at) if part)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision of one rule about one subject.

    ``subject`` is a listed domain; ``discriminator`` separates several findings of a rule about
    one subject (a name, a region). ``confidence`` is a probability in [0, 1]; ``n`` the number of
    observations that the decision rests on.
    """

    subject: str
    outcome: Outcome
    message: str
    n: int = 0
    confidence: float = 1.0
    discriminator: str = ""
    evidence: tuple[Evidence, ...] = ()
    # Where it differs from the severity that the policy gives the rule.
    severity: Severity | None = None


def fingerprint_of(rule: str, subject: str, discriminator: str = "") -> str:
    """SHA-256 over rule, subject and discriminator: equal as long as the finding is the same.

    Severity, wording, counts, times and addresses are left out, so that a finding keeps its
    identity when the policy or the figures change.
    """
    parts = (_FINGERPRINT_VERSION, rule, subject, discriminator)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Finding:
    """A judgement of a rule, with what the policy makes of it."""

    rule: str
    judgement: Judgement
    severity: Severity
    title: str
    suggestion: str
    # ``new`` and ``persisting`` against a baseline, ``open`` without one.
    state: str = "open"
    # The reason of the suppression that covers it; empty where none does.
    suppressed: str = ""
    observed_at: datetime | None = None
    age_days: float | None = None

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.rule, self.judgement.subject, self.judgement.discriminator)

    @property
    def id(self) -> str:
        """Short, readable identity: the rule, and the first 12 digits of the fingerprint."""
        return f"{self.rule}-{self.fingerprint[:12]}"

    def as_json(self) -> dict[str, Any]:
        j = self.judgement
        return {
            "id": self.id,
            "fingerprint": self.fingerprint,
            "rule": self.rule,
            "title": self.title,
            "severity": str(self.severity),
            "outcome": str(j.outcome),
            "subject": j.subject,
            "discriminator": j.discriminator,
            "message": j.message,
            "n": j.n,
            "confidence": round(j.confidence, 6),
            "observed_at": self.observed_at.isoformat() if self.observed_at else None,
            "age_days": None if self.age_days is None else round(self.age_days, 3),
            "state": self.state,
            "suppressed": self.suppressed,
            "suggestion": self.suggestion,
            "evidence": [item.as_json() for item in j.evidence],
        }


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Everything that an audit decided, with the versions that it depends on."""

    policy: dict[str, Any]
    source: dict[str, Any]
    generated_at: datetime
    domains: int
    findings: tuple[Finding, ...]
    not_judged: tuple[Finding, ...]
    passed: dict[str, int] = field(default_factory=dict)
    not_applicable: dict[str, int] = field(default_factory=dict)
    # Findings of the baseline that are passes now.
    resolved: tuple[dict[str, Any], ...] = ()
    # Findings of the baseline that could not be judged this time: they are still open.
    stale: tuple[dict[str, Any], ...] = ()
    # Suppressions that expired or cover nothing.
    suppression_problems: tuple[str, ...] = ()

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Findings that no suppression covers."""
        return tuple(f for f in self.findings if not f.suppressed)

    def failing(self, threshold: Severity) -> tuple[Finding, ...]:
        """Open findings that are at least as severe as ``threshold``."""
        return tuple(f for f in self.open_findings if f.severity.at_least(threshold))

    @property
    def judged(self) -> int:
        """Decisions that are findings or passes."""
        return len(self.findings) + sum(self.passed.values())
