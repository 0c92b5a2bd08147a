"""One domain or name at a time, with the evidence for every label."""

from datetime import UTC, date, datetime

import pytest

from analysis.deployment.dictionary import EDGE_LABELS
from analysis.index import profiles
from analysis.index.indexing import index_shards
from analysis.index.profiles import domain_list, domain_page, name_page, search_names
from analysis.reporting.survey_tables import compute_tables
from core.statuses import DnsStatus
from tests.analysis.deployment.world_cast import (
    CAST,
    SURVEY,
    Domain,
    Name,
    chicago,
    outside,
    virginia,
    vm,
    write_lake,
)


def test_it_works(cast_root):
    found = domain_page(cast_root, SURVEY, "shop.example")
    assert (found["rank"], found["transfer"], found["wildcard"]) == (3, "REFUSED", True)
    assert (found["asked"], found["found"], found["nxdomain"]) == (23, 7, 10)
    assert found["failed"] == [{"status": "TIMEOUT", "count": 3}]
    assert found["names"]["total"] == 7
    assert [s["server"] for s in found["servers"]] == ["ns1.route.example", "ns2.route.example"]
    assert found["servers"][0]["service"] == "ROUTE53"


def test_names_come_cloud_first_with_class_labels_and_regions(cast_root):
    rows = domain_page(cast_root, SURVEY, "blog.example")["names"]["rows"]
    assert [r["name"][0] for r in rows] == ["a", "b", "e", "h", "m", "o"]
    by_name = {r["name"]: r for r in rows}
    mixed = by_name["m.blog.example"]
    assert (mixed["class"], mixed["providers"]) == ("aws + azure", ["aws", "azure"])
    assert (mixed["labels"], mixed["regions"]) == (["cs", "vm"], ["northcentralus", "us-east-1"])
    assert by_name["h.blog.example"]["class"] == "aws + other"
    assert by_name["o.blog.example"]["class"] == ""


@pytest.mark.parametrize("label", EDGE_LABELS)
def test_a_name_behind_a_cdn_in_a_regions_own_range_is_in_no_region(tmp_path, label):
    edge, own = chicago(1), chicago(2)
    behind = Name("cdn.a.test", (edge,), ("x.msecnd.net",), (("azure", label, ("x.msecnd.net",)),))
    root = write_lake(tmp_path, [Domain("a.test", 1, (behind, vm("a.test", own)))])
    page = domain_page(root, SURVEY, "a.test")
    assert {n["name"]: n["regions"] for n in page["names"]["rows"]} == {
        "a.test": ["northcentralus"],
        "cdn.a.test": [],
    }
    assert [(d["region"], d["names"]) for d in page["depends"]] == [("northcentralus", 1)]
    assert [p["kind"] for p in name_page(root, SURVEY, "cdn.a.test")["placements"]] == ["cdn"]
    _, names = index_shards(root, SURVEY, ["000000"])
    assert names.column("regions").to_pylist() == [["azure northcentralus"], []]
    tables = compute_tables(root, SURVEY)
    regions = [(r[1], r[3]) for r in tables["regions"].rows if r[0] == "azure"]
    assert regions == [("northcentralus", 1)]
    down = {(r[0], r[2]): r[3] for r in tables["outages"].rows}
    assert down["region", "northcentralus"] == 1
    assert down["provider", "azure"] == 2


def test_classes_are_those_of_the_report(cast_root, cast_tables):
    classes = [
        row["class"]
        for domain in CAST
        for row in domain_page(cast_root, SURVEY, domain.domain)["names"]["rows"]
    ]
    for row in cast_tables["providers"].rows:
        if not row[0].endswith("total"):
            assert classes.count(row[0]) == row[3]


def test_a_domain_knows_what_it_depends_on(cast_root):
    found = domain_page(cast_root, SURVEY, "shop.example")
    assert [(d["region"], d["names"], d["only_here"]) for d in found["depends"]] == [
        ("us-east-1", 4, 3),
        ("eu-west-1", 1, 0),
    ]
    assert [(d["label"], d["names"], d["instances"]) for d in found["labels"]] == [
        ("elb", 2, 2),
        ("vm", 2, 3),
        ("cloudfront", 1, 2),
    ]


def test_a_server_that_did_not_resolve_keeps_its_reason(cast_root):
    servers = domain_page(cast_root, SURVEY, "news.example")["servers"]
    lost = [s for s in servers if s["server"] == "ns3.news.example"]
    assert [(s["status"], s["address"]) for s in lost] == [("TIMEOUT", "")]


def test_a_domain_that_was_not_asked_is_none(cast_root):
    assert domain_page(cast_root, SURVEY, "elsewhere.example") is None
    assert domain_page(cast_root, "no-such-survey", "shop.example") is None


def test_a_domain_that_failed_has_a_page(cast_root):
    found = domain_page(cast_root, SURVEY, "dead.example")
    assert found["names"] == {"rows": [], "total": 0, "page": 1, "pages": 1}
    assert found["servers"] == found["depends"] == found["labels"] == []


