"""Findings in one sentence: the number in it, honest for small and empty populations."""

import pytest

from analysis.reporting.headlines import front_findings, headline
from analysis.reporting.survey_tables import compute_tables
from core.denominators import wholes
from core.report_tables import SPECS, share
from core.wording import Portion, number, percent, provider_name, share_of
from tests.analysis.deployment.world_cast import (
    SHOP,
    Domain,
    Name,
    chicago,
    edge,
    frankfurt,
    ireland,
    virginia,
    vm,
)


def crowd(n: int, *, wide: int = 0) -> Domain:
    """``n`` virtual machines, the first ``wide`` of them in two regions."""
    names = [
        vm(f"n{i}.crowd.example", *([virginia(1), ireland(1)] if i < wide else [virginia(1)]))
        for i in range(n)
    ]
    return Domain("crowd.example", 7, tuple(names))


def test_it_works(tables_of):
    tables = tables_of(crowd(200, wide=6))
    assert headline("region-counts", tables) == (
        "97.0 % of Amazon-hosted subdomains are in a single region"
    )
    assert headline("instance-counts", tables) == (
        "97.0 % of subdomains on virtual machines answer from a single address"
    )


EXPECTED = {
    "providers": "10 of the 13 cloud-using subdomains use Amazon",
    "patterns": "4 of the 10 Amazon-hosted subdomains answer directly from virtual machines",
    "regions": "8 of the 10 Amazon-hosted subdomains are in us-east-1",
    "region-counts": "8 of the 9 Amazon-hosted subdomains are in a single region",
    "domain-region-means": "1 of the 2 domains on Amazon keeps every subdomain in one region",
    "instance-counts": "3 of the 4 subdomains on virtual machines answer from a single address",
    "name-servers": ("1 of the 5 name servers of cloud-using domains is not in any known cloud"),
    "name-server-counts": "3 of the 13 cloud-using subdomains rely on three to ten name servers",
    "top-domains": (
        "blog.example, ranked 2, is the best-ranked domain on Amazon, with 5 of its 6 "
        "subdomains there"
    ),
    "top-features": "Both best-ranked domains on Amazon use virtual machines",
    "top-regions": (
        "2 of the 3 best-ranked cloud-using domains have a subdomain in more than one region"
    ),
    "zone-usage": "3 of the 13 cloud-using subdomains use zone a of us-east-1; 1 has no other",
    "zone-counts": "4 of the 5 subdomains with an identified zone use one zone only",
    "domain-zone-means": (
        "1 of the 2 domains with an identified zone keeps every subdomain in one zone"
    ),
    "top-zones": "Both best-ranked domains on Amazon have a subdomain in one zone only",
    "elb-sharing": "1 of the 4 load balancers’ addresses serves several subdomains",
    "name-server-sharing": "1 of the 5 name servers serves several cloud-using domains",
    "name-server-operators": (
        "10 of the 13 cloud-using subdomains have name servers of route.example"
    ),
    "customers": "8 of the 9 subdomains whose customers’ country is known are hosted outside it",
    "customer-countries": "5 subdomains have most customers in Germany; 5 of 5 hosted outside it",
    "outages": "5 of the 13 cloud-using subdomains go down if us-east-1 fails",
    "outage-domains": "2 of the 3 cloud-using domains lose at least a part if us-east-1 fails",
    "dangling": "No alias leads to a provider’s name that does not exist",
    "dangling-names": "No domain has an alias whose target does not exist",
    "text-figures": "1 of the 3 cloud-using domains ranks in the top quarter of the list",
}


@pytest.mark.parametrize("table_id", EXPECTED)
def test_few_names_are_told_in_counts(cast_tables, table_id):
    assert headline(table_id, cast_tables) == EXPECTED[table_id]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
