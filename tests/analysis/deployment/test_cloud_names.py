"""Which names count: found, inside their domain, once."""

from dataclasses import replace

import pytest

from analysis.deployment.cloud_names import count, open_names
from analysis.reporting.summary import names_rows, summarise
from analysis.reporting.survey_tables import compute_tables
from core.records import Answer, Lookup, Record
from core.report_tables import SPECS
from core.statuses import DnsStatus, Technique
from tests.analysis.conftest import by_key, cells
from tests.analysis.deployment.world_cast import (
    CAST,
    CUSTOMERS,
    SHOP,
    SURVEY,
    ZONES,
    Domain,
    Name,
    ireland,
    outside,
    virginia,
    vm,
    write_lake,
)


def totals(tables) -> tuple[int, int]:
    row = by_key(tables["providers"], "class")["total"]
    return row["domains"], row["subdomains"]


def test_it_works(cast_root):
    with open_names(cast_root, SURVEY) as connection:
        assert count(connection, "SELECT count(*) FROM names") == 18
        assert count(connection, "SELECT count(*) FROM cloud") == 13


def test_an_alias_that_leads_nowhere_is_a_name(tmp_path):
    dangling = Name("old.d.example", (), ("gone.example.net",), (), DnsStatus.NXDOMAIN)
    silent = Name("mx.d.example", (), ("mute.example.net",), (), DnsStatus.NODATA)
    root = write_lake(tmp_path, [Domain("d.example", 1, (dangling, silent))])
    assert summarise(root, SURVEY)["names"]["resolved"] == 2


@pytest.mark.parametrize("status", ["SERVFAIL", "TIMEOUT", "CNAME_LOOP", "TRUNCATED"])
def test_a_chain_that_broke_off_is_a_failure(tmp_path, status):
    broken = Name("b.d.example", (), ("half.example.net",), (), DnsStatus(status))
    root = write_lake(tmp_path, [Domain("d.example", 1, (broken,))])
    assert summarise(root, SURVEY)["names"]["resolved"] == 0


def test_name_servers_are_not_names(tmp_path):
    # One inside the domain and in a cloud, one that is another listed domain's own name.
    servers = (("ns1.d.example", (virginia(1),)), ("e.example", (virginia(2),)))
    root = write_lake(tmp_path, [Domain("d.example", 1, (), servers), Domain("e.example", 2)])
    assert summarise(root, SURVEY)["names"]["resolved"] == 0
    assert totals(compute_tables(root, SURVEY)) == (0, 0)


def test_a_name_server_that_was_also_found_is_a_name(tmp_path):
    found = vm("ns1.d.example", virginia(1))
    domain = Domain("d.example", 1, (found,), (("ns1.d.example", (virginia(1),)),))
    root = write_lake(tmp_path, [domain])
    assert summarise(root, SURVEY)["names"]["resolved"] == 1
    assert totals(compute_tables(root, SURVEY)) == (1, 1)


def test_what_does_not_lie_in_the_domain_does_not_count(tmp_path):
    # Glue, a look-alike suffix, and a parent.
    names = (
        vm("ns.other.example", virginia(1)),
        vm("notd.example", virginia(2)),
        vm("example", virginia(3)),
        vm("x.d.example", virginia(4)),
    )
    root = write_lake(tmp_path, [Domain("d.example", 1, names)])
    tables = compute_tables(root, SURVEY)
    assert totals(tables) == (1, 1)
    assert cells(tables["top-domains"], "subdomains", "aws_subdomains") == [(1, 1)]
    assert [row[0] for row in names_rows(root, SURVEY)] == ["x.d.example"]


def test_a_name_in_two_listed_domains_counts_once(tmp_path):
    outer = Domain("d.example", 1, (vm("www.d.example", virginia(1)),))
    inner = Domain("www.d.example", 2, (vm("www.d.example", virginia(1)),))
    root = write_lake(tmp_path, [outer, inner])
    tables = compute_tables(root, SURVEY)
    assert totals(tables) == (2, 1)
    assert tables["regions"].rows == (("aws", "us-east-1", 2, 1, 1.0, 1, 1.0),)
    assert cells(tables["patterns"], "domains", "subdomains")[0] == (2, 1)
    # Its row names the closest of the two.
    assert [row[:2] for row in names_rows(root, SURVEY)] == [("www.d.example", "www.d.example")]


