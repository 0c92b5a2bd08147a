"""IMC'13 section 4.4.1 and Figure 11: where name servers stand, and how many a name has."""

from dataclasses import replace

import pytest

from tests.analysis.conftest import cells
from tests.analysis.deployment.world_cast import (
    BLOG,
    CDN,
    QUIET,
    SHOP,
    Domain,
    chicago,
    edge,
    frankfurt,
    office,
    outside,
    place,
    virginia,
    vm,
)

ROUTE53 = place("205.251.192.1", "aws", None, service="ROUTE53")
CHECKS = place("54.228.16.1", "aws", "eu-west-1", service="ROUTE53_HEALTHCHECKS")


def location_of(tables_of, *places) -> str:
    domain = Domain("n.example", 1, (vm("n.example", virginia(1)),), (("ns.n.example", places),))
    rows = cells(tables_of(domain)["name-servers"], "location", "name_servers")
    assert rows[-1] == ("total", 1)
    return next(where for where, n in rows if n)


def test_it_works(cast_tables):
    table = cast_tables["name-servers"]
    # QUIET's server is left out: the domain uses no cloud.
    assert table.n == 5
    assert table.rows == (
        ("aws cloudfront", 1, 0.2),
        ("aws route53", 1, 0.2),
        ("aws", 0, 0.0),
        ("azure", 1, 0.2),
        ("google", 0, 0.0),
        ("other", 1, 0.2),
        ("unresolved", 1, 0.2),
        ("total", 5, 1.0),
    )


@pytest.mark.parametrize(
    ("places", "location"),
    [
        ((edge(1), ROUTE53, outside(1)), "aws cloudfront"),
        ((ROUTE53, virginia(9)), "aws route53"),
        ((CHECKS,), "aws route53"),
        ((virginia(9), chicago(9)), "aws"),
        ((chicago(9), frankfurt(9)), "azure"),
        ((frankfurt(9), outside(9)), "google"),
        ((outside(9),), "other"),
        ((office(9),), "other"),
        ((place("203.0.113.1", "oracle", "eu-zurich-1"),), "other"),
        ((place("203.0.113.2", "azure", None, CDN, "CLOUDFRONT"),), "azure"),
        ((), "unresolved"),
    ],
)
def test_the_first_place_that_applies_counts(tables_of, places, location):
    assert location_of(tables_of, *places) == location


def test_a_server_of_two_domains_counts_once(tables_of):
    rows = cells(tables_of(SHOP, BLOG)["name-servers"], "location", "name_servers")
    assert ("aws route53", 1) in rows
    assert rows[-1] == ("total", 2)


def test_a_server_that_failed_once_counts_where_it_answered(tables_of):
    again = replace(BLOG, servers=(("ns2.route.example", ()),))
    rows = dict(cells(tables_of(SHOP, again)["name-servers"], "location", "name_servers"))
    assert (rows["aws cloudfront"], rows["unresolved"]) == (1, 0)


def test_name_servers_per_name(cast_tables):
    table = cast_tables["name-server-counts"]
    assert table.n == 13
    assert table.rows == (
        (1, 5, 0.384615, 0.384615),
        (2, 5, 0.384615, 0.769231),
        (3, 3, 0.230769, 1.0),
    )


def test_names_of_a_domain_without_an_ns_answer_are_left_out(tables_of):
    table = tables_of(replace(SHOP, servers=()), BLOG)["name-server-counts"]
    assert table.n == 5
    assert table.rows == ((1, 5, 1.0, 1.0),)


def test_a_domain_without_cloud_names_brings_no_servers(tables_of):
    found = tables_of(QUIET)
    assert found["name-servers"].n == 0
    assert found["name-server-counts"].rows == ()


def test_a_name_in_two_domains_relies_on_the_closest_ones_servers(tables_of):
    name = vm("www.d.example", virginia(1))
    many = tuple((f"ns{i}.d.example", (outside(i),)) for i in range(4))
    one = (("ns.www.example", (outside(9),)),)
    found = tables_of(
        Domain("d.example", 1, (name,), many), Domain("www.d.example", 2, (name,), one)
    )
    assert found["name-server-counts"].rows == ((1, 1, 1.0, 1.0),)