def test_every_table_has_a_headline(cast_tables, spec):
    text = headline(spec.id, cast_tables)
    assert text
    assert not text.endswith(".")


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.id)
@pytest.mark.parametrize(
    ("n_domains", "sentence"),
    [
        (12, "No cloud-using subdomain was found among 12 domains"),
        (1, "No cloud-using subdomain was found in the only domain asked"),
        (0, "No domain was surveyed"),
        (None, "No cloud-using subdomain was found among these domains"),
        (12_345, "No cloud-using subdomain was found among 12,345 domains"),
    ],
)
def test_nothing_found_is_said(empty_tables, spec, n_domains, sentence):
    assert headline(spec.id, empty_tables, n_domains) == sentence


@pytest.fixture(scope="module")
def empty_tables(tmp_path_factory):
    return compute_tables(tmp_path_factory.mktemp("empty"), "none")


def test_one_name_is_told_in_the_singular(tables_of):
    tables = tables_of(Domain("v.example", 1_234, (vm("v.example", virginia(1)),)))
    assert [headline(table_id, tables) for table_id in EXPECTED] == [
        "The only cloud-using subdomain uses Amazon",
        "The only Amazon-hosted subdomain answers directly from a virtual machine",
        "The only Amazon-hosted subdomain is in us-east-1",
        "The only Amazon-hosted subdomain is in a single region",
        "The only domain on Amazon keeps every subdomain in one region",
        "The only subdomain on virtual machines answers from a single address",
        "No name server of the cloud-using domains is known",
        "No name server of the cloud-using domains is known",
        "v.example, ranked 1,234, is the best-ranked domain on Amazon, with its only subdomain "
        "there",
        "The only domain on Amazon uses virtual machines",
        "No cloud-using domain has a subdomain in more than one region",
        "No address has an identified availability zone",
        "No address has an identified availability zone",
        "No address has an identified availability zone",
        "No address has an identified availability zone",
        "No load balancer was found",
        "No name server of the cloud-using domains is known",
        "No name server of the cloud-using domains is known",
        "The country of the customers is not known for any subdomain",
        "The country of the customers is not known for any subdomain",
        "The only cloud-using subdomain goes down if us-east-1 fails",
        "The only cloud-using domain loses at least a part if us-east-1 fails",
        "No alias leads to a provider’s name that does not exist",
        "No domain has an alias whose target does not exist",
        "No cloud-using domain ranks in the top quarter of the list",
    ]


def test_behind_a_cdn_alone_there_is_no_region(tables_of):
    name = Name("e.example", (edge(1),), (), (("aws", "cloudfront", ("54.230.0.1",)),))
    tables = tables_of(Domain("e.example", 1, (name,)))
    for table_id in ("regions", "region-counts", "domain-region-means"):
        assert headline(table_id, tables) == "No front end is in a region of a known cloud"
    assert headline("patterns", tables) == (
        "The only Amazon-hosted subdomain is served by CloudFront"
    )
    assert [f.table_id for f in front_findings(tables)] == ["patterns", "providers"]


def test_without_amazon_its_tables_say_so(tables_of):
    google = vm("g.example", frankfurt(1), provider="google")
    tables = tables_of(Domain("g.example", 1, (google,)))
    assert headline("providers", tables) == "The only cloud-using subdomain uses Google"
    assert headline("top-domains", tables) == "None of these domains uses Amazon"
    assert headline("top-features", tables) == "None of these domains uses Amazon"
    assert headline("instance-counts", tables) == (
        "No Amazon-hosted subdomain answers directly from a virtual machine"
    )
    assert headline("patterns", tables).startswith("The only Google-hosted subdomain answers")


def test_names_of_no_known_pattern_are_not_called_one(tables_of):
    names = (Name("a.u.example", (chicago(1),)), Name("b.u.example", (virginia(1),)))
    tables = tables_of(Domain("u.example", 1, names))
    assert headline("patterns", tables) == (
        "None of the 2 cloud-using subdomains shows a known front-end pattern"
    )


def test_the_leader_is_the_provider_with_most_names(tables_of):
    azure = tuple(Name(f"a{i}.z.example", (chicago(i),)) for i in range(1, 7))
    tables = tables_of(SHOP, Domain("z.example", 9, azure))
    assert headline("providers", tables) == "6 of the 11 cloud-using subdomains use Microsoft"
    assert headline("regions", tables) == "All 6 Microsoft-hosted subdomains are in northcentralus"


