"""Rules about places: regions, zones, countries of hosting, of operators and of customers."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from audits.facts.records import Deployment, DomainFacts, ZoneUse
from audits.facts.reference import Membership, entity_of, memberships
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
    placement_evidence,
    region_text,
)


class SingleRegion(Parameters):
    """Parameters of ``single-region``."""

    min_visible_share: float = Field(
        0.5,
        ge=0,
        le=1,
        description="least share of the cloud-hosted names with a visible region (no CDN)",
    )


def decide_single_region(
    facts: DomainFacts, context: Context, parameters: SingleRegion
) -> Iterator[Judgement]:
    """All cloud front ends in one region; names behind a CDN lower the confidence."""
    share = _visible_share(facts)
    other = _spread_otherwise(facts, share, parameters.min_visible_share)
    if other is not None:
        yield other
        return
    regional = facts.in_regions
    provider, region = regional[0].provider, regional[0].region
    addresses, where = sum(d.addresses for d in regional), region_text(provider, region)
    yield finding(
        facts,
        f"{count_of(addresses, 'address', 'addresses')} of "
        f"{count_of(sum(d.names for d in regional), 'name')}, all in {where}",
        n=addresses,
        confidence=share,
        evidence=placement_evidence(facts, regional),
    )


def _visible_share(facts: DomainFacts) -> float:
    """The share of the cloud-hosted names with a visible region."""
    hosted = sum(d.names for d in facts.in_cloud)
    return sum(d.names for d in facts.in_regions) / hosted if hosted else 0.0


def _spread_otherwise(facts: DomainFacts, share: float, least_share: float) -> Judgement | None:
    """The judgement of a domain that is not in one region alone; ``None`` for one that is."""
    regional = facts.in_regions
    regions = {(d.provider, d.region) for d in regional}
    if not facts.in_cloud:
        return not_applicable(facts, "no address in a cloud")
    if len(regions) > 1:
        return passed(facts, sum(d.addresses for d in regional), f"{len(regions)} regions")
    if any(d.kind == "other" for d in facts.deployments):
        return passed(facts, len(facts.deployments), "also hosted outside the clouds")
    if not regional or share < least_share:
        hidden = sum(d.names for d in facts.in_cloud) - sum(d.names for d in regional)
        reason = f"the region of {count_of(hidden, 'name')} is hidden by a CDN or not published"
        return not_judged(facts, reason, n=len(facts.deployments))
    return None


class SingleZone(SingleRegion):
    """Parameters of ``single-zone``."""

    min_confidence: float = Field(0.8, ge=0, le=1, description="least confidence of a zone")


def decide_single_zone(
    facts: DomainFacts, context: Context, parameters: SingleZone
) -> Iterator[Judgement]:
    """All cloud addresses in one availability zone, each identified with enough confidence."""
    share = _visible_share(facts)
    other = _spread_otherwise(facts, share, parameters.min_visible_share)
    if other is not None:
        yield other
        return
    known = [z for z in facts.zones if z.zone and z.confidence >= parameters.min_confidence]
    total = sum(z.addresses for z in facts.zones)
    zones = {z.zone for z in known}
    if len(zones) > 1:
        yield passed(facts, total, f"{len(zones)} zones")
        return
    identified = sum(z.addresses for z in known)
    if not known or identified < total:
        yield not_judged(
            facts, f"the zone of {total - identified:,} of {total:,} addresses is unknown", n=total
        )
        return
    only = known[0]
    yield finding(
        facts,
        f"{count_of(total, 'address', 'addresses')}, all in zone {only.zone} of "
        f"{region_text(only.provider, only.region)}",
        n=total,
        confidence=min(share, *(z.confidence for z in known)),
        evidence=[_zone_evidence(facts, z) for z in known],
    )


def _zone_evidence(facts: DomainFacts, zone: ZoneUse) -> Evidence:
    detail = f"{zone.provider} {zone.region} {zone.zone}, confidence {zone.confidence:.2f}"
    return Evidence("zones", facts.domain, name=zone.name, address=zone.address, detail=detail)


class Residency(Parameters):
    """Parameters of ``residency``."""

    allowed: tuple[str, ...] = Field(
        ("eea",),
        min_length=1,
        description="ids of residency sets (eu, eea, uk, adequacy) and ISO country codes",
    )


def decide_residency(
    facts: DomainFacts, context: Context, parameters: Residency
) -> Iterator[Judgement]:
    """Each region outside the allowed countries; what no published prefix locates is not judged."""
    if not facts.deployments:
        yield not_applicable(facts, "no address")
        return
    allowed = memberships(parameters.allowed)
    problems = 0
    for region, group in _by_region(facts.in_regions).items():
        for judgement in _evaluate_region(facts, context, allowed, region, group):
            problems += 1
            yield judgement
    hidden = [d for d in facts.deployments if d.kind != "cloud" or d.region is None]
    if hidden:
        problems += 1
        yield not_judged(
            facts,
            f"the place of {count_of(sum(d.addresses for d in hidden), 'address', 'addresses')} is "
            "not published (CDN, global range or another host)",
            n=sum(d.addresses for d in hidden),
            discriminator="unplaced",
        )
    if not problems:
        yield passed(facts, sum(d.addresses for d in facts.deployments))


def _by_region(deployments: list[Deployment]) -> dict[tuple[str, str], list[Deployment]]:
    groups: dict[tuple[str, str], list[Deployment]] = {}
    for d in deployments:
        groups.setdefault((d.provider or "", d.region or ""), []).append(d)
    return groups


def _evaluate_region(
    facts: DomainFacts,
    context: Context,
    allowed: dict[str, Membership],
    region: tuple[str, str],
    group: list[Deployment],
) -> Iterator[Judgement]:
    place = " ".join(region)
    country = context.countries.get(region)
    addresses = sum(d.addresses for d in group)
    if country is None:
        yield not_judged(
            facts,
            f"{region_text(*region)} is not in the region catalogue",
            n=addresses,
            discriminator=place,
        )
        return
    member = allowed.get(country)
    details: dict[str, Any] = {
        "n": addresses,
        "discriminator": place,
        "evidence": placement_evidence(facts, group),
    }
    where = f"{count_of(addresses, 'address', 'addresses')} in {region_text(*region)} ({country})"
    if member is None:
        yield finding(facts, f"{where}, outside the allowed countries", **details)
    elif member.valid_to and member.valid_to < context.now.date():
        reason = f"{where}: {member.decision} ended on {member.valid_to}; update the list"
        yield not_judged(facts, reason, n=addresses, discriminator=place)
    elif member.scope:
        text = f"{where}: {member.decision} covers {member.scope} only"
        yield finding(facts, text, severity=Severity.INFO, **details)


class Jurisdiction(Parameters):
    """Parameters of ``operator-jurisdiction``."""

    allowed: tuple[str, ...] = Field(
        ("eea",),
        min_length=1,
        description="ids of residency sets and ISO country codes of the operators' parents",
    )


def decide_jurisdiction(
    facts: DomainFacts, context: Context, parameters: Jurisdiction
) -> Iterator[Judgement]:
    """Each provider with an ultimate parent outside the allowed countries."""
    if not facts.in_cloud:
        yield not_applicable(facts, "no address in a cloud")
        return
    allowed = memberships(parameters.allowed)
    parents: dict[str, list[Deployment]] = {}
    unlisted = False
    for d in facts.in_cloud:
        entity = entity_of(d.provider or "", d.region)
        if entity is None:
            unlisted = True
        elif entity.country not in allowed:
            parents.setdefault(f"{entity.parent} ({entity.country})", []).append(d)
    for parent, group in sorted(parents.items()):
        addresses = sum(d.addresses for d in group)
        yield finding(
            facts,
            f"{count_of(addresses, 'address', 'addresses')} operated by companies of {parent}",
            n=addresses,
            discriminator=parent,
            evidence=placement_evidence(facts, group),
        )
    if unlisted:
        yield not_judged(facts, "the operator of some addresses is not listed", discriminator="-")
    elif not parents:
        yield passed(facts, sum(d.addresses for d in facts.in_cloud))


class CustomerCountry(Parameters):
    """Parameters of ``customer-country``."""

    max_share_elsewhere: float = Field(
        0.5, ge=0, le=1, description="greatest share of customers in countries without hosting"
    )


def decide_customer_country(
    facts: DomainFacts, context: Context, parameters: CustomerCountry
) -> Iterator[Judgement]:
    """Customers in countries without hosting of the domain, by weight."""
    total = sum(facts.customers.values())
    hosting = {
        country
        for d in facts.in_regions
        if (country := context.countries.get((d.provider or "", d.region or "")))
    }
    if not facts.in_cloud:
        yield not_applicable(facts, "no address in a cloud")
    elif not total:
        yield not_judged(facts, "no countries of customers were given")
    elif not hosting:
        yield not_judged(facts, "no region is visible")
    else:
        away = sum(w for country, w in facts.customers.items() if country not in hosting)
        share = away / total
        if share <= parameters.max_share_elsewhere:
            yield passed(facts, len(facts.customers))
            return
        yield finding(
            facts,
            f"{share:.0%} of the customers are in countries without hosting; hosted in "
            + ", ".join(sorted(hosting)),
            n=len(facts.customers),
            evidence=placement_evidence(facts, facts.in_regions),
        )


RULES = (
    Rule(
        "single-region",
        "All cloud addresses are in one region",
        Severity.HIGH,
        "resilience",
        "An outage of that region takes the whole domain down. Names behind a CDN are not counted, "
        "since its address does not depend on the region of the origin.",
        "Serve the domain from a second region; `regions` computes which one gains most.",
        decide_single_region,
        SingleRegion,
        universal=True,
    ),
    Rule(
        "single-zone",
        "All cloud addresses are in one availability zone",
        Severity.MEDIUM,
        "resilience",
        "An outage of one data centre takes the whole domain down. Judged only where the zone of "
        "every address was identified with enough confidence.",
        "Spread instances or load balancers over at least two zones of the region.",
        decide_single_zone,
        SingleZone,
        universal=True,
    ),
    Rule(
        "residency",
        "Hosted outside the allowed countries",
        Severity.HIGH,
        "residency",
        "A region is in a country that the policy does not allow. The addresses of front ends are "
        "judged; where data are stored is not observable from outside.",
        "Move the names to a region of an allowed country, or allow the country with a reason.",
        decide_residency,
        Residency,
    ),
    Rule(
        "operator-jurisdiction",
        "Operated by a company with its seat outside the allowed countries",
        Severity.MEDIUM,
        "residency",
        "The ultimate parent of the provider has its seat in a country that the policy does not "
        "allow, whichever region is used.",
        "Use a provider, or a sovereign partition, with a parent in an allowed country.",
        decide_jurisdiction,
        Jurisdiction,
    ),
    Rule(
        "customer-country",
        "Most customers are in countries without hosting",
        Severity.LOW,
        "performance",
        "The share of customers, by the weights that were given, in countries without a region of "
        "the domain.",
        "Add a region near these customers; `regions` computes the gain.",
        decide_customer_country,
        CustomerCountry,
        universal=True,
    ),
)
