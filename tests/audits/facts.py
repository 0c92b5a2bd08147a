"""Facts of a domain for tests, built in one line each."""

from datetime import UTC, date, datetime

from audits.facts.records import Deployment, DomainFacts, ProviderSet, Server
from audits.rules.base import Context
from audits.rules.registry import RULES

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
COUNTRIES = {
    ("aws", "us-east-1"): "US",
    ("aws", "eu-west-1"): "IE",
    ("aws", "eusc-de-east-1"): "DE",
    ("aws", "ca-central-1"): "CA",
    ("azure", "uksouth"): "GB",
}


def deployment(provider, region, kind="cloud", names=1, addresses=1, name="www.shop.example"):
    return Deployment(
        provider,
        region,
        kind,
        names,
        addresses,
        date(2026, 11, 1),
        name,
        "192.0.2.1",
        "192.0.2.0/24",
    )


def domain(*deployments, servers=(), sets=(), **more):
    facts = DomainFacts("shop.example", 1, "REFUSED", asked=100, found=10, observed_at=NOW, **more)
    facts.deployments = list(deployments)
    facts.servers = [Server(s, "NOERROR", "192.0.2.53", None, "other", "", None) for s in servers]
    facts.provider_sets = [
        ProviderSet(frozenset(providers), frozenset(kinds), n, "www.shop.example")
        for providers, kinds, n in sets
    ]
    return facts


def decide(rule_id, facts, context=None, **parameters):
    rule = RULES[rule_id]
    context = context or Context(now=NOW, countries=COUNTRIES)
    return list(rule.decide(facts, context, rule.parameters(**parameters)))


def outcomes(*args, **more):
    return [str(judgement.outcome) for judgement in decide(*args, **more)]
