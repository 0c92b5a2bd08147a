"""The rule about what moved since the audit before."""

from collections.abc import Iterator

from audits.facts.records import DomainFacts
from audits.findings import Evidence, Judgement, Severity
from audits.rules.base import Context, Parameters, Rule, finding, not_applicable, passed
from audits.rules.concentration import operator_of


class NoParameters(Parameters):
    """A rule without parameters."""


def posture(facts: DomainFacts) -> dict[str, set[str]]:
    """What a change is looked for in, as sets of values by kind."""
    return {
        "provider": {d.provider for d in facts.in_cloud if d.provider},
        "region": {f"{d.provider} {d.region}" for d in facts.in_regions},
        "zone": {f"{z.provider} {z.region} {z.zone}" for z in facts.zones if z.zone},
        "DNS operator": {operator_of(s.server) for s in facts.servers},
        "dangling name": {d.name for d in facts.dangling},
        "zone transfer": {"open"} if facts.transfer == "OK" else set(),
        "wildcard": {"answers"} if facts.wildcard else set(),
    }


def decide_change(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """Each value that appeared or disappeared since the previous survey of the same domain."""
    before = (context.previous or {}).get(facts.domain)
    if before is None:
        yield not_applicable(facts, "no earlier survey was given")
        return
    changes = 0
    earlier = posture(before)
    for kind, now in posture(facts).items():
        moves = [("added", v) for v in sorted(now - earlier[kind])]
        moves += [("removed", v) for v in sorted(earlier[kind] - now)]
        for verb, value in moves:
            changes += 1
            yield finding(
                facts,
                f"{kind} {verb}: {value}",
                n=1,
                discriminator=f"{kind} {verb} {value}",
                evidence=[Evidence("domains", facts.domain, detail=f"{kind} {verb}: {value}")],
            )
    if not changes:
        yield passed(facts, 1)


RULES = (
    Rule(
        "posture-change",
        "Something moved since the audit before",
        Severity.MEDIUM,
        "change",
        "Providers, regions, zones, DNS operators, dangling names, zone transfers and wildcards "
        "that appeared or disappeared. Place both surveys with the same range tables, so that a "
        "change of the published ranges does not look like a move.",
        "Confirm that the change was intended.",
        decide_change,
        NoParameters,
    ),
)
