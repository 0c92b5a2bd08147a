import random
from collections import Counter

from testbed.generate.levelling import Household, Stay, level_zones
from testbed.world.drafts import Draft


def households(seed):
    """Two hundred domains of twenty names, each name with one or three of its domain's zones."""
    rng = random.Random(seed)
    found = []
    for _ in range(200):
        own = Household([], [0, 1, 2])
        for _ in range(20):
            stay = Stay(Draft("aws", "vm", ("us-east-1",)), rng.choice((1, 3, 3, 3, 3, 3)))
            many = stay.room == 3 and rng.random() < 0.5
            stay.zones = [0, 1, 2] if many else [rng.randrange(3)]
            own.stays.append(stay)
        found.append(own)
    return found


def sizes(regions):
    found = Counter(len(s.zones) for h in regions for s in h.stays)
    n = sum(found[k] for k in (1, 2, 3))
    return [found[k] / n for k in (1, 2, 3)]


def uses(regions):
    names = Counter(z for h in regions for s in h.stays for z in s.zones)
    domains = Counter(z for h in regions for z in {z for s in h.stays for z in s.zones})
    return names, domains


def test_shares_are_met_and_every_zone_keeps_its_names_and_domains():
    regions = households(1)
    before = uses(regions)
    level_zones([regions], (400, 350), random.Random(2))
    assert uses(regions) == before
    one, two, _ = sizes(regions)
    assert abs(one - 0.4) < 0.005
    assert abs(two - 0.35) < 0.005


def test_no_name_gets_more_zones_than_it_has_addresses_or_its_domain_zones():
    regions = households(3)
    level_zones([regions], (300, 450), random.Random(2))
    for household in regions:
        for stay in household.stays:
            assert len(stay.zones) <= stay.room
            assert len(set(stay.zones)) == len(stay.zones)
            assert set(stay.zones) <= set(household.zones)


def test_published_zones_and_worlds_without_shares_stay_as_they_are():
    regions = households(4)
    for household in regions:
        for stay in household.stays[:5]:
            stay.fixed = True
    before = [list(s.zones) for h in regions for s in h.stays[:5]]
    level_zones([regions], (300, 450), random.Random(2))
    assert [s.zones for h in regions for s in h.stays[:5]] == before
    untouched = households(5)
    level_zones([untouched], (), random.Random(2))
    assert sizes(untouched) == sizes(households(5))
