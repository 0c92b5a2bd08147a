"""IMC'13 Table 5: provider classes of names, and of domains by both readings."""

from tests.analysis.conftest import by_key, cells
from tests.analysis.deployment.world_cast import (
    NEWS,
    QUIET,
    SHOP,
    Domain,
    Name,
    chicago,
    edge,
    frankfurt,
    office,
    outside,
    virginia,
    vm,
)


def test_it_works(cast_tables):
    table = cast_tables["providers"]
    assert table.n == 13
    assert cells(table, "class", "domains", "subdomains", "domains_cloud_only") == [
        ("aws only", 0, 8, 1),
        ("aws + other", 1, 1, 0),
        ("azure only", 0, 3, 1),
        ("azure + other", 1, 0, 0),
        ("aws + azure", 1, 1, 1),
        ("aws total", 2, 10, 2),
        ("azure total", 2, 4, 2),
        ("total", 3, 13, 3),
    ]


def test_shares_are_of_the_total_row(cast_tables):
    rows = by_key(cast_tables["providers"], "class")
    assert rows["aws + other"]["domains_share"] == 0.333333
    assert rows["aws only"]["subdomains_share"] == 0.615385
    assert rows["azure total"]["domains_cloud_only_share"] == 0.666667
    assert rows["total"]["domains_share"] == rows["total"]["subdomains_share"] == 1


def test_both_readings_of_a_domain_stand_side_by_side(tables_of):
    # The one cloud name is pure, another name of the domain stands elsewhere.
    rows = by_key(tables_of(NEWS)["providers"], "class")
    assert (rows["azure + other"]["domains"], rows["azure only"]["domains"]) == (1, 0)
    assert rows["azure + other"]["domains_cloud_only"] == 0
    assert rows["azure only"]["domains_cloud_only"] == 1


def test_a_hybrid_name_makes_its_domain_mixed_by_both_readings(tables_of):
    found = tables_of(Domain("h.example", 1, (vm("h.example", virginia(1), outside(1)),)))
    row = by_key(found["providers"], "class")["aws + other"]
    assert (row["domains"], row["subdomains"], row["domains_cloud_only"]) == (1, 1, 1)


def test_two_clouds_outrank_other_addresses(tables_of):
    domain = Domain("m.example", 1, (Name("m.example", (chicago(1), virginia(1), outside(1))),))
    rows = by_key(tables_of(domain)["providers"], "class")
    assert rows["aws + azure"]["subdomains"] == rows["aws + azure"]["domains"] == 1
    assert rows["aws + other"]["subdomains"] == rows["azure + other"]["subdomains"] == 0


def test_names_apart_in_two_clouds_make_a_domain_of_both(tables_of):
    domain = Domain("d.example", 1, (Name("d.example", (chicago(1),)), vm("v.d.example", edge(1))))
    rows = by_key(tables_of(domain)["providers"], "class")
    assert rows["aws + azure"]["domains"] == rows["aws + azure"]["domains_cloud_only"] == 1
    assert rows["aws + azure"]["subdomains"] == 0
    assert (rows["aws only"]["subdomains"], rows["azure only"]["subdomains"]) == (1, 1)


def test_a_third_provider_has_rows_only_where_it_is_used(tables_of):
    google = Domain("g.example", 1, (Name("g.example", (frankfurt(1), virginia(2))),))
    classes = [row[0] for row in tables_of(google, SHOP)["providers"].rows]
    assert classes == [
        "aws only",
        "aws + other",
        "azure only",
        "azure + other",
        "google only",
        "google + other",
        "aws + google",
        "aws total",
        "azure total",
        "google total",
        "total",
    ]


def test_three_providers_are_named_in_the_agreed_order(tables_of):
    places = (frankfurt(1), chicago(1), virginia(1))
    found = tables_of(Domain("t.example", 1, (Name("t.example", places),)))
    assert "aws + azure + google" in by_key(found["providers"], "class")


def test_a_providers_own_office_counts_as_elsewhere(tables_of):
    domain = Domain("o.example", 1, (Name("o.example", (office(1), virginia(1))),))
    rows = by_key(tables_of(domain)["providers"], "class")
    assert rows["aws + other"]["subdomains"] == 1
    assert "google only" not in rows


def test_a_domain_without_cloud_names_is_not_counted(tables_of):
    rows = by_key(tables_of(QUIET)["providers"], "class")
    assert rows["total"] == dict.fromkeys(rows["total"], 0) | {"class": "total"} | {
        key: None for key in rows["total"] if key.endswith("share")
    }
