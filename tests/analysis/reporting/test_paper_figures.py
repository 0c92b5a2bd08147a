"""Single figures of the text, counted by hand for the cast."""

import pytest

from core.report_tables import share
from tests.analysis.conftest import by_key
from tests.analysis.deployment.world_cast import (
    Domain,
    Name,
    edge,
    elb,
    ireland,
    outside,
    virginia,
    vm,
)


def parts(tables):
    return {k: (r["part"], r["whole"]) for k, r in by_key(tables["text-figures"], "figure").items()}


def test_it_works(cast_tables):
    found = parts(cast_tables)
    # shop (3), news (1) and blog (2) of a list that ends at rank 5.
    assert found["domains in the top quarter of the list"] == (1, 3)
    assert found["domains in the last quarter of the list"] == (0, 3)
    assert found["subdomains called www"] == (1, 13)
    assert found["subdomains in a cloud and elsewhere"] == (1, 13)
    assert found["EC2 domains with a virtual machine in front"] == (2, 2)
    assert found["of these, with three or more machines"] == (1, 2)
    assert found["EC2 domains with a load balancer in front"] == (2, 2)
    assert found["EC2 domains with a name in the fullest region"] == (2, 2)
    assert found["EC2 domains with names in that region only"] == (0, 2)
    assert found["listed domains with names in that region only"] == (0, 5)
    assert found["subdomains with three to ten name servers"] == (3, 13)


def test_every_share_is_its_part_of_its_whole(cast_tables):
    for row in by_key(cast_tables["text-figures"], "figure").values():
        assert row["share"] == share(row["part"], row["whole"])


@pytest.mark.parametrize(("names", "expected"), [(9, (0, 1)), (10, (1, 1))])
def test_ten_names_make_a_shared_load_balancer(tables_of, names, expected):
    own = tuple(elb(f"n{i}.s.example", virginia(1)) for i in range(names))
    found = parts(tables_of(Domain("s.example", 1, own)))
    assert found["load balancers' addresses with ten or more subdomains"] == expected


def test_the_fullest_region_is_that_with_most_names(tables_of):
    first = Domain("a.example", 1, (vm("a.example", ireland(1)), vm("b.a.example", ireland(2))))
    second = Domain("c.example", 2, (vm("c.example", virginia(1)), Name("d.c.example", (edge(1),))))
    other = Domain("e.example", 3, (Name("e.example", (outside(1),)),))
    found = parts(tables_of(first, second, other))
    assert found["EC2 domains with a name in the fullest region"] == (1, 2)
    assert found["listed domains with names in that region only"] == (1, 3)