def test_large_totals_stand_in_the_sentence(tables_of):
    names = (Name("z.example", (chicago(1),)),)
    tables = tables_of(crowd(99), Domain("z.example", 9, names))
    assert headline("providers", tables) == "99.0 % of 100 cloud-using subdomains use Amazon"
    assert headline("regions", tables) == "All 99 Amazon-hosted subdomains are in us-east-1"


def test_the_front_door_has_three(tables_of):
    found = front_findings(tables_of(crowd(200, wide=6)))
    assert [(f.table_id, f.value) for f in found] == [
        ("region-counts", "97.0 %"),
        ("regions", "100.0 %"),
        ("patterns", "100.0 %"),
    ]
    assert found[0].text == "of Amazon-hosted subdomains are in a single region."
    assert found[1].text == (
        "of Amazon-hosted subdomains are in us-east-1. "
        "194 of them have no other region to fall back on."
    )


def test_the_front_door_of_a_small_survey(cast_tables):
    found = front_findings(cast_tables)
    assert [f.value for f in found] == ["8 of 9", "8 of 10", "4 of 10"]
    assert found[0].text == "Amazon-hosted subdomains are in a single region."


def test_the_front_door_is_empty_where_nothing_was_found(empty_tables):
    assert front_findings(empty_tables) == ()


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0, "0 %"),
        (0.0000014, "<0.01 %"),
        (0.0005, "0.05 %"),
        (0.0099, "0.99 %"),
        (0.00996, "1.0 %"),
        (0.972, "97.2 %"),
        (0.9995, ">99.9 %"),
        (0.999999, ">99.9 %"),
        (1, "100.0 %"),
    ],
)
def test_a_percentage_never_claims_none_or_all(fraction, text):
    assert percent(fraction) == text


@pytest.mark.parametrize(
    ("part", "whole", "sentence"),
    [
        (0, 0, "No fox sleeps"),
        (0, 1, "No fox sleeps"),
        (1, 1, "The only fox sleeps"),
        (0, 12, "None of the 12 foxes sleeps"),
        (2, 2, "Both foxes sleep"),
        (1, 2, "1 of the 2 foxes sleeps"),
        (3, 4, "3 of the 4 foxes sleep"),
        (4, 4, "All 4 foxes sleep"),
        (1, 29, "1 of the 29 foxes sleeps"),
        (1, 30, "3.3 % of foxes sleep"),
        (1_234, 1_234, "All 1,234 foxes sleep"),
        (0, 1_234, "None of the 1,234 foxes sleeps"),
    ],
)
def test_singular_and_plural(part, whole, sentence):
    assert Portion(part, whole, "fox", "foxes").sentence("sleeps", "sleep") == sentence


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 0, "no data"), (0, 3, "0 of 3"), (7, 29, "7 of 29"), (15, 30, "50.0 %"), (0, 40, "0 %")],
)
def test_a_share_says_how_few_it_is_a_share_of(part, whole, text):
    assert share_of(share(part, whole), whole) == text
    assert Portion(part, whole, "fox", "foxes").value == text


def test_every_share_of_a_table_has_its_whole(cast_tables):
    for table in cast_tables.values():
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for row, known in zip(rows, wholes(table.columns, rows), strict=True):
            for column, whole in known.items():
                part = "part" if column == "share" else column.removesuffix("_share")
                if whole and row.get(part) is not None and "cumulative" not in column:
                    assert row[column] == share(row[part], whole), (table.id, column, row)


def test_counts_of_things():
    assert number(1, "domain") == "1 domain"
    assert number(0, "domain") == "0 domains"
    assert number(1_234, "fox", "foxes") == "1,234 foxes"
    assert provider_name("digitalocean") == "DigitalOcean"
    assert provider_name("unheard") == "Unheard"
