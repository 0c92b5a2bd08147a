"""Pages and API of vantage points: what everybody sees, and what only operators see and do."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from webapp.store.models import JoinToken, VantagePoint
from webapp.store.vantages.services import digest

SECRETS = ("192.0.2.7", "op-note", "instance-7", "77.654")
LIST, API = "/vantage-points/", "/api/v1/vantage-points"


@pytest.fixture
def points(db: Any) -> dict[str, VantagePoint]:
    now = timezone.now()
    limits = {"probes_per_s": 200.0, "bytes_per_day": 10**10, "from_hour": 22, "to_hour": 6}
    common: dict[str, Any] = {
        "limits": limits,
        "public_address": "192.0.2.7",
        "note": "op-note",
        "instance": "instance-7",
        "load": {"rss_mb": 77.654},
        "clock_offset_ms": 0.8,
        "clock_doubt_ms": 0.2,
    }
    made = [
        VantagePoint(
            name="oslo",
            state="joined",
            city="Oslo",
            country="NO",
            lat=59.9,
            lon=10.7,
            last_seen_at=now,
            **common,
        ),
        VantagePoint(
            name="late",
            state="joined",
            city="Rome",
            lat=41.9,
            lon=12.5,
            last_seen_at=now - timedelta(seconds=60),
            **common,
        ),
        VantagePoint(
            name="lost",
            state="draining",
            last_seen_at=now - timedelta(hours=5),
            **{**common, "clock_offset_ms": 3_600_000.0},
        ),
        VantagePoint(name="fresh", state="invited", **common),
        VantagePoint(
            name="gp-1", source="globalping", state="joined", city="Lima", lat=-12, lon=-77
        ),
    ]
    VantagePoint.objects.bulk_create(made)
    return {p.name: VantagePoint.objects.get(name=p.name) for p in made}


@pytest.fixture
def operator(db: Any) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("op", password="x", is_staff=True))
    return client


@pytest.fixture
def somebody(db: Any) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_user("ann", password="x"))
    return client


def heading(page: str) -> str:
    found = re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)
    assert found
    return found[1]


def test_the_list_says_how_many_can_measure_and_the_table_does_what_the_map_does(
    client: Client, points: Any
) -> None:
    page = client.get(LIST).content.decode()
    own = "1 of 4 vantage points alive: 2 silent, 1 not joined yet"
    assert heading(page) == f"{own}; 1 of public networks can be asked"
    for name in points:
        assert f"/vantage-points/{name}/" in page
    # Selection is an address, of the mark and of the row alike; what has no place has no mark.
    assert page.count("?point=oslo#map") == 2
    assert page.count("?point=lost#map") == 0
    chosen = client.get(LIST + "?point=oslo&view=europe").content.decode()
    assert "Oslo is online, last contact" in chosen
    assert "is-chosen" in chosen


def test_made_up_places_cannot_measure_and_are_said_not_to(client: Client, points: Any) -> None:
    VantagePoint.objects.exclude(name="gp-1").delete()
    assert heading(text := client.get(LIST).content.decode()) == (
        "1 place of public networks can measure"
    )
    assert "On demand: 1" in text
    VantagePoint.objects.update(source="synthetic")
    assert heading(text := client.get(LIST).content.decode()) == (
        "No live vantage point yet: 1 is synthetic"
    )
    assert "Synthetic: 1" in text
    assert "place--synthetic" in text


def test_one_source_can_be_looked_at_alone(client: Client, points: Any) -> None:
    page = client.get(LIST + "?source=globalping").content.decode()
    assert "/vantage-points/gp-1/" in page
    assert "/vantage-points/oslo/" not in page


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("oslo", "Oslo is online"),
        ("late", "Rome is late"),
        ("lost", "lost is lost: silent for 5\u202fh; its clock is 60\u202fmin ahead"),
        ("fresh", "fresh is invited and has not joined"),
        ("gp-1", "Lima is a place of Globalping"),
    ],
)
def test_each_has_a_page_that_says_whether_it_can_be_counted_on(
    client: Client, points: Any, name: str, words: str
) -> None:
    assert words in heading(client.get(f"{LIST}{name}/").content.decode())


def test_addresses_and_load_are_for_operators(
    client: Client, somebody: Client, operator: Client, points: Any
) -> None:
    for visitor in (client, somebody):
        for address in (LIST, f"{LIST}oslo/", API, f"{API}/oslo"):
            text = visitor.get(address).content.decode()
            assert not [s for s in SECRETS if s in text], address
    assert "192.0.2.7" in operator.get(f"{LIST}oslo/").content.decode()
    assert operator.get(f"{API}/oslo").json()["public_address"] == "192.0.2.7"


def test_those_of_somebody_are_not_there_for_others(
    client: Client, somebody: Client, points: Any
) -> None:
    VantagePoint.objects.filter(name="oslo").update(owner=get_user_model().objects.get())
    assert client.get(f"{LIST}oslo/").status_code == 404
    assert client.get(f"{API}/oslo").status_code == 404
    assert somebody.get(f"{LIST}oslo/").status_code == 200


def test_only_operators_may_change_anything(client: Client, somebody: Client, points: Any) -> None:
    for what in ("drain", "resume", "revoke", "token"):
        assert client.post(f"{LIST}oslo/{what}/").status_code == 302
        assert somebody.post(f"{LIST}oslo/{what}/").status_code == 403
        assert client.post(f"{API}/oslo/{what}").status_code == 401
    assert client.get(f"{LIST}invite/").status_code == 302
    assert somebody.get(f"{LIST}invite/").status_code == 403
    assert client.post(API, {"name": "x"}, "application/json").status_code == 401
    assert set(VantagePoint.objects.values_list("state", flat=True)) == {
        "joined",
        "draining",
        "invited",
    }


def test_operators_drain_and_resume(operator: Client, points: Any) -> None:
    operator.post(f"{LIST}oslo/drain/")
    assert "takes nothing new" in heading(operator.get(f"{LIST}oslo/").content.decode())
    operator.post(f"{LIST}oslo/resume/")
    assert "Oslo is online" in heading(operator.get(f"{LIST}oslo/").content.decode())
    assert operator.post(f"{LIST}fresh/drain/").status_code == 409
    assert operator.post(f"{LIST}oslo/explode/").status_code == 404


def test_an_invitation_shows_its_command_once_and_keeps_a_digest(operator: Client) -> None:
    form = {
        "name": "bern",
        "city": "Bern",
        "country": "ch",
        "continent": "EU",
        "lat": "46.9",
        "lon": "7.4",
        "provider": "",
        "asn": "",
        "probes_per_s": "50",
        "gigabytes_per_day": "1.5",
        "from_hour": "0",
        "to_hour": "24",
    }
    page = operator.post(f"{LIST}invite/", form)
    command = r"tasks\.vantage\.joining http://testserver ([\w-]+)"
    token = re.findall(command, page.content.decode())[0]
    assert "no-store" in page["Cache-Control"]
    point = VantagePoint.objects.get(name="bern")
    assert (point.country, point.limits["bytes_per_day"]) == ("CH", 1_500_000_000)
    # The same in one line with a wheel or a container.
    assert f"nephoscope-vantage http://testserver {token}" in page.content.decode()
    assert f"--folder /var/lib/nephoscope/vantage http://testserver {token}" in unescape(
        page.content.decode()
    )
    assert token not in JoinToken.objects.get().sha256
    assert token not in operator.get(f"{LIST}bern/").content.decode()
    again = operator.post(f"{LIST}invite/", form)
    assert again.status_code == 422
    assert "already" in again.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "Bern!", "a–z"),
        ("name", "invite", "stands for something else"),
        ("lat", "91", "90"),
        ("country", "Norway", "Two letters"),
        ("to_hour", "0", "never measure"),
        ("probes_per_s", "nan", "number"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field(
    operator: Client, field: str, value: str, said: str
) -> None:
    form = {
        "name": "bern",
        "probes_per_s": "50",
        "gigabytes_per_day": "1",
        "from_hour": "0",
        "to_hour": "24",
        "lat": "1",
        "lon": "1",
        field: value,
    }
    answer = operator.post(f"{LIST}invite/", form)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not VantagePoint.objects.exists()


def test_an_empty_site_says_what_a_vantage_point_is_and_how_to_get_one(
    client: Client, operator: Client
) -> None:
    assert "No vantage point yet" in client.get(LIST).content.decode()
    assert "Invite the first" in operator.get(LIST).content.decode()


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x", "limits": {"probes_per_s": -1}},
        {"name": "x", "limits": {"speed": 1}},
        {"name": "x", "limits": {"from_hour": "1"}},
        {"name": "../x"},
        {"name": "join"},
        {"name": "x", "asn": 0},
        {"name": "x", "lat": 1e300},
    ],
)
def test_the_api_refuses_what_cannot_be(operator: Client, body: dict[str, Any]) -> None:
    answer = operator.post(API, body, "application/json")
    assert answer.status_code == 422
    assert answer.json()["field"]
    assert not VantagePoint.objects.exists()


def test_machines_are_told_nothing_without_their_password(client: Client, points: Any) -> None:
    for name in ("oslo", "nobody", "fresh"):
        answer = client.post(
            f"{API}/{name}/presence", {"password": "", "version": ""}, "application/json"
        )
        assert answer.status_code == 401
    assert client.post(f"{API}/join", {"token": "x" * 32}, "application/json").status_code == 403


CHECK = {
    "icmp": "",
    "raw": False,
    "ipv4": True,
    "ipv6": False,
    "mtu": 1400,
    "clock_synchronized": True,
    "clock_error_ms": 2.5,
}


def test_a_self_check_is_stored_with_the_vantage_point_and_shown(
    client: Client, points: Any
) -> None:
    VantagePoint.objects.filter(name="oslo").update(
        secret_sha256=digest("word"), detail={"cloud": {"provider": "aws"}}
    )
    assert "What it can measure" not in client.get("/vantage-points/oslo/").content.decode()

    def report(**fields: Any) -> int:
        body = {"password": "word", "version": "1", **fields}
        address = f"{API}/oslo/presence"
        return client.post(address, body, content_type="application/json").status_code

    assert report(self_check=CHECK) == 200
    # A process of an earlier version reports none, and keeps what is known.
    assert report() == 200
    assert report(self_check={**CHECK, "mtu": 12}) == 422
    assert report(self_check={**CHECK, "icmp": "<b>"}) == 422
    found = client.get(f"{API}/oslo").json()["self_check"]
    assert {k: found[k] for k in CHECK} == CHECK
    assert VantagePoint.objects.get(name="oslo").detail["cloud"] == {"provider": "aws"}
    page = client.get("/vantage-points/oslo/").content.decode()
    assert "What it can measure" in page
    assert "ping_group_range" in page
    assert "1400 octets" in page
    assert "synchronized, within 2.5 ms" in page
