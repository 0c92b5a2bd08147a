"""Rules about records that a domain should have: IPv6 addresses, CAA, DS."""

from collections.abc import Callable, Iterator

from audits.facts.records import ANSWERED, DomainFacts
from audits.findings import Evidence, Judgement, Severity
from audits.rules.base import Context, Parameters, Rule, finding, not_judged, passed


class NoParameters(Parameters):
    """A rule without parameters."""


def decide_ipv6(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """No name of the domain has an IPv6 address, although AAAA was queried."""
    if facts.ipv6_names:
        yield passed(facts, facts.ipv6_names, facts.ipv6_name)
    elif not context.asked_ipv6:
        yield not_judged(facts, "the survey did not ask for AAAA records")
    else:
        evidence = Evidence("domains", facts.domain, name=facts.domain, detail="no AAAA answer")
        yield finding(
            facts,
            f"none of {facts.found:,} names has an IPv6 address",
            n=facts.found,
            evidence=[evidence],
        )


def _absent(
    kind: str, message: str
) -> Callable[[DomainFacts, Context, NoParameters], Iterator[Judgement]]:
    def decide(
        facts: DomainFacts, context: Context, parameters: NoParameters
    ) -> Iterator[Judgement]:
        answer = facts.records.get(kind)
        if answer is None:
            yield not_judged(facts, f"{kind} was not asked")
        elif answer.status not in ANSWERED:
            yield not_judged(facts, f"the {kind} question failed: {answer.status}")
        elif answer.values:
            yield passed(facts, len(answer.values), answer.values[0])
        else:
            detail = f"{kind} {answer.name}: {answer.status}"
            evidence = Evidence("audit_lookups", facts.domain, name=answer.name, detail=detail)
            yield finding(facts, message, n=1, evidence=[evidence])

    return decide


RULES = (
    Rule(
        "no-ipv6",
        "No name has an IPv6 address",
        Severity.LOW,
        "records",
        "AAAA records were queried for every name, and none exists.",
        "Publish AAAA records for the public names.",
        decide_ipv6,
        NoParameters,
        universal=True,
    ),
    Rule(
        "no-caa",
        "Any certificate authority may issue certificates",
        Severity.LOW,
        "records",
        "Neither the domain nor a domain above it has a CAA record (RFC 8659).",
        "Publish a CAA record that names the certificate authorities in use.",
        _absent("CAA", "no CAA record on the domain or above it"),
        NoParameters,
        security_severity=3.0,
    ),
    Rule(
        "no-dnssec",
        "Answers are not signed",
        Severity.LOW,
        "records",
        "The parent zone has no DS record for the domain, so answers cannot be validated "
        "(RFC 4035).",
        "Sign the zone and publish the DS record with the registrar.",
        _absent("DS", "the parent zone has no DS record"),
        NoParameters,
        security_severity=3.0,
    ),
)
