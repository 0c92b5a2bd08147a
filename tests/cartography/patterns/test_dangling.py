"""Aliases whose target does not exist."""

import pytest

from cartography.patterns import find_dangling
from cartography.placement.cloud_table import PrefixTable
from cartography.placement.placement import place_lookups
from core.records import Answer, Lookup, Record
from core.statuses import DnsStatus, Technique

NAME = "old.example.com"


def answer(*chain, status=DnsStatus.NXDOMAIN, type="A"):
    owners = (NAME, *chain)
    records = tuple(Record(a, "CNAME", 60, b) for a, b in zip(owners, chain, strict=False))
    return Answer(NAME, type, status, records, resolver="192.0.2.53:53")


def found(*answers):
    return [(f.label, f.rule, f.instance) for f in find_dangling(answers)]


def test_it_works():
    (front,) = find_dangling([answer("shop.azurewebsites.net")])

    assert (front.name, front.provider, front.label) == (NAME, "azure", "dangling-claimable")
    assert (front.rule, front.instance) == ("azure-app-service", "shop.azurewebsites.net")
    assert front.evidence == (
        "CNAME shop.azurewebsites.net (record 1 of the A answer): NXDOMAIN from 192.0.2.53:53"
    )


def test_a_crawl_reports_it_without_an_address():
    lookup = Lookup("example.com", Technique.WORDLIST, answer("shop.azurewebsites.net"))
    placed = place_lookups([lookup], PrefixTable.build([]))

    assert [(d, f.label) for d, f in placed.fronts] == [("example.com", "dangling-claimable")]
    assert placed.placements == []


def test_names_that_nobody_can_have_are_dangling_all_the_same():
    assert found(answer("lb-1.us-east-1.elb.amazonaws.com")) == [
        ("dangling", "aws-elb", "lb-1.us-east-1.elb.amazonaws.com")
    ]


def test_a_rule_that_needs_another_does_not_speak_for_the_missing_name_alone():
    assert found(answer("shop.herokuapp.com")) == [
        ("dangling-claimable", "aws-heroku", "shop.herokuapp.com")
    ]


def test_the_end_of_the_chain_is_what_is_missing():
    chain = answer("shop.trafficmanager.net", "shop.westeurope.cloudapp.azure.com")

    assert [rule for _, rule, _ in found(chain)] == ["azure-vm-name"]


def test_both_types_are_one_finding():
    pair = answer("shop.azurefd.net"), answer("shop.azurefd.net", type="AAAA")

    assert len(found(*pair)) == 1


@pytest.mark.parametrize("status", [s for s in DnsStatus if s != DnsStatus.NXDOMAIN])
def test_only_a_target_that_does_not_exist_is_missing(status):
    assert found(answer("shop.azurewebsites.net", status=status)) == []


def test_a_target_of_no_provider_is_no_finding():
    assert found(answer("gone.example.net"), answer()) == []
