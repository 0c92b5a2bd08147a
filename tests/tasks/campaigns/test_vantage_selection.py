"""Vantage points by place and network: what entries select, and which are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from tasks.campaigns import commands
from tasks.campaigns.vantage_selection import expand, is_selection
from tests.tasks.campaigns.field import join, targets
from webapp.store.access.visibility import OPERATOR
from webapp.store.models import Campaign, VantagePoint

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def points():
    germany = {"country": "DE", "continent": "EU"}
    join("berlin-1", "berlin-2", city="Berlin", provider="Comcast", asn=7922, **germany)
    join("bonn", city="Bonn", provider="Telekom", asn=3320, **germany)
    join("seattle", city="Seattle", country="US", provider="Comcast", asn=7922)
    cloud = {"cloud": {"provider": "aws", "region": "us-east-1"}}
    join("inside", city="Ashburn", country="US", detail=cloud)
    join("model", country="DE", city="Berlin", source=VantagePoint.Source.SYNTHETIC)
    join("gone", country="DE", city="Berlin")
    VantagePoint.objects.filter(name="gone").update(state="revoked")
    Campaign.objects.create(slug="first", vantages=["bonn", "seattle"], schedule={}, targets=[])


@pytest.mark.parametrize(
    ("entries", "names"),
    [
        (["seattle", "bonn"], ["seattle", "bonn"]),
        (["country:de"], ["berlin-1", "berlin-2", "bonn"]),
        (["country:DE*2"], ["berlin-1", "berlin-2"]),
        (["AS7922"], ["berlin-1", "berlin-2", "seattle"]),
        (["as7922+city:Seattle"], ["seattle"]),
        (["Comcast+Seattle"], ["seattle"]),
        (["continent:EU+network:tele"], ["bonn"]),
        (["cloud:aws/us-east-1"], ["inside"]),
        (["source:synthetic"], ["model"]),
        (["from:first"], ["bonn", "seattle"]),
        (["country:DE*2", "rotate:first"], ["berlin-1", "berlin-2"]),
        (["AS7922", "rotate:first", "inside"], ["berlin-1", "berlin-2", "inside"]),
        # What an entry before it selected counts for no other.
        (["city:Berlin*1", "country:DE*2"], ["berlin-1", "berlin-2", "bonn"]),
    ],
)
def test_entries_select_those_that_accept_work(entries, names):
    assert expand(entries, OPERATOR) == names


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        (["country:FR"], "no vantage point that accepts work is 'country:FR'"),
        (["planet:Mars"], "the keys are country"),
        (["country:"], "selects nothing"),
        (["from:nothing"], "'nothing' is not a campaign"),
        (["rotate:first"], "beside those to leave out"),
        (["AS3320", "rotate:first"], "no vantage point"),
    ],
)
def test_entries_that_select_nothing_are_refused(entries, reason):
    with pytest.raises(BadInput, match=reason) as caught:
        expand(entries, OPERATOR)
    assert caught.value.field == "vantages"


def test_a_plan_has_the_selected_names():
    asked = {"preset": "latency", "targets": targets(1), "vantages": ["country:DE*2", "seattle"]}
    assert commands.plan(asked).plan.vantages == ("berlin-1", "berlin-2", "seattle")


@given(st.from_regex(r"[A-Za-z0-9_-]{1,20}", fullmatch=True))
def test_names_are_no_selections_unless_they_are_as_numbers(name):
    assert is_selection(name) == (
        name[:2].upper() == "AS" and name[2:].isdigit() and len(name) < 13
    )
