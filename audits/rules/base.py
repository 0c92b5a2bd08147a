"""What every rule has: identity, default severity, parameters and a function that decides."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from audits.facts.campaign import CampaignFacts, CampaignRow
from audits.facts.records import Deployment, DomainFacts
from audits.findings import MAX_EVIDENCE, Evidence, Judgement, Outcome, Severity
from core.providers import PROVIDER_BY_ID


class Parameters(BaseModel):
    """Parameters of a rule; unknown ones are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Context:
    """What rules read beside the facts of one domain.

    ``countries`` gives the ISO code by (provider, region); ``asked_ipv6`` whether the survey asked
    for AAAA records; ``previous`` the facts of the audit before, by domain.
    """

    now: datetime
    countries: Mapping[tuple[str, str], str] = field(default_factory=dict)
    asked_ipv6: bool = True
    campaign: CampaignFacts | None = None
    previous: Mapping[str, DomainFacts] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    ``universal`` means that its claim is about all names of a domain, so that names with failed
    lookups make it uncertain; ``of_campaign`` that it reads measurements of a campaign, which may
    be too old. ``security_severity`` (0 to 10, as SARIF readers expect it) is set for security
    rules only.
    """

    id: str
    title: str
    severity: Severity
    category: str
    description: str
    suggestion: str
    decide: Callable[[DomainFacts, Context, Any], Iterable[Judgement]]
    parameters: type[Parameters] = Parameters
    universal: bool = False
    of_campaign: bool = False
    security_severity: float | None = None


def finding(facts: DomainFacts, message: str, *, n: int, **details: Any) -> Judgement:
    """A finding about the domain of ``facts``; ``details`` are further fields of ``Judgement``."""
    details["evidence"] = tuple(details.get("evidence", ()))[:MAX_EVIDENCE]
    return Judgement(facts.domain, Outcome.FINDING, message, n, **details)


def campaign_evidence(
    table: str, facts: DomainFacts, label: str, rows: Iterable[CampaignRow]
) -> list[Evidence]:
    """Rows of a campaign as evidence; the campaign alone where no row is known."""
    found = [
        Evidence(
            table,
            facts.domain,
            detail=label if row.value_ms is None else f"{label}; {row.value_ms:.1f} ms",
            vantage=row.vantage,
            region=row.region,
            round=str(row.round),
            at=f"{row.at:%Y-%m-%dT%H:%M:%SZ}",
        )
        for row in rows
    ]
    return found or [Evidence(table, facts.domain, detail=label)]


def passed(facts: DomainFacts, n: int, message: str = "") -> Judgement:
    """The rule holds for the domain."""
    return Judgement(facts.domain, Outcome.PASS, message, n)


def not_judged(
    facts: DomainFacts, reason: str, *, n: int = 0, discriminator: str = ""
) -> Judgement:
    """The observations do not suffice, for ``reason``."""
    return Judgement(facts.domain, Outcome.NOT_JUDGED, reason, n, 0.0, discriminator)


def not_applicable(facts: DomainFacts, reason: str) -> Judgement:
    """The domain has nothing that the rule is about."""
    return Judgement(facts.domain, Outcome.NOT_APPLICABLE, reason)


def placement_evidence(facts: DomainFacts, deployments: Iterable[Deployment]) -> list[Evidence]:
    """One row of ``placements`` for each deployment."""
    return [
        Evidence(
            "placements",
            facts.domain,
            name=d.name,
            address=d.address,
            prefix=d.prefix,
            as_of=d.as_of,
            detail=" ".join(part for part in (d.provider, d.region or d.kind) if part),
        )
        for d in deployments
    ]


def region_text(provider: str | None, region: str | None) -> str:
    """``Amazon us-east-1``: a region as messages name it; discriminators hold the provider's id."""
    known = PROVIDER_BY_ID.get(provider or "")
    return f"{known.name if known else provider or ''} {region or ''}".strip()


def count_of(n: int, singular: str, plural: str = "") -> str:
    """A number with its noun: ``1 name``, ``3 names``."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
