"""Price lists, bills and the Pareto front beside formulas and enumeration written by hand."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from analysis.impact.assignment import serve
from analysis.impact.costs.pareto_fronts import Costing, find_front
from analysis.impact.costs.price_lists import listed_prices, read_price_list
from analysis.impact.prices import Traffic, bill
from analysis.optimization import Constraints, Facts, Presence, Samples, Study
from core.errors import BadInput

REGIONS = (
    *("us-east-1", "us-west-2", "sa-east-1", "eu-west-1"),
    *("eu-central-1", "ap-south-1", "ap-southeast-1", "ap-northeast-1"),
)
# As on the providers' pages: dollars per hour of m5.large, per GB to clients and between regions.
HOUR = dict(zip(REGIONS, (0.096, 0.096, 0.153, 0.107, 0.115, 0.101, 0.12, 0.124), strict=True))
GB = dict(zip(REGIONS, (0.09, 0.09, 0.15, 0.09, 0.09, 0.1093, 0.12, 0.114), strict=True))
MOVE = dict(zip(REGIONS, (0.02, 0.02, 0.138, 0.02, 0.02, 0.086, 0.09, 0.09), strict=True))
TRAFFIC = Traffic(2500.0, 40.0)


def samples(seed, clients=25, rounds=2):
    g = np.random.default_rng(seed)
    values = g.integers(5, 300, (len(REGIONS), clients, rounds)).astype(float)
    names = tuple(f"c{i}" for i in range(clients))
    weights = g.integers(1, 9, clients).astype(float)
    return Samples(REGIONS, names, tuple("ab"[:rounds]), values, weights)


def spreadsheet(found, chosen):
    """The bill of a set, as a spreadsheet would have it."""
    rows = [found.regions.index(name) for name in chosen]
    gb = dict.fromkeys(chosen, 0.0)
    for i, weight in enumerate(found.weights):
        means = [sum(found.values[j, i]) / len(found.rounds) for j in rows]
        gb[chosen[means.index(min(means))]] += weight / sum(found.weights) * 2500
    run = sum(round(HOUR[name] * 730, 2) for name in chosen)
    out = sum(gb[name] * GB[name] for name in chosen)
    between = sum(40 * MOVE[name] * (len(chosen) - 1) for name in chosen)
    return run, out, between


def test_twenty_sets_cost_what_a_spreadsheet_says_to_the_cent():
    prices = listed_prices().prices_of(REGIONS)
    for seed in range(20):
        found = samples(seed)
        g = np.random.default_rng(seed)
        chosen = tuple(g.choice(REGIONS, int(g.integers(1, 6)), replace=False))
        got = bill(prices, serve(Study(found), chosen), TRAFFIC)
        expected = spreadsheet(found, chosen)
        parts = (got.running, got.to_clients, got.between)
        assert [round(one, 2) for one in parts] == [round(one, 2) for one in expected]
        assert round(got.total, 2) == round(sum(expected), 2)


def dominated(one, other):
    return other != one and all(b <= a for a, b in zip(one, other, strict=True))


def enumerate_front(found, sizes, allowed):
    study, figures = Study(found), set()
    for size in sizes:
        for chosen in combinations(REGIONS, size):
            if not allowed(chosen):
                continue
            after = study.value_of(chosen, survive_loss=True) if size > 1 else float("inf")
            cost = round(sum(spreadsheet(found, chosen)), 6)
            figures.add((cost, round(study.value_of(chosen), 9), round(after, 9)))
    return {one for one in figures if not any(dominated(one, other) for other in figures)}


PROVIDER = dict(zip(REGIONS, "aaabbbab", strict=True))
FACTS = {
    name: Facts(p, "", name[:2], zones=n % 3 + 1, isps=n % 4 + 1, carbon_g_per_kwh=10.0 * n)
    for n, (name, p) in enumerate(PROVIDER.items())
}
CASES = {
    "free": (Constraints(), None, lambda s: True),
    "budget": (Constraints(), 520.0, lambda s: True),
    "residency": (
        Constraints(continents=frozenset({"eu", "us"}), facts=FACTS),
        None,
        lambda s: all(name[:2] in ("eu", "us") for name in s),
    ),
    "providers": (
        Constraints(per_provider=2, presence=(Presence(frozenset("b"), 1),), facts=FACTS),
        None,
        lambda s: (
            sum(PROVIDER[n] == "a" for n in s) <= 2 and 1 <= sum(PROVIDER[n] == "b" for n in s) <= 2
        ),
    ),
    "zones": (
        Constraints(min_zones=2, facts=FACTS),
        None,
        lambda s: all(FACTS[name].zones >= 2 for name in s),
    ),
    "isps": (
        Constraints(min_isps=3, facts=FACTS),
        None,
        lambda s: all(FACTS[name].isps >= 3 for name in s),
    ),
    "carbon": (
        Constraints(max_carbon=40.0, facts=FACTS),
        None,
        lambda s: all(FACTS[name].carbon_g_per_kwh <= 40 for name in s),
    ),
    "include": (
        Constraints(include=frozenset({"sa-east-1"})),
        None,
        lambda s: "sa-east-1" in s,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_the_front_equals_enumeration(case, seed):
    constraints, budget, allowed = CASES[case]
    found = samples(seed)
    costing = Costing(listed_prices().prices_of(REGIONS), TRAFFIC, budget)
    front = find_front(Study(found), (1, 2, 3, 4), constraints, costing)
    got = {
        (
            round(one.cost, 6),
            round(one.value, 9),
            float("inf") if one.after_loss is None else round(one.after_loss, 9),
        )
        for one in front.sets
    }

    def affordable(chosen):
        cost = sum(spreadsheet(found, chosen))
        return allowed(chosen) and (budget is None or cost <= budget)

    assert got == enumerate_front(found, (1, 2, 3, 4), affordable)
    assert [one.cost for one in front.sets] == sorted(one.cost for one in front.sets)


def test_a_region_without_a_price_is_in_no_set_and_a_large_front_is_refused():
    found = samples(1)
    prices = listed_prices().prices_of(REGIONS[:5])
    front = find_front(Study(found), (2,), Constraints(), Costing(prices, Traffic()))
    assert front.unpriced == REGIONS[5:]
    assert front.evaluated == 10
    wide = replace(
        found,
        regions=tuple(f"r{j}" for j in range(80)),
        values=np.ones((80, 25, 2)),
    )
    wide_prices = replace(prices, running={f"r{j}": 1.0 for j in range(80)})
    with pytest.raises(BadInput, match="too many to evaluate"):
        find_front(Study(wide), (8,), Constraints(), Costing(wide_prices, Traffic()))


OWN = """
as_of = 2026-05-01
[aws]
source = "contract"
[aws.regions]
eu-west-1 = { compute = 0.05, internet = 0.01, between = 0.0 }
"""


def test_a_list_of_ones_own_replaces_the_regions_that_it_has():
    both = listed_prices().replaced(read_price_list(OWN.encode()))
    own, listed = both.find("eu-west-1"), both.find("aws/us-east-1")
    assert (own.month, own.source, str(own.as_of)) == (36.5, "contract", "2026-05-01")
    assert (listed.month, str(listed.as_of)) == (70.08, "2024-06-01")
    assert listed.source.startswith("https://aws.")
    assert both.find("azure/eastus").is_approximate


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("as_of = [", "not TOML"),
        ("[aws.regions]\na = { compute = 1 }", "as_of"),
        ("as_of = 2026-01-01\n[aws]\nx = 1", r"\[aws.regions\]"),
        ("as_of = 2026-01-01\n[aws.regions]\na = { compute = 1 }", "aws.regions.a.internet"),
        (
            "as_of = 2026-01-01\n[aws.regions]\na = {compute=-1, internet=1, between=1}",
            "aws.regions.a.compute is not a price",
        ),
        (
            "as_of = 2026-01-01\n[aws.regions]\na = {compute=1, internet=1, between=1, vat=1}",
            "aws.regions.a.vat is unknown",
        ),
        ("as_of = 2026-01-01", "no region"),
    ],
)
def test_what_is_wrong_in_a_list_is_named(text, says):
    with pytest.raises(BadInput, match=says):
        read_price_list(text.encode())
