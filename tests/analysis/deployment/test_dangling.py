"""Aliases that lead nowhere: counted by rule, listed by rank, and told in a sentence."""

from dataclasses import replace

import pytest

from analysis.reporting.checks import check_tables
from analysis.reporting.headlines import headline
from analysis.reporting.survey_tables import compute_tables
from core.statuses import DnsStatus
from tests.analysis.deployment.world_cast import SURVEY, Domain, Name, virginia, vm, write_lake

APP = "shop.azurewebsites.net"
BALANCER = "lb-1.us-east-1.elb.amazonaws.com"


def gone(host: str, target: str, provider: str, label: str) -> Name:
    return Name(host, (), (target,), ((provider, label, (target,)),), DnsStatus.NXDOMAIN)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    names = (
        vm("b.example", virginia(1)),
        gone("old.b.example", APP, "azure", "dangling-claimable"),
        gone("older.b.example", APP, "azure", "dangling-claimable"),
    )
    root = write_lake(
        tmp_path_factory.mktemp("lake"),
        [
            Domain("b.example", 9, names),
            Domain("a.example", 2, (gone("lb.a.example", BALANCER, "aws", "dangling"),)),
            # What a transfer of another zone gave away is nobody's finding here.
            Domain("c.example", 1, (gone("old.elsewhere.example", APP, "azure", "dangling"),)),
        ],
    )
    return compute_tables(root, SURVEY)


def test_it_works(tables):
    rows = [row[:1] + row[2:] for row in tables["dangling"].rows]
    assert rows == [("azure", "yes", 2, 0.666667, 1, 1), ("aws", "no", 1, 0.333333, 1, 1)]
    assert tables["dangling"].n == tables["dangling-names"].n == 3


def test_names_that_anybody_can_have_come_first(tables):
    rows = [(row[0], row[2], row[3], row[-1]) for row in tables["dangling-names"].rows]
    assert rows == [
        (9, "old.b.example", APP, "yes"),
        (9, "older.b.example", APP, "yes"),
        (2, "lb.a.example", BALANCER, "no"),
    ]


def test_the_finding_counts_what_could_be_taken(tables):
    assert headline("dangling", tables) == (
        "3 names have an alias whose target does not exist; 2 of them could be taken over by anyone"
    )
    assert (
        headline("dangling-names", tables) == "Aliases whose target does not exist are in 2 domains"
    )
    assert check_tables(tables) == []


def test_a_survey_without_any_cloud_still_tells_them(tmp_path):
    only = Domain("a.example", 2, (gone("lb.a.example", BALANCER, "aws", "dangling"),))
    found = compute_tables(write_lake(tmp_path, [only]), SURVEY)
    assert headline("dangling", found) == (
        "1 name has an alias whose target does not exist; 0 of them could be taken over by anyone"
    )


def test_a_list_longer_than_its_count_is_found(tables):
    wrong = dict(tables)
    first, *rest = tables["dangling"].rows
    wrong["dangling"] = replace(tables["dangling"], rows=((*first[:3], 1, *first[4:]), *rest))
    assert any("more names with" in complaint for complaint in check_tables(wrong))
