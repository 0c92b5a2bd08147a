"""Rules about latency, from a measurement campaign."""

from collections.abc import Iterator

from pydantic import Field

from audits.facts.campaign import CampaignFacts, LatencyFact, Region
from audits.facts.records import DomainFacts
from audits.findings import Evidence, Judgement, Severity
from audits.rules.base import (
    Context,
    Parameters,
    Rule,
    campaign_evidence,
    finding,
    not_applicable,
    not_judged,
    passed,
    region_text,
)


class SlowCountry(Parameters):
    """Parameters of ``slow-country``."""

    max_p95_ms: float = Field(
        150.0, gt=0, le=10_000, description="greatest 95th percentile of the round-trip time"
    )
    countries: tuple[str, ...] = Field(
        (), description="ISO country codes; those of the domain's customers where empty"
    )
    min_samples: int = Field(30, ge=1, description="fewer samples than this are not judged")


def decide_slow_country(
    facts: DomainFacts, context: Context, parameters: SlowCountry
) -> Iterator[Judgement]:
    """Each country in which the domain's best region is slower, with its whole 95 % interval."""
    regions = _regions(facts)
    countries = parameters.countries or tuple(sorted(facts.customers))
    if not regions:
        yield not_applicable(facts, "no region is visible")
        return
    if not countries:
        yield not_judged(facts, "neither the policy nor customers name countries")
        return
    if context.campaign is None:
        yield not_judged(facts, "no campaign was given")
        return
    for country in countries:
        yield _evaluate_country(facts, context.campaign, parameters, country, regions)


def _regions(facts: DomainFacts) -> list[Region]:
    return sorted({(d.provider or "", d.region or "") for d in facts.in_regions})


def _evaluate_country(
    facts: DomainFacts,
    campaign: CampaignFacts,
    parameters: SlowCountry,
    country: str,
    regions: list[Region],
) -> Judgement:
    measured: list[tuple[LatencyFact, Region]] = [
        (fact, region)
        for region in regions
        if (fact := campaign.latencies.get((country, region))) and fact.n >= parameters.min_samples
    ]
    if len(measured) < len(regions):
        reason = f"{len(measured)} of {len(regions)} regions measured from {country}"
        return not_judged(facts, reason, discriminator=country)
    fact, region = min(measured, key=lambda pair: pair[0].p95_ms)
    if fact.low_ms <= parameters.max_p95_ms:
        return passed(facts, fact.n)
    text = f"p95 {fact.p95_ms:.0f} ms ({fact.low_ms:.0f} to {fact.high_ms:.0f})"
    return finding(
        facts,
        f"{country}: {text} to its best region {region_text(*region)}; "
        f"at most {parameters.max_p95_ms:.0f} ms is asked for",
        n=fact.n,
        discriminator=country,
        evidence=campaign_evidence("samples", facts, f"{campaign.label}: {text}", fact.rows),
    )


class RegionRegret(Parameters):
    """Parameters of ``region-regret``."""

    max_regret: float = Field(
        0.1, ge=0, le=10, description="greatest share by which the regions in use are slower"
    )


def decide_region_regret(
    facts: DomainFacts, context: Context, parameters: RegionRegret
) -> Iterator[Judgement]:
    """Mean round-trip time of the regions in use against the proven best set of as many."""
    regions = _regions(facts)
    if not regions:
        yield not_applicable(facts, "no region is visible")
        return
    regret = context.campaign.regret if context.campaign else None
    fact = regret(frozenset(regions)) if regret else None
    if fact is None:
        yield not_judged(facts, "no campaign measured all regions in use")
        return
    excess = fact.now_ms - fact.best_ms - fact.margin_ms
    if excess <= parameters.max_regret * fact.best_ms:
        yield passed(facts, fact.clients)
        return
    assert context.campaign is not None
    best = ", ".join(" ".join(region) for region in fact.best)
    yield finding(
        facts,
        f"{fact.now_ms:.1f} ms on average; {best} would give {fact.best_ms:.1f} ms "
        f"(± {fact.margin_ms:.1f})",
        n=fact.clients,
        evidence=[
            Evidence("samples", facts.domain, detail=context.campaign.label, vantage=v, region=r)
            for v, r in fact.slowest or (("", ""),)
        ],
    )


RULES = (
    Rule(
        "slow-country",
        "A country is served slowly",
        Severity.MEDIUM,
        "performance",
        "The 95th percentile of the round-trip time from vantage points of the country to the best "
        "region of the domain; a finding only where its whole 95 % interval exceeds the limit.",
        "Add a region nearer to the country.",
        decide_slow_country,
        SlowCountry,
        of_campaign=True,
    ),
    Rule(
        "region-regret",
        "Other regions would be faster",
        Severity.MEDIUM,
        "performance",
        "Mean round-trip time of the regions in use, above the proven optimum of as many regions "
        "by more than the policy accepts, beyond the margin of error.",
        "See the recommendation for these clients; prices and laws are not part of the figure.",
        decide_region_regret,
        RegionRegret,
        of_campaign=True,
    ),
)
