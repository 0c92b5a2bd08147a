"""Rules about dependence on one company: provider, DNS operator, CDN, mail operator, ISP."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from publicsuffixlist import PublicSuffixList
from pydantic import Field

from analysis.deployment.sharing import SERVER_FAMILIES
from audits.facts.records import ANSWERED, DomainFacts, Server
from audits.facts.reference import entity_of
from audits.findings import Evidence, Judgement, Severity
from audits.rules.base import (
    Context,
    Parameters,
    Rule,
    campaign_evidence,
    count_of,
    finding,
    not_applicable,
    not_judged,
    passed,
    placement_evidence,
    region_text,
)


class SingleProvider(Parameters):
    """Parameters of ``single-provider``."""

    max_share: float = Field(
        0.8, ge=0, le=1, description="greatest share of the names that depends on one company"
    )
    min_names: int = Field(1, ge=1, description="fewer names than this are not judged")


def decide_single_provider(
    facts: DomainFacts, context: Context, parameters: SingleProvider
) -> Iterator[Judgement]:
    """Share of the names with all addresses in one parent company."""
    hosted = facts.hosted_names
    if not facts.in_cloud:
        yield not_applicable(facts, "no address in a cloud")
        return
    if hosted < parameters.min_names:
        yield not_judged(facts, f"{count_of(hosted, 'name')} with an address", n=hosted)
        return
    dependent: Counter[str] = Counter()
    for group in facts.provider_sets:
        parents = {_parent(provider) for provider in group.providers}
        if len(parents) == 1 and "other" not in parents:
            dependent[parents.pop()] += group.names
    parent, names = dependent.most_common(1)[0] if dependent else ("", 0)
    share = names / hosted
    if not names or share < parameters.max_share:
        yield passed(facts, hosted)
        return
    yield finding(
        facts,
        f"{names:,} of {count_of(hosted, 'name')} depend on {parent} alone",
        n=hosted,
        discriminator=parent,
        evidence=placement_evidence(
            facts, [d for d in facts.in_cloud if _parent(d.provider or "") == parent]
        ),
    )


def _parent(provider: str) -> str:
    if provider == "other":
        return "other"
    entity = entity_of(provider)
    return entity.parent if entity else provider


class SingleDnsOperator(Parameters):
    """``single-dns-operator`` has no parameters."""


def decide_single_dns_operator(
    facts: DomainFacts, context: Context, parameters: SingleDnsOperator
) -> Iterator[Judgement]:
    """All name servers of one operator, by registered domain, or by network for vanity names."""
    servers = sorted({s.server for s in facts.servers})
    if not servers:
        yield not_judged(facts, "no name server was observed")
        return
    operators = {operator_of(server) for server in servers}
    confidence = 1.0
    own = registered_domain(facts.domain)
    if operators == {own}:
        # Names in the domain itself do not identify the operator; their networks do.
        operators = {s.provider or "" for s in facts.servers if s.address}
        confidence = 0.7
        if not operators or "" in operators:
            yield not_judged(
                facts,
                f"{count_of(len(servers), 'name server')} in {own} itself; the operator of their "
                "network is not published",
                n=len(servers),
            )
            return
    if len(operators) > 1:
        yield passed(facts, len(servers), ", ".join(sorted(operators)))
        return
    (operator,) = operators
    yield finding(
        facts,
        f"{count_of(len(servers), 'name server')}, all of {operator}",
        n=len(servers),
        confidence=confidence,
        discriminator=operator,
        evidence=[_server_evidence(facts, s) for s in facts.servers],
    )


def _server_evidence(facts: DomainFacts, server: Server) -> Evidence:
    return Evidence(
        "servers",
        facts.domain,
        name=server.server,
        address=server.address,
        prefix=server.prefix,
        as_of=server.as_of,
        detail=server.provider or server.status,
    )


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(only_icann=True)


@lru_cache(maxsize=65_536)
def registered_domain(name: str) -> str:
    """The registered domain of a host name, by the ICANN part of the Public Suffix List."""
    return _suffixes().privatesuffix(name) or name


def operator_of(server: str) -> str:
    """The operator of a name server: a known family of domains, else its registered domain."""
    registered = registered_domain(server)
    label = registered.partition(".")[0]
    for pattern, operator in SERVER_FAMILIES:
        if re.search(pattern, label):
            return operator
    return registered


class CdnConcentration(Parameters):
    """Parameters of ``cdn-concentration``."""

    max_share: float = Field(
        0.8, ge=0, le=1, description="greatest share of the names behind CDNs that one CDN serves"
    )
    min_names: int = Field(2, ge=1, description="fewer names behind CDNs are not judged")


def decide_cdn_concentration(
    facts: DomainFacts, context: Context, parameters: CdnConcentration
) -> Iterator[Judgement]:
    """Names behind CDNs that depend on one CDN alone."""
    behind = [g for g in facts.provider_sets if g.kinds == {"cdn"}]
    names = sum(g.names for g in behind)
    if not names:
        yield not_applicable(facts, "no name behind a CDN")
        return
    if names < parameters.min_names:
        yield not_judged(facts, f"{count_of(names, 'name')} behind a CDN", n=names)
        return
    alone: Counter[str] = Counter()
    for group in behind:
        parents = {_parent(p) for p in group.providers}
        if len(parents) == 1:
            alone[parents.pop()] += group.names
    parent, most = alone.most_common(1)[0] if alone else ("", 0)
    if most / names < parameters.max_share:
        yield passed(facts, names)
        return
    yield finding(
        facts,
        f"{most:,} of {count_of(names, 'name')} behind CDNs depend on {parent} alone",
        n=names,
        discriminator=parent,
        evidence=placement_evidence(facts, [d for d in facts.deployments if d.kind == "cdn"]),
    )


class MailConcentration(Parameters):
    """``mail-concentration`` has no parameters."""


def decide_mail_concentration(
    facts: DomainFacts, context: Context, parameters: MailConcentration
) -> Iterator[Judgement]:
    """All mail exchangers of one operator; a null MX (RFC 7505) accepts no mail at all."""
    answer = facts.records.get("MX")
    if answer is None:
        yield not_judged(facts, "MX was not asked")
        return
    if answer.status not in ANSWERED:
        yield not_judged(facts, f"the MX query failed: {answer.status}")
        return
    hosts = sorted({value.split()[-1].rstrip(".") for value in answer.values if value.split()})
    if hosts in ([], [""]):
        yield not_applicable(facts, "accepts no mail")
        return
    operators = {registered_domain(host) for host in hosts}
    if len(operators) > 1:
        yield passed(facts, len(hosts))
        return
    (operator,) = operators
    evidence = Evidence("audit_lookups", facts.domain, name=answer.name, detail="MX " + hosts[0])
    yield finding(
        facts,
        f"{count_of(len(hosts), 'mail exchanger')}, all of {operator}",
        n=len(hosts),
        discriminator=operator,
        evidence=[evidence],
    )


class IspConcentration(Parameters):
    """Parameters of ``isp-concentration``."""

    max_share: float = Field(
        0.5, ge=0, le=1, description="greatest share of a region's routes through one ISP"
    )
    min_isps: int = Field(2, ge=1, description="fewest downstream ISPs of a region")
    min_routes: int = Field(10, ge=1, description="fewer routes than this are not judged")


def decide_isp_concentration(
    facts: DomainFacts, context: Context, parameters: IspConcentration
) -> Iterator[Judgement]:
    """Each region of the domain with routes through a single downstream ISP."""
    regions = sorted({(d.provider or "", d.region or "") for d in facts.in_regions})
    if not regions:
        yield not_applicable(facts, "no region is visible")
        return
    if context.campaign is None or not context.campaign.isps:
        yield not_judged(facts, "no campaign with traceroutes was given")
        return
    for region in regions:
        yield _evaluate_isps(facts, context, parameters, region)


def _evaluate_isps(
    facts: DomainFacts,
    context: Context,
    parameters: IspConcentration,
    region: tuple[str, str],
) -> Judgement:
    assert context.campaign is not None
    place, shown = " ".join(region), region_text(*region)
    fact = context.campaign.isps.get(region)
    if fact is None or fact.routes < parameters.min_routes:
        routes = fact.routes if fact else 0
        reason = f"{count_of(routes, 'route')} of {shown} measured, {parameters.min_routes} needed"
        return not_judged(facts, reason, n=routes, discriminator=place)
    first = fact.shares[0]
    if first.share < parameters.max_share and len(fact.shares) >= parameters.min_isps:
        return passed(facts, fact.routes)
    detail = f"{context.campaign.label}: AS{first.asn} {first.name} {first.share:.0%}"
    return finding(
        facts,
        f"{first.share:.0%} of {count_of(fact.routes, 'route')} of {shown} through "
        f"AS{first.asn} {first.name}; {count_of(len(fact.shares), 'ISP')}",
        n=fact.routes,
        discriminator=place,
        evidence=campaign_evidence("paths", facts, detail, fact.rows),
    )


RULES = (
    Rule(
        "single-provider",
        "Most names depend on one company",
        Severity.HIGH,
        "concentration",
        "Names with all addresses at providers of one parent company. Legal entities and parents "
        "are from a dated list; resellers and customer-owned addresses are not recognised.",
        "Host a part of the names, or a standby, with a provider of another company.",
        decide_single_provider,
        SingleProvider,
        universal=True,
    ),
    Rule(
        "single-dns-operator",
        "All name servers belong to one operator",
        Severity.HIGH,
        "concentration",
        "An outage of that operator makes every name of the domain unreachable. Operators are "
        "distinguished by the registered domain of their servers, or by network for servers in "
        "the domain.",
        "Add name servers of a second operator.",
        decide_single_dns_operator,
        SingleDnsOperator,
    ),
    Rule(
        "cdn-concentration",
        "Names behind CDNs depend on one CDN",
        Severity.MEDIUM,
        "concentration",
        "Names that are reachable through one CDN alone, seen from the survey's resolver; another "
        "place may be answered with another CDN.",
        "Serve important names through a second CDN, or keep a path around it.",
        decide_cdn_concentration,
        CdnConcentration,
        universal=True,
    ),
    Rule(
        "mail-concentration",
        "All mail exchangers belong to one operator",
        Severity.LOW,
        "concentration",
        "Mail is accepted by servers of one operator only (MX records).",
        "Add a mail exchanger of a second operator, or accept the risk with a suppression.",
        decide_mail_concentration,
        MailConcentration,
    ),
    Rule(
        "isp-concentration",
        "The routes to a region depend on one ISP",
        Severity.MEDIUM,
        "concentration",
        "Share of the measured routes of a region that one downstream ISP carries (IMC 2013, "
        "section 5.3). About a region, not about one domain's own connections.",
        "Use another region with more downstream ISPs as well.",
        decide_isp_concentration,
        IspConcentration,
        of_campaign=True,
    ),
)
