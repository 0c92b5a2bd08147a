"""A report that does not add up says so."""

from dataclasses import replace

import pytest

from analysis.reporting.checks import check_tables
from analysis.reporting.published import published
from core.report_tables import Table


def broken(tables, table_id, *, row, column, value):
    """The tables with one cell changed."""
    table = tables[table_id]
    rows = [list(r) for r in table.rows]
    rows[row][table.columns.index(column)] = value
    return {**tables, table_id: replace(table, rows=tuple(map(tuple, rows)))}


def test_it_works(cast_tables):
    assert check_tables(cast_tables) == []


@pytest.mark.parametrize(
    ("table_id", "row", "column", "value", "complaint"),
    [
        ("providers", 0, "subdomains", 9, "the subdomains of all classes sum to 14, not 13"),
        ("providers", 1, "domains", 0, "the domains of aws classes sum to 1, not 2"),
        ("providers", 5, "domains_cloud_only", 3, "the domains_cloud_only of aws classes"),
        ("providers", 0, "subdomains_share", 0.9, "the subdomains_share of aws only"),
        ("patterns", 0, "subdomains", 11, "11 aws subdomains with vm are more than all 10"),
        ("patterns", 1, "domains", 3, "3 aws domains with elb are more than all 2"),
        ("patterns", 4, "instances", 0, "aws heroku has names but no instance"),
        ("patterns", 7, "subdomains", 0, "cover 3 azure names"),
        ("regions", 1, "subdomains", 3, "aws has 11 region uses, but 10"),
        ("regions", 0, "subdomains", 11, "more names in aws us-east-1 than the provider has"),
        ("regions", 1, "only_here", 3, "more names only in aws eu-west-1"),
        ("region-counts", 1, "cumulative_share", 0.99, "region-counts: the cumulative share"),
        ("region-counts", 2, "subdomains", 40, "40 subdomains of azure are more than all 4"),
        ("domain-region-means", 2, "domains", 3, "3 domains of azure are more than all 2"),
        ("instance-counts", 0, "subdomains", 5, "6 names with vm, not 4"),
        ("instance-counts", 3, "instances", 0, "3 uses of 4 elb instances"),
        ("name-servers", 3, "name_servers", 7, "places sum to 11, not 5"),
        ("name-server-counts", 0, "cumulative_share", 0.5, "the cumulative share of all"),
        ("top-domains", 0, "aws_subdomains", 8, "blog.example has more names on AWS than names"),
        ("top-domains", 1, "rank", 1, "not the 10 best-ranked domains in order"),
        ("top-features", 0, "vm", 6, "blog.example has a feature on more names"),
        ("top-features", 0, "elb_ips", 0, "load balancers without addresses"),
        ("top-features", 0, "aws_subdomains", 4, "not the same domains and names"),
        ("top-regions", 1, "k1", 5, "the names of blog.example do not add up"),
        ("zone-usage", 0, "subdomains", 30, "zone-usage: us-east-1 has 8 names"),
        ("zone-usage", 0, "subdomains", 4, "zone uses, but"),
        ("zone-usage", 0, "only_here", 9, "more names only in us-east-1 a"),
        ("zone-counts", 0, "subdomains", 3, "zone uses, but"),
        ("zone-counts", 0, "cumulative_share", 0.5, "zone-counts: the cumulative share"),
        ("domain-zone-means", 0, "domains", 9, "domains of aws are more than all 2"),
        ("top-zones", 0, "z1", 9, "top-zones: the names of blog.example do not add up"),
        ("top-zones", 0, "rank", 9, "top-zones: not the same domains"),
        ("elb-sharing", 0, "elb_ips", 9, "elb-sharing: 10 addresses, not the 4"),
        ("name-server-sharing", 0, "name_servers", 9, "name-server-sharing: 10 name servers"),
        ("name-server-operators", 0, "only_here", 99, "more names with route.example"),
        ("customers", 0, "known", 1, "customers: known of the bases does not sum"),
        ("customers", 0, "other_continent", 99, "more names on another continent"),
        ("customer-countries", 0, "other_country_share", 0.1, "0.1 is not the share of"),
        ("outages", 0, "down", 0, "names are hit by aws, which 10 use"),
        ("outages", 2, "down_at_most", 0, "the names that go down with us-east-1"),
        ("outage-domains", 0, "down_cloud_only", 0, "the domains that go down with aws"),
        ("outage-domains", 0, "part", 99, "more domains are hit by aws than all 3"),
        ("outage-domains", 0, "target", "x", "outage-domains: not the causes of outages"),
        ("text-figures", 0, "share", 0.9, "0.9 is not the share of 1 in 3"),
    ],
)
def test_one_wrong_cell_is_found(cast_tables, table_id, row, column, value, complaint):
    found = check_tables(broken(cast_tables, table_id, row=row, column=column, value=value))
    assert any(complaint in c for c in found), found


def test_a_missing_table_is_named(cast_tables):
    rest = {k: v for k, v in cast_tables.items() if k != "regions"}
    assert check_tables(rest) == ["regions: the table is missing"]


def test_foreign_columns_are_named(cast_tables):
    odd = Table("regions", ("provider",), (("aws",),))
    assert check_tables({**cast_tables, "regions": odd}) == [
        "regions: the columns are not those agreed"
    ]


def test_a_missing_total_is_named(cast_tables):
    table = cast_tables["providers"]
    cut = replace(table, rows=table.rows[:-1])
    assert check_tables({**cast_tables, "providers": cut}) == ["providers: the total is missing"]


def test_a_provider_that_the_first_table_lacks_is_found(cast_tables):
    table = cast_tables["regions"]
    stray = replace(table, rows=(*table.rows, ("google", "europe-west3", 1, 1, 1.0, 1, 1.0)))
    assert "regions: google has 1 region uses, but 0 by the counts per name" in check_tables(
        {**cast_tables, "regions": stray}
    )


def test_the_published_provider_table_adds_up(cast_tables):
    # The same rules that hold for a survey hold for the figures of 2013.
    table = published("providers")
    known = [tuple(0 if c is None else c for c in row) for row in table.rows]
    found = check_tables({**cast_tables, "providers": replace(table, rows=tuple(known))})
    assert [c for c in found if c.startswith("providers") and "cloud_only" not in c] == []
