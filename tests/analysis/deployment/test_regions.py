"""IMC'13 Table 10 and Figure 12: which regions, and how many."""

from tests.analysis.conftest import cells
from tests.analysis.deployment.world_cast import (
    Domain,
    Name,
    chicago,
    edge,
    frankfurt,
    ireland,
    place,
    virginia,
    vm,
)


def test_it_works(cast_tables):
    table = cast_tables["regions"]
    assert table.rows == (
        ("aws", "us-east-1", 2, 8, 0.8, 6, 0.75),
        ("aws", "eu-west-1", 2, 2, 0.2, 1, 0.5),
        ("azure", "northcentralus", 2, 3, 0.75, 2, 0.666667),
    )
    # Others have a CDN alone, also one whose addresses are in a region's own ranges.
    assert table.n == 11


def test_many_addresses_in_one_region_count_once(tables_of):
    found = tables_of(Domain("v.example", 1, (vm("v.example", *map(virginia, range(1, 9))),)))
    assert found["regions"].rows == (("aws", "us-east-1", 1, 1, 1.0, 1, 1.0),)


def test_an_edge_gives_no_region_even_where_one_is_published(tables_of):
    pinned = place("54.230.9.9", "aws", "us-east-1", edge(1).kind, "CLOUDFRONT")
    found = tables_of(Domain("e.example", 1, (vm("e.example", edge(1), pinned),)))
    assert found["regions"].rows == found["region-counts"].rows == ()
    assert found["domain-region-means"].rows == ()


def test_only_here_looks_at_all_providers(tables_of):
    # One region of each provider: in neither is it alone.
    found = tables_of(Domain("m.example", 1, (Name("m.example", (virginia(1), frankfurt(1))),)))
    assert cells(found["regions"], "region", "only_here") == [("us-east-1", 0), ("europe-west3", 0)]


def test_regions_stand_in_order_of_provider_then_size_then_code(tables_of):
    names = (
        vm("a.r.example", ireland(1)),
        vm("b.r.example", ireland(2), virginia(1)),
        vm("c.r.example", place("54.248.0.1", "aws", "ap-northeast-1")),
        Name("d.r.example", (chicago(1), chicago(2))),
        Name("e.r.example", (chicago(3),)),
    )
    found = tables_of(Domain("r.example", 1, names))
    assert cells(found["regions"], "region", "subdomains") == [
        ("eu-west-1", 2),
        ("ap-northeast-1", 1),
        ("us-east-1", 1),
        ("northcentralus", 2),
    ]


def test_regions_per_name(cast_tables):
    table = cast_tables["region-counts"]
    assert table.n == 12  # m.blog.example is in two providers' counts
    assert table.rows == (
        ("aws", 1, 8, 0.888889, 0.888889),
        ("aws", 2, 1, 0.111111, 1.0),
        ("azure", 1, 3, 1.0, 1.0),
    )


def test_region_uses_equal_names_times_their_mean(cast_tables):
    uses = sum(n for _, n in cells(cast_tables["regions"], "region", "subdomains"))
    counted = cells(cast_tables["region-counts"], "regions", "subdomains")
    assert uses == sum(k * n for k, n in counted) == 13


def test_mean_regions_by_domain(cast_tables):
    # shop: (1 + 2 + 1 + 1) / 4 = 1.25, blog: 1, news: 1 and blog again on Azure.
    assert cast_tables["domain-region-means"].rows == (
        ("aws", 1.0, 1, 0.5, 0.5),
        ("aws", 1.25, 1, 0.5, 1.0),
        ("azure", 1.0, 2, 1.0, 1.0),
    )


def test_a_mean_on_an_edge_falls_below_it(tables_of):
    names = (vm("a.e.example", virginia(1)), vm("b.e.example", virginia(2), ireland(1)))
    found = tables_of(Domain("e.example", 1, names))
    assert cells(found["domain-region-means"], "mean_at_most") == [(1.5,)]


def test_a_mean_above_every_edge_keeps_a_class_of_its_own(tables_of):
    places = [place(f"203.0.113.{i}", "aws", f"region-{i}") for i in range(9)]
    found = tables_of(Domain("w.example", 1, (vm("w.example", *places),)))
    assert found["domain-region-means"].rows == (("aws", 9.0, 1, 1.0, 1.0),)


def test_names_weigh_the_same_whatever_their_addresses(tables_of):
    names = (
        vm("a.e.example", *map(virginia, range(1, 6))),
        vm("b.e.example", virginia(9), ireland(9), place("54.0.0.1", "aws", "us-west-2")),
    )
    found = tables_of(Domain("e.example", 1, names))
    assert cells(found["domain-region-means"], "mean_at_most") == [(2.0,)]


def test_one_code_of_two_providers_is_two_regions(tables_of):
    # IBM and Amazon both have a us-east.
    twin = place("203.0.113.1", "ibm", "us-east-1")
    found = tables_of(Domain("t.example", 1, (Name("t.example", (virginia(1), twin)),)))
    assert cells(found["regions"], "provider", "only_here") == [("aws", 0), ("ibm", 0)]
    assert cells(found["top-regions"], "regions", "k1", "k2") == [(2, 0, 1)]
