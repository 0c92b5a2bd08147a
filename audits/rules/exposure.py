"""Rules about what outsiders can read or claim, and about what an outage takes down."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from audits.facts.records import DanglingName, DomainFacts
from audits.findings import Evidence, Judgement, Severity
from audits.rules.base import (
    Context,
    Parameters,
    Rule,
    count_of,
    finding,
    not_applicable,
    not_judged,
    passed,
    region_text,
)


class NoParameters(Parameters):
    """A rule without parameters."""


def decide_dangling(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """Each name with an alias to a missing name of a provider."""
    yield from _evaluate_dangling(
        facts, facts.dangling, "leads to {0.missing}, which does not exist"
    )


def decide_claimable(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """Each dangling name with a missing target that customers of the provider can choose."""
    text = "leads to {0.missing}; anyone may be able to register it with {1}"
    yield from _evaluate_dangling(facts, [d for d in facts.dangling if d.claimable], text)


def _evaluate_dangling(
    facts: DomainFacts, names: list[DanglingName], text: str
) -> Iterator[Judgement]:
    for d in names:
        evidence = Evidence(
            "fronts", facts.domain, name=d.name, detail=f"rule {d.rule}, missing {d.missing}"
        )
        yield finding(
            facts,
            f"{d.name} " + text.format(d, region_text(d.provider, "")),
            n=1,
            discriminator=d.name,
            evidence=[evidence],
        )
    if not names:
        yield passed(facts, facts.found)


def decide_zone_transfer(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """Name servers that hand the whole zone to an outsider (AXFR, RFC 5936)."""
    if facts.transfer == "OK":
        evidence = Evidence("domains", facts.domain, name=facts.domain, detail="transfer OK")
        yield finding(facts, "the zone was transferred to the crawler", n=1, evidence=[evidence])
    elif facts.transfer in ("", "SKIPPED"):
        yield not_judged(facts, "zone transfers were not tried")
    else:
        yield passed(facts, 1, facts.transfer)


def decide_wildcard(
    facts: DomainFacts, context: Context, parameters: NoParameters
) -> Iterator[Judgement]:
    """A wildcard answers for names that were never created (RFC 4592)."""
    if facts.wildcard:
        evidence = Evidence("domains", facts.domain, name=facts.domain, detail="wildcard seen")
        yield finding(facts, "names that do not exist are answered", n=1, evidence=[evidence])
    else:
        yield passed(facts, facts.asked)


class OutageExposure(Parameters):
    """Parameters of ``outage-exposure``."""

    max_share: float = Field(
        0.5, ge=0, le=1, description="greatest share of the names that one outage takes down"
    )
    min_names: int = Field(2, ge=1, description="fewer names than this are not judged")
    kinds: tuple[Literal["provider", "region", "zone", "operator"], ...] = Field(
        ("region", "zone"), min_length=1, description="kinds of outage to consider"
    )


def decide_outage_exposure(
    facts: DomainFacts, context: Context, parameters: OutageExposure
) -> Iterator[Judgement]:
    """The outage of each kind that takes most names down; names partly down are not counted."""
    considered = [e for e in facts.exposures if e.kind in parameters.kinds]
    if not considered:
        yield not_applicable(facts, "no outage of these kinds reaches the domain")
        return
    names = considered[0].names
    if names < parameters.min_names:
        yield not_judged(facts, count_of(names, "name"), n=names)
        return
    any_finding = False
    for kind in parameters.kinds:
        of_kind = [e for e in considered if e.kind == kind]
        worst = max(of_kind, key=lambda e: e.names if e.silent else e.down, default=None)
        if worst is None:
            continue
        down = worst.names if worst.silent else worst.down
        if down / names <= parameters.max_share:
            continue
        any_finding = True
        target = " ".join(dict.fromkeys(part for part in (worst.provider, worst.target) if part))
        shown = region_text(worst.provider, "" if kind == "provider" else worst.target)
        detail = f"outage of {kind} {shown}: {down} of {names} names down"
        yield finding(
            facts,
            f"an outage of {kind} {shown} takes {down:,} of {count_of(names, 'name')} down",
            n=names,
            discriminator=f"{kind} {target}",
            evidence=[Evidence("placements", facts.domain, detail=detail)],
        )
    if not any_finding:
        yield passed(facts, names)


RULES = (
    Rule(
        "dangling-name",
        "A name leads to something that does not exist",
        Severity.MEDIUM,
        "exposure",
        "The alias chain ends at a provider's name that returned NXDOMAIN.",
        "Remove the record, or create its target.",
        decide_dangling,
        NoParameters,
        security_severity=5.0,
    ),
    Rule(
        "claimable-name",
        "A name may be taken over",
        Severity.HIGH,
        "exposure",
        "A dangling name with a missing target that customers of the provider can register: its "
        "creator serves the name. Providers reserve some names, so this is a possibility.",
        "Remove the record now, or create the resource in an account of your own.",
        decide_claimable,
        NoParameters,
        security_severity=8.0,
    ),
    Rule(
        "open-zone-transfer",
        "The whole zone can be transferred",
        Severity.HIGH,
        "exposure",
        "A name server answered AXFR for the crawler. If the crawler's address is allowed on "
        "purpose, suppress the finding.",
        "Limit zone transfers to the addresses of the secondary servers.",
        decide_zone_transfer,
        NoParameters,
        security_severity=7.0,
    ),
    Rule(
        "wildcard",
        "A wildcard answers for any name",
        Severity.LOW,
        "exposure",
        "Names that do not exist are answered, so that misspelt or forged names look real.",
        "Replace the wildcard by the names that are needed, or suppress the finding.",
        decide_wildcard,
        NoParameters,
        security_severity=3.0,
    ),
    Rule(
        "outage-exposure",
        "One outage takes most names down",
        Severity.HIGH,
        "resilience",
        "Names that lose all addresses, or all name servers, with one region, zone or DNS "
        "operator.",
        "Spread the names, or each name, over several of them.",
        decide_outage_exposure,
        OutageExposure,
        universal=True,
    ),
)
