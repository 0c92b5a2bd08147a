import random
from collections import Counter

from testbed.generate.zone_balancing import RegionalDomain, RegionalName, balance_zones
from testbed.world.drafts import Draft


def regional_domains(seed):
    """Two hundred domains of twenty names, each name with one or three of its domain's zones."""
    rng = random.Random(seed)
    found = []
    for _ in range(200):
        own = RegionalDomain([], [0, 1, 2])
        for _ in range(20):
            name = RegionalName(Draft("aws", "vm", ("us-east-1",)), rng.choice((1, 3, 3, 3, 3, 3)))
            many = name.capacity == 3 and rng.random() < 0.5
            name.zones = [0, 1, 2] if many else [rng.randrange(3)]
            own.names.append(name)
        found.append(own)
    return found


def sizes(regions):
    found = Counter(len(s.zones) for h in regions for s in h.names)
    n = sum(found[k] for k in (1, 2, 3))
    return [found[k] / n for k in (1, 2, 3)]


def uses(regions):
    names = Counter(z for h in regions for s in h.names for z in s.zones)
    domains = Counter(z for h in regions for z in {z for s in h.names for z in s.zones})
    return names, domains


def test_shares_are_met_with_unchanged_counts_per_zone():
    regions = regional_domains(1)
    before = uses(regions)
    balance_zones([regions], (400, 350), random.Random(2))
    assert uses(regions) == before
    one, two, _ = sizes(regions)
    assert abs(one - 0.4) < 0.005
    assert abs(two - 0.35) < 0.005


def test_no_name_gets_more_zones_than_it_has_addresses_or_its_domain_zones():
    regions = regional_domains(3)
    balance_zones([regions], (300, 450), random.Random(2))
    for domain in regions:
        for name in domain.names:
            assert len(name.zones) <= name.capacity
            assert len(set(name.zones)) == len(name.zones)
            assert set(name.zones) <= set(domain.zones)


def test_published_zones_and_worlds_without_shares_are_unchanged():
    regions = regional_domains(4)
    for domain in regions:
        for name in domain.names[:5]:
            name.fixed = True
    before = [list(s.zones) for h in regions for s in h.names[:5]]
    balance_zones([regions], (300, 450), random.Random(2))
    assert [s.zones for h in regions for s in h.names[:5]] == before
    untouched = regional_domains(5)
    balance_zones([untouched], (), random.Random(2))
    assert sizes(untouched) == sizes(regional_domains(5))
