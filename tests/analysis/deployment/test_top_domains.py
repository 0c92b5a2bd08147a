"""IMC'13 Tables 6, 9 and 11: the best-ranked domains."""

from dataclasses import replace

from core.report_tables import TOP_CLOUD_DOMAINS, TOP_EC2_DOMAINS
from tests.analysis.conftest import cells
from tests.analysis.deployment.world_cast import (
    Domain,
    Name,
    chicago,
    edge,
    elb,
    ireland,
    place,
    virginia,
    vm,
)


def test_it_works(cast_tables):
    # news.example ranks first, but uses no AWS.
    assert cast_tables["top-domains"].rows == (
        (2, "blog.example", 6, 5),
        (3, "shop.example", 7, 5),
    )
    assert cast_tables["top-features"].rows == (
        (2, "blog.example", 5, 2, 3, 2, 2, 0),
        (3, "shop.example", 5, 2, 0, 2, 2, 1),
    )
    assert cast_tables["top-regions"].rows == (
        (1, "news.example", 3, 1, 2, 0, 0),
        (2, "blog.example", 5, 3, 4, 1, 0),
        (3, "shop.example", 5, 2, 3, 1, 0),
    )


def test_only_the_best_ranked_are_listed(tables_of):
    domains = [
        Domain(f"d{i:02}.example", i, (vm(f"d{i:02}.example", virginia(1)),)) for i in range(20)
    ]
    found = tables_of(*reversed(domains))
    assert [r[0] for r in found["top-domains"].rows] == list(range(TOP_EC2_DOMAINS))
    assert [r[0] for r in found["top-features"].rows] == list(range(TOP_EC2_DOMAINS))
    assert [r[0] for r in found["top-regions"].rows] == list(range(TOP_CLOUD_DOMAINS))


def test_equal_ranks_go_by_name(tables_of):
    names = ("b.example", "a.example", "c.example")
    found = tables_of(*(Domain(n, 7, (vm(n, virginia(1)),)) for n in names))
    assert cells(found["top-domains"], "domain") == [("a.example",), ("b.example",), ("c.example",)]


def test_domains_elsewhere_do_not_take_a_place_of_the_ten(tables_of):
    azure = [
        Domain(f"z{i:02}.example", i, (Name(f"z{i:02}.example", (chicago(1),)),)) for i in range(12)
    ]
    found = tables_of(*azure, Domain("v.example", 99, (vm("v.example", virginia(1)),)))
    assert found["top-domains"].rows == ((99, "v.example", 1, 1),)
    assert len(found["top-regions"].rows) == 13


def test_a_name_with_two_paas_labels_counts_once(tables_of):
    both = elb("p.example", virginia(1), also=["beanstalk", "heroku-elb"])
    found = tables_of(Domain("p.example", 1, (both,)))
    assert cells(found["top-features"], "paas", "elb", "elb_ips") == [(1, 1, 1)]


def test_load_balancer_addresses_are_distinct(tables_of):
    names = (elb("a.p.example", virginia(1), virginia(2)), elb("b.p.example", virginia(2)))
    found = tables_of(Domain("p.example", 1, names))
    assert cells(found["top-features"], "elb", "elb_ips") == [(2, 2)]


def test_regions_of_several_providers_add_up(tables_of):
    far = [place(f"203.0.113.{i}", "aws", f"region-{i}") for i in range(3)]
    names = (
        vm("one.w.example", virginia(1)),
        Name("two.w.example", (ireland(1), chicago(1))),
        vm("three.w.example", *far),
        vm("four.w.example", *far, virginia(2)),
        vm("edge.w.example", edge(1)),
    )
    found = tables_of(Domain("w.example", 1, names))
    assert found["top-regions"].rows == ((1, "w.example", 5, 6, 1, 1, 2),)


def test_ranks_are_the_lists_own(tables_of):
    first = Domain("a.example", 900_000, (vm("a.example", virginia(1)),))
    found = tables_of(
        first, replace(first, domain="b.example", rank=12, names=(vm("b.example", virginia(2)),))
    )
    assert cells(found["top-domains"], "rank") == [(12,), (900_000,)]
