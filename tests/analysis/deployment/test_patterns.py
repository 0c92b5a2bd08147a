"""IMC'13 Table 8 and Figure 10: features and how many instances stand behind a name."""

from dataclasses import replace

from tests.analysis.conftest import cells
from tests.analysis.deployment.world_cast import (
    SHOP,
    Domain,
    Name,
    chicago,
    elb,
    frankfurt,
    virginia,
    vm,
)


def test_it_works(cast_tables):
    table = cast_tables["patterns"]
    assert table.n == 13
    assert cells(table, "provider", "feature", "domains", "subdomains", "instances") == [
        ("aws", "vm", 2, 4, 5),
        ("aws", "elb", 2, 4, 4),
        ("aws", "beanstalk", 1, 1, 1),
        ("aws", "heroku-elb", 1, 1, 1),
        ("aws", "heroku", 1, 1, 1),
        ("aws", "cloudfront", 1, 1, 2),
        ("aws", "unclassified", 0, 0, None),
        ("azure", "cs", 2, 2, 2),
        ("azure", "tm", 1, 1, 1),
        ("azure", "cdn", 1, 1, 1),
        ("azure", "unclassified", 1, 1, None),
    ]


def test_shares_are_of_the_providers_own_names_and_domains(cast_tables):
    rows = {row[:2]: row for row in cast_tables["patterns"].rows}
    assert rows["aws", "vm"][3] == 1.0
    assert rows["aws", "vm"][5] == 0.4
    assert rows["azure", "cs"][5] == 0.5


def test_a_shared_instance_counts_once_in_all_and_once_per_name(tables_of):
    # Ten names behind one proxy: one physical instance.
    names = tuple(elb(f"n{i}.p.example", virginia(1)) for i in range(10))
    found = tables_of(Domain("p.example", 1, names))
    assert ("aws", "elb", 1, 10, 1) in cells(
        found["patterns"], "provider", "feature", "domains", "subdomains", "instances"
    )
    assert found["instance-counts"].rows == (("elb", 1, 10, 1.0, 1.0),)


def test_google_has_rows_only_where_a_name_uses_it(tables_of):
    google = vm("g.example", frankfurt(1), provider="google")
    rows = cells(
        tables_of(Domain("g.example", 1, (google,)))["patterns"],
        "provider",
        "feature",
        "subdomains",
    )
    assert rows[-2:] == [("google", "vm", 1), ("google", "unclassified", 0)]


def test_a_name_is_unclassified_by_provider(tables_of):
    # A VM on AWS whose Azure address no rule explains.
    mixed = vm("m.example", virginia(1), chicago(1))
    rows = {
        row[:2]: row[2]
        for row in cells(
            tables_of(Domain("m.example", 1, (mixed,)))["patterns"],
            "provider",
            "feature",
            "subdomains",
        )
    }
    assert rows["aws", "unclassified"] == 0
    assert rows["azure", "unclassified"] == 1


def test_a_label_beyond_the_agreed_ones_is_shown_not_dropped(tables_of):
    name = Name("n.example", (virginia(1),), ("x.lightsail.example",), (("aws", "light", ("a",)),))
    rows = cells(
        tables_of(Domain("n.example", 1, (name,)))["patterns"],
        "provider",
        "feature",
        "subdomains",
        "instances",
    )
    assert rows[6:8] == [("aws", "light", 1, 1), ("aws", "unclassified", 0, None)]


def test_instances_per_name(cast_tables):
    table = cast_tables["instance-counts"]
    assert table.n == 8
    assert table.rows == (
        ("vm", 1, 3, 0.75, 0.75),
        ("vm", 2, 1, 0.25, 1.0),
        ("elb", 1, 3, 0.75, 0.75),
        ("elb", 2, 1, 0.25, 1.0),
    )


def test_an_ipv6_answer_adds_to_the_names_instances(tables_of):
    four = vm("v.example", virginia(1))
    six = replace(four, places=(virginia(2),), labels=(("aws", "vm", ("23.20.0.2",)),))
    found = tables_of(Domain("v.example", 1, (four, six)))
    assert found["instance-counts"].rows == (("vm", 2, 1, 1.0, 1.0),)


def test_a_label_without_a_cloud_address_is_not_counted(tables_of):
    # A front that its placement does not bear out cannot enter the table.
    stray = Name("s.example", (), ("lb.elb.amazonaws.com",), (("aws", "elb", ("23.20.0.1",)),))
    found = tables_of(SHOP, Domain("s.example", 9, (stray,)))
    assert ("aws", "elb", 2) in cells(found["patterns"], "provider", "feature", "subdomains")
