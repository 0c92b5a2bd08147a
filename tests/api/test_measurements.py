"""Campaigns over the API: whose they are, what is refused, what is changed."""

import json

import pytest
from django.contrib.auth.models import User

from tests.tasks.campaigns.field import join, targets
from webapp.store.models import Campaign

pytestmark = pytest.mark.django_db
BASE = "/api/v1/measurements"


@pytest.fixture(autouse=True)
def lake(settings, tmp_path):
    settings.LAKE_DIR = settings.DATA_DIR = tmp_path


@pytest.fixture
def anna(client):
    join("v0", "v1")
    user = User.objects.create_user("anna", "anna@example.org", "a long pass phrase")
    client.force_login(user)
    return user


def asked(**more):
    return {"preset": "latency", "targets": targets(3), "vantages": ["v0", "v1"], **more}


def post(client, path, body=None, **headers):
    return client.post(
        f"{BASE}{path}", json.dumps(body or {}), content_type="application/json", headers=headers
    )


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.1", "write it as 127.0.0.1"),
        ("2130706433", "write it as 127.0.0.1"),
        ("017700000001", "write it as 127.0.0.1"),
        ("0x7f.1", "write it as 127.0.0.1"),
        ("134744072", "write it as 8.8.8.8"),
        ("１２７.1", "write it as 127.0.0.1"),
        ("1.2.3.4.5", "neither an address nor a name"),
        ("localhost", "not a public address"),
        ("a.LOCALHOST.", "not a public address"),
        ("192.168.1.1:22", "holds a port"),
    ],
)
def test_an_address_in_disguise_is_named_by_the_plan(client, anna, host, words):
    reply = post(client, "/plan", asked(targets=[{"host": host, "port": 80}]))
    assert (reply.status_code, words in reply.json()["detail"]) == (422, True), reply.json()


@pytest.mark.parametrize("host", ["8.8.8.8", "one.example", "2001:4860::8888", "a1.b2.example"])
def test_other_hosts_are_taken(client, anna, host):
    assert post(client, "/plan", asked(targets=[{"host": host, "port": 80}])).status_code == 200


def slug_of(name):
    """The address of a private campaign, which cannot be guessed from its name."""
    return Campaign.objects.get(name=name).slug


def test_a_campaign_is_planned_started_changed_and_cloned(client, anna):
    plan = post(client, "/plan", asked()).json()
    assert plan["predicted"]["probes"] == 96 * 2 * 3
    assert plan["refusals"] == []
    assert not Campaign.objects.exists()
    made = post(client, "", asked(name="Mine"), **{"Idempotency-Key": "k"})
    assert made.status_code == 201, made.content
    again = post(client, "", asked(name="Mine"), **{"Idempotency-Key": "k"})
    assert again.json()["campaign"] == made.json()["campaign"]
    other = post(client, "", asked(name="Mine", seed=7), **{"Idempotency-Key": "k"})
    assert (other.status_code, other.json()["type"].rpartition("/")[2]) == (
        422,
        "idempotency-key-reused",
    )
    mine = slug_of("Mine")
    assert made["Location"] == f"{BASE}/{mine}"
    one = client.get(f"{BASE}/{mine}")
    assert one.json()["state"] == "waiting"
    assert client.get(f"{BASE}/{mine}", headers={"If-None-Match": one["ETag"]}).status_code == 304
    assert post(client, f"/{mine}/pause").status_code == 409
    assert post(client, f"/{mine}/stop").json()["state"] == "stopped"
    assert client.get(f"{BASE}/{mine}", headers={"If-None-Match": one["ETag"]}).status_code == 200
    copy = post(client, f"/{mine}/clone", {"name": "Less", "vantages": ["v1"], "rounds": 4})
    assert copy.status_code == 201, copy.content
    assert copy.json()["predicted"]["probes"] == 4 * 3
    assert client.get(f"{BASE}/{slug_of('Less')}/coverage").json()["vantages"] == []
    names = [p["name"] for p in client.get(f"{BASE}/presets").json()["results"]]
    assert {"paper-2013", "latency"} <= set(names)


def test_a_campaign_of_somebody_is_there_for_them_alone(client, anna):
    post(client, "", asked(name="Mine"))
    mine = slug_of("Mine")
    for user in (None, User.objects.create_user("bert", "b@example.org", "another pass phrase")):
        client.force_login(user) if user else client.logout()
        assert client.get(f"{BASE}").json()["count"] == 0
        assert client.get(f"{BASE}/{mine}").status_code == 404
        assert client.get(f"{BASE}/{mine}/coverage").status_code == 404
        for action in ("pause", "resume", "stop", "clone"):
            refused = 404 if user else 401
            assert post(client, f"/{mine}/{action}").status_code == refused, action
    client.logout()
    assert post(client, "", asked()).status_code == 401
    assert post(client, "/plan", asked()).status_code == 401


def test_a_public_campaign_is_changed_by_operators_only(client, anna):
    post(client, "", asked(name="Mine"))
    mine = slug_of("Mine")
    Campaign.objects.update(owner=None, maker=None)
    assert client.get(f"{BASE}/{mine}").status_code == 200
    assert post(client, f"/{mine}/stop").status_code == 403
    User.objects.filter(pk=anna.pk).update(is_staff=True)
    assert post(client, f"/{mine}/stop").status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"targets": [{"host": "10.1.2.3"}]},
        {"targets": "127.0.0.1"},
        {"targets": [{"host": "169.254.169.254"}], "allow": ["169.254.0.0/16"]},
        {"allow": ["10.0.0.0/8"]},
        {"vantages": ["v9"]},
        {"preset": "none"},
        {"rounds": 0},
        {"rounds": 10**9},
        {"seed": -1},
        {"starts_at": "soon"},
        {"colour": "red"},
        {"schedule": {"rounds": 1, "activities": [{"probe": "knock"}]}, "preset": ""},
        {"limits": {"bytes_per_target_and_day": -1}},
        {"round_s": 0.05},
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(client, anna, change):
    answer = post(client, "", {**asked(), **change})
    assert answer.status_code == 422, answer.content
    assert answer.json()["detail"]
    assert not Campaign.objects.exists()


def test_an_account_has_limits_that_an_operator_has_not(client, anna):
    schedule = {
        "rounds": 60_000,
        "round_s": 1.4,
        "activities": [{"name": "ping", "probe": "tcp-ping", "slot_s": 0.1}],
    }
    fast = {**asked(), "schedule": schedule}
    fast.pop("preset")
    plan = post(client, "/plan", fast).json()
    assert "probes a day per target are more than the 50,000" in plan["refusals"][0]
    assert post(client, "", fast).status_code == 422
    User.objects.filter(pk=anna.pk).update(is_staff=True)
    assert post(client, "/plan", fast).json()["refusals"] == []
