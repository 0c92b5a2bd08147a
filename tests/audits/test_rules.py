"""Each rule on facts in which it holds, does not hold, and cannot be judged."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from audits.facts.campaign import CampaignFacts, IspFact, IspShare, LatencyFact, RegretFact
from audits.facts.records import DanglingName, Exposure, RecordAnswer, Server, ZoneUse
from audits.facts.reference import entities, entity_of, residency_sets
from audits.rules.base import Context
from audits.rules.concentration import operator_of
from audits.rules.registry import RULES
from tests.audits.facts import COUNTRIES, NOW, decide, deployment, domain, outcomes

US = ("aws", "us-east-1")
IRELAND = ("aws", "eu-west-1")


def zone(letter, addresses=1, confidence=1.0, region="us-east-1"):
    return ZoneUse("aws", region, letter, addresses, confidence, "www.shop.example", "192.0.2.1")


def test_every_rule_is_complete():
    for rule_id, rule in RULES.items():
        assert rule.id == rule_id == rule_id.lower()
        assert "_" not in rule_id
        assert rule.title
        assert rule.description
        assert rule.suggestion
        for name, field in rule.parameters.model_fields.items():
            assert field.description, f"{rule_id}.{name}"


def test_one_region_is_a_finding_and_two_are_none():
    assert outcomes("single-region", domain(deployment(*US))) == ["finding"]
    assert outcomes("single-region", domain(deployment(*US), deployment(*IRELAND))) == ["pass"]
    assert outcomes("single-region", domain()) == ["not-applicable"]


def test_other_hosting_beside_one_region_is_no_single_region():
    facts = domain(deployment(*US), deployment(None, None, "other"))
    assert outcomes("single-region", facts) == ["pass"]


def test_names_behind_a_cdn_lower_the_confidence_until_nothing_can_be_judged():
    few = domain(deployment(*US, names=3), deployment("aws", None, "cdn", names=1))
    (judgement,) = decide("single-region", few)
    assert judgement.confidence == 0.75
    assert judgement.evidence[0].address == "192.0.2.1"
    many = domain(deployment(*US, names=1), deployment("aws", None, "cdn", names=3))
    assert outcomes("single-region", many) == ["not-judged"]
    assert outcomes("single-region", many, min_visible_share=0.2) == ["finding"]


def test_a_zone_counts_only_with_enough_confidence():
    facts = domain(deployment(*US, addresses=2))
    facts.zones = [zone("a", 2, 0.9)]
    (judgement,) = decide("single-zone", facts)
    assert str(judgement.outcome) == "finding"
    assert judgement.confidence == 0.9
    facts.zones = [zone("a", 2, 0.7)]
    assert outcomes("single-zone", facts) == ["not-judged"]
    facts.zones = [zone("a"), zone("")]
    assert outcomes("single-zone", facts) == ["not-judged"]
    facts.zones = [zone("a"), zone("b")]
    assert outcomes("single-zone", facts) == ["pass"]


def test_residency_names_each_region_outside_and_what_no_prefix_places():
    facts = domain(
        deployment(*US), deployment(*IRELAND), deployment(None, None, "other", addresses=2)
    )
    found = decide("residency", facts, allowed=("eu",))
    assert [(str(j.outcome), j.discriminator) for j in found] == [
        ("finding", "aws us-east-1"),
        ("not-judged", "unplaced"),
    ]
    assert outcomes("residency", domain(deployment(*US)), allowed=("US",)) == ["pass"]


def test_a_limited_adequacy_decision_is_a_note_and_an_expired_one_is_not_judged():
    (canada,) = decide(
        "residency", domain(deployment("aws", "ca-central-1")), allowed=("adequacy",)
    )
    assert canada.severity == "info"
    assert "commercial" in canada.message
    british = domain(deployment("azure", "uksouth"))
    assert outcomes("residency", british, allowed=("adequacy",)) == ["pass"]
    later = Context(now=NOW.replace(year=2032), countries=COUNTRIES)
    assert outcomes("residency", british, later, allowed=("adequacy",)) == ["not-judged"]


def test_a_region_that_the_catalogue_lacks_is_not_judged():
    assert outcomes("residency", domain(deployment("aws", "moon-1"))) == ["not-judged"]


def test_jurisdiction_follows_the_parent_of_the_operator():
    (judgement,) = decide("operator-jurisdiction", domain(deployment("aws", "eusc-de-east-1")))
    assert judgement.discriminator == "Amazon.com, Inc. (US)"
    assert outcomes(
        "operator-jurisdiction", domain(deployment(*IRELAND)), allowed=("US", "eea")
    ) == ["pass"]
    assert entity_of("aws", "eusc-de-east-1").name == "AWS European Sovereign Cloud GmbH"
    assert entity_of("aws", "us-east-1").name == "Amazon Web Services, Inc."


def test_customers_elsewhere():
    facts = domain(deployment(*US))
    assert outcomes("customer-country", facts) == ["not-judged"]
    facts.customers = {"DE": 3.0, "US": 1.0}
    (judgement,) = decide("customer-country", facts)
    assert "75%" in judgement.message
    facts.customers = {"DE": 1.0, "US": 3.0}
    assert outcomes("customer-country", facts) == ["pass"]


def test_dependence_counts_companies_not_brands():
    one_company = [(("linode",), ("cloud",), 4), (("akamai", "linode"), ("cdn", "cloud"), 6)]
    facts = domain(deployment("linode", "eu-west"), sets=one_company)
    (judgement,) = decide("single-provider", facts)
    assert judgement.discriminator == "Akamai Technologies, Inc."
    assert judgement.n == 10
    mixed = [(("aws",), ("cloud",), 7), (("aws", "other"), ("cloud", "other"), 3)]
    facts = domain(deployment(*US), sets=mixed)
    assert outcomes("single-provider", facts) == ["pass"]
    assert outcomes("single-provider", facts, max_share=0.7) == ["finding"]


def test_operators_of_name_servers():
    assert operator_of("ns-12.awsdns-01.co.uk") == "Amazon Route 53"
    assert operator_of("ns1.dns.example.co.uk") == "example.co.uk"
    one = domain(servers=("ns1.a.example", "ns2.a.example"))
    assert outcomes("single-dns-operator", one) == ["finding"]
    two = domain(servers=("ns1.a.example", "ns2.b.example"))
    assert outcomes("single-dns-operator", two) == ["pass"]
    assert outcomes("single-dns-operator", domain()) == ["not-judged"]


def test_servers_in_the_domain_itself_are_judged_by_network():
    facts = domain(servers=("ns1.shop.example", "ns2.shop.example"))
    assert outcomes("single-dns-operator", facts) == ["not-judged"]
    facts.servers = [replace(s, provider="aws", kind="cloud") for s in facts.servers]
    (judgement,) = decide("single-dns-operator", facts)
    assert judgement.confidence < 1
    facts.servers.append(
        Server("ns3.shop.example", "NOERROR", "192.0.2.9", "google", "cloud", "", None)
    )
    assert outcomes("single-dns-operator", facts) == ["pass"]


def test_cdn_concentration():
    one = domain(deployment("fastly", None, "cdn", names=5), sets=[(("fastly",), ("cdn",), 5)])
    assert outcomes("cdn-concentration", one) == ["finding"]
    two = domain(
        deployment("fastly", None, "cdn", names=5),
        sets=[(("fastly",), ("cdn",), 3), (("cloudflare",), ("cdn",), 3)],
    )
    assert outcomes("cdn-concentration", two) == ["pass"]
    assert outcomes("cdn-concentration", domain(deployment(*US))) == ["not-applicable"]


@pytest.mark.parametrize(
    ("values", "status", "outcome"),
    [
        ((), "NODATA", "not-applicable"),
        (("0 .",), "NOERROR", "not-applicable"),
        (("10 mx1.a.example.", "20 mx2.a.example."), "NOERROR", "finding"),
        (("10 mx1.a.example.", "20 mx1.b.example."), "NOERROR", "pass"),
        ((), "TIMEOUT", "not-judged"),
    ],
)
def test_mail_exchangers(values, status, outcome):
    facts = domain()
    facts.records["MX"] = RecordAnswer("MX", "shop.example", status, values, NOW)
    assert outcomes("mail-concentration", facts) == [outcome]
    assert outcomes("mail-concentration", domain()) == ["not-judged"]


@pytest.mark.parametrize(("rule", "kind"), [("no-caa", "CAA"), ("no-dnssec", "DS")])
def test_records_that_are_missing(rule, kind):
    facts = domain()
    assert outcomes(rule, facts) == ["not-judged"]
    facts.records[kind] = RecordAnswer(kind, "shop.example", "NODATA", (), NOW)
    assert outcomes(rule, facts) == ["finding"]
    facts.records[kind] = RecordAnswer(kind, "shop.example", "SERVFAIL", (), NOW)
    assert outcomes(rule, facts) == ["not-judged"]
    facts.records[kind] = RecordAnswer(kind, "shop.example", "NOERROR", ("1",), NOW)
    assert outcomes(rule, facts) == ["pass"]


def test_ipv6_is_judged_only_where_it_was_asked():
    assert outcomes("no-ipv6", domain()) == ["finding"]
    assert outcomes("no-ipv6", domain(ipv6_names=1)) == ["pass"]
    silent = Context(now=NOW, asked_ipv6=False)
    assert outcomes("no-ipv6", domain(), silent) == ["not-judged"]


def test_dangling_and_claimable_names():
    facts = domain()
    facts.dangling = [
        DanglingName("old.shop.example", "azure", "azure-cs-name", "x.cloudapp.net", True),
        DanglingName("lb.shop.example", "aws", "aws-elb", "y.elb.amazonaws.com", False),
    ]
    dangling = decide("dangling-name", facts)
    assert [j.discriminator for j in dangling] == ["old.shop.example", "lb.shop.example"]
    (claimable,) = decide("claimable-name", facts)
    assert claimable.evidence[0].table == "fronts"


@pytest.mark.parametrize(
    ("transfer", "outcome"), [("OK", "finding"), ("SKIPPED", "not-judged"), ("REFUSED", "pass")]
)
def test_zone_transfers(transfer, outcome):
    facts = domain()
    facts.transfer = transfer
    assert outcomes("open-zone-transfer", facts) == [outcome]


def test_wildcards():
    assert outcomes("wildcard", domain(wildcard=True)) == ["finding"]
    assert outcomes("wildcard", domain()) == ["pass"]


def test_the_worst_outage_of_each_kind():
    facts = domain()
    facts.exposures = [
        Exposure("region", "aws", "us-east-1", 6, 0, 10, False),
        Exposure("region", "aws", "eu-west-1", 4, 6, 10, False),
        Exposure("operator", "", "a.example", 0, 0, 10, True),
    ]
    (judgement,) = decide("outage-exposure", facts)
    assert judgement.discriminator == "region aws us-east-1"
    every = decide("outage-exposure", facts, kinds=("region", "operator"))
    assert [j.discriminator for j in every] == ["region aws us-east-1", "operator a.example"]
    assert outcomes("outage-exposure", facts, max_share=0.6) == ["pass"]
    assert outcomes("outage-exposure", domain()) == ["not-applicable"]


def campaign(**more):
    return Context(now=NOW, countries=COUNTRIES, campaign=CampaignFacts("world", NOW, **more))


def test_latency_is_a_finding_only_with_its_whole_interval():
    facts = domain(deployment(*US))
    slow = {("DE", US): LatencyFact(170.0, 155.0, 190.0, 300)}
    assert outcomes("slow-country", facts, campaign(latencies=slow), countries=("DE",)) == [
        "finding"
    ]
    unsure = {("DE", US): LatencyFact(170.0, 140.0, 190.0, 300)}
    assert outcomes("slow-country", facts, campaign(latencies=unsure), countries=("DE",)) == [
        "pass"
    ]
    thin = {("DE", US): LatencyFact(170.0, 155.0, 190.0, 3)}
    assert outcomes("slow-country", facts, campaign(latencies=thin), countries=("DE",)) == [
        "not-judged"
    ]
    assert outcomes("slow-country", facts) == ["not-judged"]


def test_isps_of_a_region():
    shares = (IspShare(64500, "Alpha", 0.7), IspShare(64501, "Beta", 0.3))
    facts = domain(deployment(*US))
    assert outcomes("isp-concentration", facts, campaign(isps={US: IspFact(40, shares)})) == [
        "finding"
    ]
    assert outcomes(
        "isp-concentration", facts, campaign(isps={US: IspFact(40, shares)}), max_share=0.8
    ) == ["pass"]
    assert outcomes("isp-concentration", facts, campaign(isps={US: IspFact(2, shares)})) == [
        "not-judged"
    ]


def test_regret_beyond_its_margin():
    facts = domain(deployment(*US))
    fact = RegretFact(120.0, 80.0, 5.0, (IRELAND,), 40)
    assert outcomes("region-regret", facts, campaign(regret=lambda regions: fact)) == ["finding"]
    near = RegretFact(90.0, 80.0, 5.0, (IRELAND,), 40)
    assert outcomes("region-regret", facts, campaign(regret=lambda regions: near)) == ["pass"]
    assert outcomes("region-regret", facts, campaign(regret=lambda regions: None)) == ["not-judged"]


def test_changes_since_the_survey_before():
    before, now = domain(deployment(*US)), domain(deployment(*IRELAND), wildcard=True)
    context = Context(now=NOW, previous={"shop.example": before})
    assert sorted(j.discriminator for j in decide("posture-change", now, context)) == [
        "region added aws eu-west-1",
        "region removed aws us-east-1",
        "wildcard added answers",
    ]
    assert outcomes("posture-change", before, context) == ["pass"]
    assert outcomes("posture-change", now) == ["not-applicable"]


def test_legal_entity_identifiers_have_valid_check_digits():
    for rows in entities().values():
        for _, entity in rows:
            if entity.lei:
                digits = "".join(str(int(c, 36)) for c in entity.lei)
                # ISO 17442: the remainder of division by 97 is 1.
                assert (len(entity.lei), int(digits) % 97) == (20, 1), entity


def test_residency_sets_are_dated_countries():
    sets = residency_sets()
    assert {len(code) for s in sets.values() for code in s.members} == {2}
    assert len(sets["eu"].members) == 27
    assert len(sets["eea"].members) == 30
    assert all(NOW.date() - s.as_of < timedelta(days=366) for s in sets.values())
    assert isinstance(NOW, datetime)
