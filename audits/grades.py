"""Grade one domain by the findings of a fixed set of rules (``docs/methods/grades.md``)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from audits.findings import Judgement, Outcome, Severity
from audits.policy.model import DataRequirements, Policy, RuleSetting
from audits.rules.registry import RULES

# The rules that a grade rests on, with the severity of their findings here. All can be decided by
# one survey; rules that need a campaign, customers' countries or an earlier audit are left out.
SEVERITIES: dict[str, Severity] = {
    "claimable-name": Severity.CRITICAL,
    "single-region": Severity.HIGH,
    "single-dns-operator": Severity.MEDIUM,
    "dangling-name": Severity.MEDIUM,
    "open-zone-transfer": Severity.MEDIUM,
    "single-provider": Severity.LOW,
    "cdn-concentration": Severity.LOW,
    "mail-concentration": Severity.LOW,
    "no-caa": Severity.LOW,
    "no-dnssec": Severity.LOW,
    "no-ipv6": Severity.LOW,
}
# Points that one rule with findings costs, of a hundred.
POINTS = {Severity.CRITICAL: 50, Severity.HIGH: 25, Severity.MEDIUM: 12, Severity.LOW: 4}
# The least points of each letter; below the last it is an E.
LETTERS = (("A", 90), ("B", 75), ("C", 55), ("D", 35))
WORST = "E"
# Letters need so many decided rules; with fewer there is no grade.
LEAST_DECIDED = 3


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule decided about the domain; ``severity`` is set for a finding."""

    rule: str
    title: str
    outcome: str
    message: str
    severity: str
    points: int
    n: int
    suggestion: str

    def as_json(self) -> dict[str, Any]:
        """The fields as the API gives them."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Grade:
    """A letter with its reasons, most severe first; empty where too few rules were decided.

    ``changes`` is the least number of findings without which the letter were an A.
    """

    letter: str
    points: int
    decided: int
    changes: int
    results: tuple[RuleResult, ...]


def card_policy() -> Policy:
    """The policy of the card: its rules with usual parameters, whatever the age of the survey."""
    return Policy(
        version=1,
        name="domain-card",
        data=DataRequirements(max_age_days=36_500, max_failed_share=0.1, min_names=1),
        rules={
            rule: RuleSetting(severity=level, parameters=RULES[rule].parameters())
            for rule, level in SEVERITIES.items()
        },
    )


def grade(judgements: Iterable[tuple[str, Judgement]]) -> Grade:
    """The grade of one domain from the judgements of ``card_policy`` about it."""
    by_rule: dict[str, list[Judgement]] = {}
    for rule, judgement in judgements:
        by_rule.setdefault(rule, []).append(judgement)
    results = sorted((_result(*item) for item in by_rule.items()), key=_order)
    decided = sum(r.outcome in (Outcome.FINDING, Outcome.PASS) for r in results)
    points = max(0, 100 - sum(r.points for r in results))
    letter = _letter(points) if decided >= LEAST_DECIDED else ""
    return Grade(letter, points, decided, _changes(results), tuple(results))


def _result(rule_id: str, judgements: list[Judgement]) -> RuleResult:
    """One line for a rule: its findings together, else that it was not judged, or passed."""
    rule = RULES[rule_id]
    worst = min(judgements, key=lambda j: tuple(Outcome).index(j.outcome))
    same = [j for j in judgements if j.outcome == worst.outcome]
    is_not_judged = any(j.outcome is Outcome.NOT_JUDGED for j in judgements)
    if worst.outcome is Outcome.PASS and is_not_judged:
        worst = next(j for j in judgements if j.outcome is Outcome.NOT_JUDGED)
    is_finding = worst.outcome is Outcome.FINDING
    severity = SEVERITIES.get(rule_id, Severity.INFO)
    more = f"; and {len(same) - 1:,} more" if is_finding and len(same) > 1 else ""
    return RuleResult(
        rule=rule_id,
        title=rule.title,
        outcome=str(worst.outcome),
        message=worst.message + more,
        severity=str(severity) if is_finding else "",
        points=POINTS.get(severity, 0) if is_finding else 0,
        n=worst.n,
        suggestion=rule.suggestion if is_finding else "",
    )


def _order(result: RuleResult) -> tuple[int, int, str]:
    return (tuple(Outcome).index(Outcome(result.outcome)), -result.points, result.rule)


def _letter(points: int) -> str:
    return next((letter for letter, least in LETTERS if points >= least), WORST)


def _changes(results: list[RuleResult]) -> int:
    lost = sorted((r.points for r in results if r.points), reverse=True)
    allowed = 100 - LETTERS[0][1]
    return next(n for n in range(len(lost) + 1) if sum(lost[n:]) <= allowed)
