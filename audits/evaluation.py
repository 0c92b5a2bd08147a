"""Apply a policy to the facts of a survey."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from audits import RULE_SET_VERSION
from audits.facts.records import DomainFacts
from audits.facts.reference import list_versions
from audits.findings import AuditReport, Finding, Judgement, Outcome
from audits.policy.model import Policy, Suppression
from audits.rules.base import Context, not_judged
from audits.rules.registry import RULES, THIN_DATA

_DAY_SECONDS = 86_400.0
Baseline = Mapping[str, Mapping[str, Any]]


@dataclass(slots=True)
class _Tally:
    findings: list[Finding] = field(default_factory=list)
    not_judged: list[Finding] = field(default_factory=list)
    passed: Counter[str] = field(default_factory=Counter)
    not_applicable: Counter[str] = field(default_factory=Counter)
    # (rule, subject) that were decided, so that a finding which is gone counts as resolved.
    decided: set[tuple[str, str]] = field(default_factory=set)


def evaluate(
    domains: Iterable[DomainFacts],
    policy: Policy,
    context: Context,
    source: Mapping[str, Any] | None = None,
    baseline: Baseline | None = None,
) -> AuditReport:
    """Judge every domain by every rule of the policy.

    ``baseline`` holds the findings of an earlier report by fingerprint: findings that it has are
    ``persisting``, others ``new``; what it has and is gone is ``resolved``, or ``stale`` where the
    rule could not be judged this time.
    """
    tally = _Tally()
    n = 0
    for facts in domains:
        n += 1
        for rule_id, judgement in evaluate_domain(facts, policy, context):
            _count(tally, rule_id, judgement, facts, policy, context, baseline)
    used = _suppress(tally, policy.suppressions, context.now.date())
    current = {f.fingerprint for f in tally.findings}
    gone = [dict(row) for key, row in (baseline or {}).items() if key not in current]
    return AuditReport(
        policy=policy.summary(),
        source={
            **(source or {}),
            "rule_set": RULE_SET_VERSION,
            "lists": list_versions(),
        },
        generated_at=context.now,
        domains=n,
        findings=tuple(sorted(tally.findings, key=_order)),
        not_judged=tuple(sorted(tally.not_judged, key=_order)),
        passed=dict(sorted(tally.passed.items())),
        not_applicable=dict(sorted(tally.not_applicable.items())),
        resolved=tuple(r for r in gone if (r["rule"], r["subject"]) in tally.decided),
        stale=tuple(r for r in gone if (r["rule"], r["subject"]) not in tally.decided),
        suppression_problems=tuple(_problems(policy.suppressions, used, context.now.date())),
    )


def evaluate_domain(
    facts: DomainFacts, policy: Policy, context: Context
) -> Iterator[tuple[str, Judgement]]:
    """The judgements of all rules of a policy about one domain, with the rule's id."""
    unusable = _unusable(facts, policy, context)
    if unusable:
        yield THIN_DATA.id, not_judged(facts, unusable, n=facts.found)
        return
    incomplete, outdated = _incomplete(facts, policy), _outdated(policy, context)
    for rule_id, setting in policy.rules.items():
        rule = RULES[rule_id]
        doubt = (incomplete if rule.universal else "") or (outdated if rule.of_campaign else "")
        for judgement in rule.decide(facts, context, setting.parameters):
            if doubt and judgement.outcome != Outcome.NOT_APPLICABLE:
                yield rule_id, not_judged(facts, doubt, n=facts.found)
                break
            yield rule_id, judgement


def _unusable(facts: DomainFacts, policy: Policy, context: Context) -> str:
    if facts.observed_at is None or facts.found < policy.data.min_names:
        return f"{facts.found:,} names found, {policy.data.min_names:,} needed"
    age = _age_days(facts, context)
    if age is not None and age > policy.data.max_age_days:
        return f"observed {age:.1f} days ago, at most {policy.data.max_age_days:g} are accepted"
    return ""


def _incomplete(facts: DomainFacts, policy: Policy) -> str:
    share = facts.failed / facts.asked if facts.asked else 0.0
    if share <= policy.data.max_failed_share:
        return ""
    return (
        f"{facts.failed:,} of {facts.asked:,} queries failed ({share:.0%}), at most "
        f"{policy.data.max_failed_share:.0%} are accepted for a claim about all names"
    )


def _outdated(policy: Policy, context: Context) -> str:
    """Why the measurements of the campaign are not judged; empty where they are."""
    if context.campaign is None:
        return ""
    age_days = (context.now - context.campaign.ended_at).total_seconds() / _DAY_SECONDS
    if age_days <= policy.data.max_age_days:
        return ""
    return (
        f"{context.campaign.label} ended {age_days:.1f} days ago, at most "
        f"{policy.data.max_age_days:g} are accepted"
    )


def _age_days(facts: DomainFacts, context: Context) -> float | None:
    if facts.observed_at is None:
        return None
    return (context.now - facts.observed_at).total_seconds() / _DAY_SECONDS


def _count(  # noqa: PLR0913 - one call site, all of it is the state of one evaluation
    tally: _Tally,
    rule_id: str,
    judgement: Judgement,
    facts: DomainFacts,
    policy: Policy,
    context: Context,
    baseline: Baseline | None,
) -> None:
    outcome = judgement.outcome
    if outcome is Outcome.PASS:
        tally.passed[rule_id] += 1
    elif outcome is Outcome.NOT_APPLICABLE:
        tally.not_applicable[rule_id] += 1
    else:
        rule = RULES[rule_id]
        setting = policy.rules.get(rule_id)
        found = Finding(
            rule_id,
            judgement,
            judgement.severity or (setting.severity if setting else rule.severity),
            rule.title,
            rule.suggestion,
            observed_at=facts.observed_at,
            age_days=_age_days(facts, context),
        )
        if outcome is Outcome.NOT_JUDGED:
            tally.not_judged.append(found)
            return
        if baseline is not None:
            found = replace(found, state="persisting" if found.fingerprint in baseline else "new")
        tally.findings.append(found)
    tally.decided.add((rule_id, judgement.subject))


def _suppress(
    tally: _Tally, suppressions: tuple[Suppression, ...], today: date
) -> set[Suppression]:
    """Mark the findings that a suppression in force covers; return those that cover one."""
    used: set[Suppression] = set()
    # Globs by rule, others by rule and subject: there may be thousands.
    by_place: dict[tuple[str, str], list[Suppression]] = {}
    for suppression in suppressions:
        subject = "*" if suppression.is_glob else suppression.subject
        by_place.setdefault((suppression.rule, subject), []).append(suppression)
    for i, found in enumerate(tally.findings):
        j = found.judgement
        exact, globs = (by_place.get((found.rule, place), []) for place in (j.subject, "*"))
        for suppression in (*exact, *globs):
            if suppression.covers(found.rule, j.subject, j.discriminator):
                used.add(suppression)
                if suppression.expires >= today and not found.suppressed:
                    text = (
                        f"{suppression.reason} ({suppression.owner}, until {suppression.expires})"
                    )
                    tally.findings[i] = found = replace(found, suppressed=text)
    return used


def _problems(
    suppressions: tuple[Suppression, ...], used: set[Suppression], today: date
) -> Iterator[str]:
    for i, s in enumerate(suppressions):
        where = f"suppressions.{i} ({s.rule}, {s.subject})"
        if s.expires < today:
            yield f"{where} expired on {s.expires}"
        elif s not in used:
            yield f"{where} covers no finding"


def _order(found: Finding) -> tuple[int, str, str, str]:
    j = found.judgement
    return (found.severity.rank, found.rule, j.subject, j.discriminator)