def test_two_observations_of_one_name_are_joined(tmp_path):
    # A rotating server told each domain's crawl another address.
    outer = Domain("d.example", 1, (vm("www.d.example", ireland(1)),))
    inner = Domain("www.d.example", 2, (vm("www.d.example", virginia(1), outside(1)),))
    tables = compute_tables(write_lake(tmp_path, [outer, inner]), SURVEY)
    assert tables["region-counts"].rows == (("aws", 2, 1, 1.0, 1.0),)
    rows = by_key(tables["providers"], "class")
    assert rows["aws + other"]["subdomains"] == 1
    assert (rows["aws only"]["domains"], rows["aws + other"]["domains"]) == (1, 1)


def test_an_ipv6_answer_alone_makes_a_name(tmp_path):
    record = Record("six.d.example", "AAAA", 60, "2600:1f18::1")
    answer = Answer("six.d.example", "AAAA", DnsStatus.NOERROR, (record,))
    domain = Domain("d.example", 1, extra=(Lookup("d.example", Technique.AXFR, answer),))
    assert summarise(write_lake(tmp_path, [domain]), SURVEY)["names"]["resolved"] == 1


def test_only_the_shards_of_the_manifest_count(tmp_path):
    root = write_lake(tmp_path, CAST, per_shard=1)
    tables = compute_tables(root, SURVEY, shards=["000000"])
    assert totals(tables) == (1, 5)
    assert cells(tables["top-regions"], "domain") == [("shop.example",)]


def test_shards_and_their_order_change_nothing(tmp_path, cast_tables):
    root = write_lake(tmp_path, tuple(reversed(CAST)), 1, ZONES, CUSTOMERS)
    assert compute_tables(root, SURVEY) == cast_tables


def test_tables_stand_in_the_agreed_order_with_the_agreed_columns(cast_tables):
    assert list(cast_tables) == [spec.id for spec in SPECS]
    assert all(cast_tables[spec.id].columns == spec.columns for spec in SPECS)


@pytest.mark.parametrize("domains", [(), (Domain("d.example", 1),), (CAST[-1],)])
def test_a_survey_that_found_nothing_gives_empty_tables(tmp_path, domains):
    tables = compute_tables(write_lake(tmp_path, domains), SURVEY)
    assert list(tables) == [spec.id for spec in SPECS]
    assert totals(tables) == (0, 0)
    assert all(table.n == 0 for table in tables.values())
    assert tables["regions"].rows == tables["top-regions"].rows == ()
    assert tables["name-servers"].rows[-1] == ("total", 0, None)


def test_hostile_names_are_only_text(tmp_path):
    names = tuple(
        replace(vm(host, virginia(i)), technique=Technique.AXFR)
        for i, host in enumerate(["'; drop table uses; --.d.example", "%.d.example", "é.d.example"])
    )
    root = write_lake(tmp_path / "it's a lake", [Domain("d.example", 1, names)])
    assert totals(compute_tables(root, SURVEY)) == (1, 3)


def test_a_small_memory_is_enough_for_a_small_lake(tmp_path, cast_tables):
    root = write_lake(tmp_path, CAST, 2, ZONES, CUSTOMERS)
    assert compute_tables(root, SURVEY, memory_mb=64) == cast_tables
    assert SHOP.domain in {row[1] for row in names_rows(root, SURVEY)}


def test_an_observation_elsewhere_makes_a_name_a_hybrid(tmp_path):
    # Only the inner crawl saw the cloud, so the outer domain uses none.
    outer = Domain("d.example", 1, (Name("www.d.example", (outside(1),)),))
    inner = Domain("www.d.example", 2, (vm("www.d.example", virginia(1)),))
    rows = by_key(
        compute_tables(write_lake(tmp_path, [outer, inner]), SURVEY)["providers"], "class"
    )
    assert (rows["aws + other"]["subdomains"], rows["aws only"]["subdomains"]) == (1, 0)
    assert (rows["aws only"]["domains"], rows["total"]["domains"]) == (1, 1)


def test_names_carry_the_zones_that_were_brought(cast_root):
    zones = {row[0]: row[-1] for row in names_rows(cast_root, SURVEY)}
    assert zones["shop.example"] == "us-east-1 a"
    assert zones["pay.shop.example"] == "us-east-1 a|us-east-1 b"
    assert zones["e.blog.example"] == "eu-west-1c"
    # One label for another region, one address told two ways, one told nothing.
    assert zones["blog.example"] == zones["m.blog.example"] == ""
