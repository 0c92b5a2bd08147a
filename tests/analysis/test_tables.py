import pytest

from analysis.checks import check_tables
from analysis.findings import front_findings, headline
from analysis.passports import domain_list, domain_page, name_page, search_names
from analysis.published import published
from analysis.summary import names_rows, summarise
from analysis.usage import compute_tables
from core.tables import SPECS
from tests.analysis.cast import CAST, name, write_lake


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    write_lake(folder, CAST)
    return folder


@pytest.fixture(scope="module")
def tables(root):
    return compute_tables(root, "c")


def rows(tables, table_id, *columns):
    table = tables[table_id]
    places = [table.columns.index(c) for c in columns]
    return [tuple(row[i] for i in places) for row in table.rows]


def test_it_works(tables):
    assert list(tables) == [s.id for s in SPECS]
    assert check_tables(tables) == []


def test_providers_with_both_readings_of_a_domain(tables):
    columns = ("class", "domains", "subdomains", "domains_cloud_only")
    assert rows(tables, "providers", *columns) == [
        ("aws only", 1, 8, 2),  # wide.org; by cloud names alone vm.com too
        ("aws + other", 2, 1, 1),  # vm.com (mail) and paas.net (odd)
        ("azure only", 0, 3, 0),
        ("azure + other", 0, 0, 0),
        ("google only", 0, 1, 1),
        ("google + other", 1, 0, 0),
        ("aws + azure", 1, 1, 1),
        ("aws total", 4, 10, 4),
        ("azure total", 1, 4, 1),
        ("google total", 1, 1, 1),
        ("total", 5, 14, 5),
    ]


def test_patterns_are_sets_of_labels(tables):
    found = {
        r[:2]: r[2:]
        for r in rows(tables, "patterns", "provider", "feature", "subdomains", "instances")
    }
    assert found == {
        ("aws", "vm"): (4, 5),  # 10.1.0.1-4 and 10.2.0.1
        ("aws", "elb"): (3, 2),
        ("aws", "beanstalk"): (1, 1),
        ("aws", "heroku-elb"): (1, 1),
        ("aws", "heroku"): (1, 1),
        ("aws", "cloudfront"): (1, 1),
        ("aws", "unclassified"): (1, None),
        ("azure", "cs"): (4, 3),  # two addresses and one logical name
        ("azure", "tm"): (1, 1),
        ("azure", "cdn"): (0, 0),
        ("azure", "unclassified"): (0, None),
        ("google", "vm"): (1, 1),
        ("google", "unclassified"): (0, None),
    }


def test_regions_leave_the_cdn_out(tables):
    assert rows(tables, "regions", "provider", "region", "domains", "subdomains", "only_here") == [
        ("aws", "us-east-1", 4, 8, 6),
        ("aws", "eu-west-1", 2, 2, 1),
        ("azure", "westeurope", 1, 4, 3),
        ("google", "europe-west3", 1, 1, 1),
    ]
    assert rows(tables, "region-counts", "provider", "regions", "subdomains") == [
        ("aws", 1, 8),
        ("aws", 2, 1),
        ("azure", 1, 4),
        ("google", 1, 1),
    ]
    assert rows(tables, "domain-region-means", "provider", "mean_at_most", "domains") == [
        ("aws", 1.0, 3),
        ("aws", 1.5, 1),  # wide.org: (2 + 1 + 1) / 3
        ("azure", 1.0, 1),
        ("google", 1.0, 1),
    ]


def test_instances_per_name(tables):
    assert rows(tables, "instance-counts", "feature", "instances", "subdomains") == [
        ("vm", 1, 2),
        ("vm", 2, 2),
        ("elb", 1, 3),
    ]


def test_name_servers_of_cloud_using_domains(tables):
    found = dict(rows(tables, "name-servers", "location", "name_servers"))
    assert found["aws cloudfront"] == 1
    assert found["aws"] == 1
    assert found["azure"] == 0  # only none.fr, which uses no cloud, is served from there
    assert found["other"] == 1
    assert found["unresolved"] == 1
    assert found["total"] == 4
    assert rows(tables, "name-server-counts", "name_servers", "subdomains") == [(2, 2), (3, 3)]


def test_top_domains(tables):
    assert tables["top-domains"].rows[:2] == ((1, "vm.com", 3, 2), (2, "wide.org", 3, 3))
    assert tables["top-features"].rows[1] == (2, "wide.org", 3, 1, 1, 2, 1, 0)
    assert tables["top-regions"].rows[1] == (2, "wide.org", 3, 2, 2, 1, 0)
    assert tables["top-regions"].rows[2] == (3, "paas.net", 4, 2, 3, 0, 0)


def test_every_headline_is_a_sentence_with_a_number(tables):
    for table_id in tables:
        text = headline(table_id, tables)
        assert any(c.isdigit() for c in text), text
        assert not text.endswith(".")
    assert [f.table_id for f in front_findings(tables)] == ["region-counts", "regions", "patterns"]


def test_an_empty_survey_has_empty_tables_and_says_so(tmp_path):
    tables = compute_tables(tmp_path, "c")
    assert check_tables(tables) == []
    assert "No subdomain" in headline("regions", tables)
    assert front_findings(tables) == ()
    assert summarise(tmp_path, "c")["names"] == {
        "asked": 0,
        "resolved": 0,
        "cloud": 0,
        "failed": {},
    }


def test_a_survey_without_clouds(tmp_path):
    write_lake(tmp_path, [name("none.fr", "192.0.2.5")])
    tables = compute_tables(tmp_path, "c")
    assert tables["providers"].rows[-1][:2] == ("total", 0)
    assert "No subdomain" in headline("patterns", tables)


def test_summary_counts_failures_by_reason(root):
    found = summarise(root, "c")
    assert found["names"]["cloud"] == 14
    assert found["names"]["failed"] == {"TIMEOUT": 6}
    assert found["domains"]["cloud"] == 5


def test_names_csv_joins_values(root):
    found = {r[0]: r for r in names_rows(root, "c")}
    assert found["both.az.de"][2:6] == ("aws + azure", "aws|azure", "cs|vm", "us-east-1|westeurope")
    assert found["cdn.paas.net"][2:6] == ("aws only", "aws", "cloudfront", "")
    assert "mail.vm.com" not in found


def test_passports_show_the_evidence(root):
    page = domain_page(root, "c", "wide.org")
    assert [n["name"] for n in page["names"]["rows"]] == ["app.wide.org", "lb.wide.org", "wide.org"]
    assert page["depends"][0]["only_here"] == 2
    found = name_page(root, "c", "app.wide.org")
    assert {f["label"] for f in found["fronts"]} == {"beanstalk", "elb"}
    assert found["fronts"][0]["evidence"].startswith("CNAME")
    assert found["placements"][0]["prefix"] == "10.1.0.0/16"
    assert domain_page(root, "c", "absent.com") is None
    assert name_page(root, "c", "absent.com") is None
    assert search_names(root, "c", "heroku") == []
    assert search_names(root, "c", "WWW")[0]["name"] == "www.vm.com"
    assert domain_list(root, "c", "paas")["total"] == 1


def test_published_figures_add_up():
    regions = [r for r in published("regions").rows if r[0] == "aws"]
    assert sum(r[3] for r in regions) == 747_486
    rows = {r[0]: r for r in published("providers").rows}
    classes = [r for r in rows.values() if not r[0].endswith("total")]
    assert sum(r[1] for r in classes) == rows["total"][1] == 40_333
    assert sum(r[3] for r in classes) == rows["total"][3] == 713_910
