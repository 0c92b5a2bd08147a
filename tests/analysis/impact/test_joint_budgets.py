"""The division of a joint budget beside trying all divisions, and beside every uniform set."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.impact.costs.joint_budgets import Choice, Deployment, divide_budget
from analysis.impact.domain_regret import read_domain_uses, read_group_clients
from analysis.optimization import Samples
from core.errors import BadInput
from tasks.recommendations.request import Known, ask
from tasks.recommendations.solve import recommend

MENU = st.lists(
    st.tuples(st.integers(1, 9), st.integers(0, 50)), min_size=1, max_size=5, unique_by=lambda c: c
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(MENU, st.integers(1, 9)), min_size=1, max_size=5), st.integers(1, 30))
def test_a_division_equals_trying_all(parts, budget):
    # Values need not fall with cost, nor by less and less.
    deployments = [
        Deployment(str(n), float(weight), tuple(Choice(c, float(v), ()) for c, v in menu))
        for n, (menu, weight) in enumerate(parts)
    ]
    every = [
        sum(c.value * d.weight for c, d in zip(chosen, deployments, strict=True))
        for chosen in product(*(one.choices for one in deployments))
        if sum(c.cost for c in chosen) <= budget
    ]
    found = divide_budget(deployments, budget)
    if not every:
        assert found is None
        return
    weight = sum(one.weight for one in deployments)
    assert found.value == pytest.approx(min(every) / weight)
    assert found.spent == sum(c.cost for c in found.choices) <= budget
    again = sum(c.value * d.weight for c, d in zip(found.choices, deployments, strict=True))
    assert again / weight == pytest.approx(found.value)


REGIONS, CLIENTS = tuple("abcde"), tuple(f"c{i}" for i in range(12))
DOMAINS = b"""domain,region,weight,group
shop.example,a,5,shop
pay.example,b,1,shop
news.example,a,2,
blog.example,c,1,
"""


def question(seed, **options):
    g = np.random.default_rng(seed)
    values = g.integers(5, 300, (5, 12, 1)).astype(float)
    samples = Samples(REGIONS, CLIENTS, ("1",), values)
    clients = [f"{n},{c},{g.integers(0, 9)}" for n in ("shop", "news.example") for c in CLIENTS]
    audiences = read_group_clients("\n".join(["group,client,weight", *clients]).encode())
    known = Known(samples, domains=read_domain_uses(DOMAINS), group_clients=audiences)
    return ask(known, {"draws": 0, "outlook": False, "k": "1..5", **options}), audiences


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("budget", [3, 5, 8])
def test_domains_are_never_worse_off_than_with_one_set_for_all(seed, budget):
    asked, audiences = question(seed, joint_budget=budget)
    found = recommend(asked)["joint"]
    values, plain = asked.samples.values[:, :, 0], np.ones(12)
    weights = {
        name: np.array([audiences[name][c] for c in CLIENTS]) if name in audiences else plain
        for name in ("shop", "news.example", "blog.example")
    }
    mass = {"shop": 6.0, "news.example": 2.0, "blog.example": 1.0}

    def value(name, chosen):
        return np.average(values[list(chosen)].min(axis=0), weights=weights[name])

    sets = [s for k in range(1, 6) for s in combinations(range(5), k)]
    table = {name: {s: value(name, s) for s in sets} for name in mass}
    every = [
        sum(mass[n] * table[n][s] for n, s in zip(mass, chosen, strict=True)) / 9
        for chosen in product(*([s for s in sets if len(s) <= budget - 2] for _ in mass))
        if sum(map(len, chosen)) <= budget
    ]
    assert found["value"] == pytest.approx(min(every))
    assert found["proven"]
    assert (found["n"], found["n_domains"]) == (3, 4)
    assert sum(row["k"] for row in found["rows"]) == found["spent"] <= budget
    for chosen in sets:
        if 3 * len(chosen) <= budget:
            uniform = sum(mass[n] * table[n][chosen] for n in mass) / 9
            assert found["value"] <= uniform + 1e-9
            assert found["value"] <= found["uniform"]["value"] + 1e-9


def test_what_cannot_be_divided_is_refused():
    with pytest.raises(BadInput, match="3 deployments need 3 regions at least"):
        recommend(question(1, joint_budget=2)[0])
    with pytest.raises(BadInput, match="table of domains"):
        ask(Known(question(1)[0].samples), {"joint_budget": 5})
    with pytest.raises(BadInput, match="not both"):
        question(1, joint_budget=5, joint_cost=100.0)
    with pytest.raises(BadInput, match=r"two groups.*|line 3"):
        read_domain_uses(b"domain,region,group\na.example,x,one\na.example,y,two\n")
    with pytest.raises(BadInput, match="is listed twice"):
        read_group_clients(b"group,client,weight\ng,c,1\ng,c,2\n")
