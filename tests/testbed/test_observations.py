"""Simulated observations of a crawl, without queries."""

from collections import Counter
from fractions import Fraction

import pytest

from core.statuses import DnsStatus, Technique
from testbed.generate.customers import CountryIndex, customer_rows
from testbed.truth.counting import truth
from testbed.truth.observations import Observer, zone_rows
from testbed.world.model import MISSING, SERVFAIL
from testbed.worlds.loading import build_world, load_world, read_labels
from tests.testbed.shared_worlds import hundredth, tiny

LABELS = read_labels()
AT = 1_364_558_400.0
ATLAS = CountryIndex(
    {
        ("aws", "us-east-1"): "US",
        ("aws", "us-west-1"): "US",
        ("aws", "us-west-2"): "US",
        ("aws", "eu-west-1"): "IE",
        ("aws", "ap-southeast-1"): "SG",
        ("aws", "sa-east-1"): "BR",
        ("aws", "ap-northeast-1"): "JP",
        ("aws", "ap-southeast-2"): "AU",
    },
    {
        "US": "north-america",
        "CA": "north-america",
        "MX": "north-america",
        "IE": "europe",
        "GB": "europe",
        "DE": "europe",
        "FR": "europe",
        "ES": "europe",
        "SG": "asia",
        "JP": "asia",
        "IN": "asia",
        "CN": "asia",
        "ID": "asia",
        "BR": "south-america",
        "AR": "south-america",
        "CO": "south-america",
        "AU": "oceania",
        "NZ": "oceania",
        "ZA": "africa",
        "NG": "africa",
        "EG": "africa",
    },
)


def seen(world):
    observer = Observer(world, LABELS, AT)
    return [(zone, observer.observe(zone)) for zone in world.zones]


@pytest.mark.parametrize("world", [tiny, hundredth])
def test_it_works(world):
    found = seen(world())
    names = {
        (k.domain, k.answer.name)
        for _, observed in found
        for k in observed.lookups
        if k.answer.type in ("A", "AAAA") and k.answer.answers
        if k.technique != Technique.LISTED or k.answer.name == k.domain
    }
    assert len(names) == truth(world(), LABELS)["names"]["findable"]
    assert sum(o.outcome.found for _, o in found) == len(names)


def test_every_outcome_adds_up():
    for _, observed in seen(tiny()):
        out = observed.outcome
        failed = sum(n for _, n in out.failed)
        assert out.asked == (out.found + out.nxdomain + out.nodata + out.wildcard_filtered + failed)


def test_faults_are_recorded_as_failures():
    for zone, observed in seen(tiny()):
        statuses = {k.answer.status for k in observed.lookups}
        if zone.fault == SERVFAIL:
            assert statuses == {DnsStatus.SERVFAIL}
        elif zone.fault == MISSING:
            assert observed.lookups == ()
        elif zone.fault:
            assert statuses == {DnsStatus.TIMEOUT}


def test_answers_carry_the_whole_chain():
    zone, observed = next((z, o) for z, o in seen(tiny()) if any(n.cnames for n in z.names))
    aliased = {n.fqdn: n for n in zone.names if n.cnames}
    lookup = next(k for k in observed.lookups if k.answer.name in aliased)
    assert lookup.answer.cnames == aliased[lookup.answer.name].cnames
    assert lookup.answer.at == AT


def test_zones_are_those_of_the_truth():
    world = hundredth()
    rows = zone_rows(world)
    known = {a for a, p in world.places.items() if p.zone}
    assert {r["address"] for r in rows} == known
    assert len(rows) == len(known)
    assert {r["zone"] for r in rows} == {"a", "b", "c"}


def test_customers_have_the_published_shares():
    world = build_world("imc2013", scale=Fraction(1, 200))
    rows = customer_rows(world, load_world("imc2013").raw["customers"], ATLAS)
    assert rows == customer_rows(world, load_world("imc2013").raw["customers"], ATLAS)
    per_domain = Counter(r["domain"] for r in rows)
    assert set(per_domain.values()) == {2}
    assert 0.4 < len(per_domain) / (40_333 / 200) < 1