def test_a_name_page_holds_all_evidence(cast_root):
    found = name_page(cast_root, SURVEY, "blog.example")
    assert (found["domain"], found["technique"], found["class"]) == (
        "blog.example",
        "listed",
        "aws only",
    )
    lookup = found["lookups"][0]
    assert [r["type"] for r in lookup["answers"]] == ["CNAME", "CNAME", "A"]
    assert lookup["answers"][0]["data"] == "b.herokussl.com"
    assert (lookup["resolver"], lookup["rtt_ms"]) == ("192.0.2.53:53", 4.2)
    assert lookup["at"] == datetime(2013, 3, 27, 12, tzinfo=UTC)
    place = found["placements"][0]
    assert (place["address"], place["prefix"], place["service"]) == (
        "23.20.0.5",
        "23.20.0.5/32",
        "EC2",
    )
    assert (place["services"], place["as_of"]) == (["EC2", "AMAZON"], date(2013, 3, 29))
    assert [(f["label"], f["rule"], f["evidence"]) for f in found["fronts"]] == [
        ("elb", "aws-elb", "why"),
        ("heroku-elb", "aws-heroku-elb", "why"),
    ]


@pytest.mark.parametrize(
    ("name", "label"),
    [("mail.shop.example", ""), ("old.shop.example", ""), ("h.blog.example", "aws + other")],
)
def test_every_found_name_has_a_page(cast_root, name, label):
    assert name_page(cast_root, SURVEY, name)["class"] == label


def test_a_name_server_alone_has_no_name_page(cast_root):
    assert name_page(cast_root, SURVEY, "ns1.news.example") is None
    assert name_page(cast_root, SURVEY, "ns1.route.example") is None


def test_a_name_that_failed_shows_its_failure(tmp_path):
    broken = Name("b.d.example", (), (), (), DnsStatus.SERVFAIL)
    root = write_lake(tmp_path, [Domain("d.example", 1, (broken,))])
    found = name_page(root, SURVEY, "B.D.example ")
    assert [r["status"] for r in found["lookups"]] == ["SERVFAIL"]
    assert found["placements"] == found["fronts"] == []


def test_a_name_in_two_domains_has_one_page(tmp_path):
    twice = vm("www.d.example", virginia(1))
    domains = [Domain("d.example", 1, (twice,)), Domain("www.d.example", 2, (twice,))]
    found = name_page(write_lake(tmp_path, domains), SURVEY, "www.d.example")
    assert found["domain"] == "www.d.example"
    assert len(found["placements"]) == len(found["fronts"]) == 1
    assert len(found["lookups"]) == 2


def test_pages_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "NAMES_PER_PAGE", 2)
    names = tuple(vm(f"n{i}.d.example", virginia(i)) for i in range(5))
    root = write_lake(tmp_path, [Domain("d.example", 1, names)])
    pages = [domain_page(root, SURVEY, "d.example", page)["names"] for page in (1, 2, 3)]
    assert [[r["name"][1] for r in p["rows"]] for p in pages] == [["0", "1"], ["2", "3"], ["4"]]
    assert {(p["total"], p["pages"]) for p in pages} == {(5, 3)}


@pytest.mark.parametrize(("asked", "given"), [(-3, 1), (0, 1), (99, 3)])
def test_a_page_out_of_range_is_the_nearest(tmp_path, monkeypatch, asked, given):
    monkeypatch.setattr(profiles, "NAMES_PER_PAGE", 2)
    names = tuple(vm(f"n{i}.d.example", virginia(i)) for i in range(5))
    root = write_lake(tmp_path, [Domain("d.example", 1, names)])
    found = domain_page(root, SURVEY, "d.example", asked)["names"]
    assert (found["page"], found["total"], len(found["rows"]) > 0) == (given, 5, True)


def test_servers_without_end_are_cut(tmp_path):
    servers = tuple((f"ns{i:04}.d.example", (outside(1),)) for i in range(600))
    root = write_lake(tmp_path, [Domain("d.example", 1, (), servers)])
    found = domain_page(root, SURVEY, "d.example")
    assert len(found["servers"]) == profiles.MAX_SERVER_ROWS
    assert len(found["name_servers"]) == 600


def test_domains_are_listed_by_rank(cast_root):
    found = domain_list(cast_root, SURVEY)
    assert [(r["rank"], r["domain"].partition(".")[0], r["cloud"]) for r in found["rows"]] == [
        (1, "news", 3),
        (2, "blog", 5),
        (3, "shop", 5),
        (4, "quiet", 0),
        (5, "dead", 0),
    ]
    assert found["total"] == 5


@pytest.mark.parametrize(
    ("text", "domains"),
    [
        ("SHOP", ["shop.example"]),
        (" e ", ["news", "blog", "shop", "quiet", "dead"]),
        ("%", []),
        ("'", []),
    ],
)
def test_domains_are_searched_as_plain_text(cast_root, text, domains):
    found = domain_list(cast_root, SURVEY, text)["rows"]
    assert [r["domain"] for r in found] == [d if "." in d else f"{d}.example" for d in domains]


def test_names_are_searched_closest_first(cast_root):
    found = search_names(cast_root, SURVEY, "shop.example", limit=3)
    assert [r["name"] for r in found] == ["shop.example", "api.shop.example", "img.shop.example"]
    assert found[0]["domain"] == "shop.example"


@pytest.mark.parametrize("text", ["", "  ", "_", "%", "ns1.route"])
def test_a_search_for_nothing_known_is_empty(cast_root, text):
    assert search_names(cast_root, SURVEY, text) == []


def test_only_the_shards_of_the_manifest_are_shown(cast_root):
    assert domain_page(cast_root, SURVEY, "shop.example", shards=[]) is None
    assert domain_list(cast_root, SURVEY, shards=[])["rows"] == []
