"""Pages of beacons: a new one, what it has collected, and who may see it."""

import pytest
from django.test import Client

from tests.pages.screening.screening_cast import make_person
from webapp.store.models import Beacon
from webapp.store.recommendations import beacons

pytestmark = pytest.mark.django_db
GIVEN = {
    "name": "Shop",
    "targets": "aws/us-east-1 https://us.example.com/e\n\naws/eu-west-1, https://eu.example.com/e",
    "origins": "https://www.example.com",
    "percent": "5",
}


@pytest.fixture
def owner():
    client = Client()
    client.force_login(make_person("beacons@example.org"))
    return client


def test_a_beacon_is_made_and_shows_what_it_has_collected(owner):
    page = owner.post("/beacons/", GIVEN)["Location"]
    row = Beacon.objects.get()
    assert page == f"/beacons/{row.key}/"
    assert (row.sample_share, len(row.targets)) == (0.05, 2)
    text = owner.get(page).content.decode()
    assert "nothing has arrived yet" in text
    assert f"/beacon/{row.key}.js" in text
    for n in range(12):
        beacons.count(row, "DE", [("aws/eu-west-1", 20.0 + n / 10), ("aws/us-east-1", 95.0)])
    beacons.count(row, "", [("aws/us-east-1", 40.0)])
    beacons.count(row, "FR", [("aws/us-east-1", 90.0)])
    text = owner.get(page).content.decode()
    assert "medians of 1 country" in text
    found = {(m.country, m.region): m for m in beacons.medians(row)}
    assert f"{found['DE', 'aws/eu-west-1'].rtt_ms:.1f}" in text
    assert "too few" in text
    assert "not placed" in text
    assert "26" in owner.get("/beacons/").content.decode()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("targets", "aws/us-east-1", "line 1 needs a region and its url"),
        (
            "targets",
            "a https://a.example\na https://b.example",
            "line 2 needs a region that is new",
        ),
        ("targets", "a ftp://a.example", "is not an http or https url"),
        ("origins", "www.example.com", "is not an origin"),
        ("percent", "0", "greater than or equal to 0.01"),
        ("name", "", "required"),
    ],
)
def test_a_wrong_field_says_what_is_wrong(owner, field, value, says):
    reply = owner.post("/beacons/", {**GIVEN, field: value})
    assert reply.status_code == 422
    assert says in reply.content.decode().lower()
    assert not Beacon.objects.exists()


def test_a_beacon_is_its_owners_alone(owner):
    page = owner.post("/beacons/", GIVEN)["Location"]
    stranger = Client()
    stranger.force_login(make_person("stranger@example.org"))
    assert "Shop" not in stranger.get("/beacons/").content.decode()
    assert stranger.get(page).status_code == 404
    assert stranger.post(f"{page}delete/").status_code == 404
    assert Client().get("/beacons/").status_code == 302
    assert owner.post(f"{page}delete/")["Location"] == "/beacons/"
    assert not Beacon.objects.exists()
