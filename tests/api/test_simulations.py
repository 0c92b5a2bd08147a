"""API of experiments: list, start, poll, cancel, delete; refusals by field."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tasks.platform import leased_rows
from tasks.simulations import celery_tasks

pytestmark = pytest.mark.django_db
BASE = "/api/v1/simulations"


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    """What was queued, instead of a broker."""
    found = []
    monkeypatch.setattr(leased_rows, "queue", lambda task, pk: found.append(pk))
    return found


def start(client, callbacks, **body):
    with callbacks(execute=True):
        return client.post(
            BASE, {"experiment": "topology", **body}, content_type="application/json"
        )


def test_experiments_are_listed_with_their_ranges(client):
    rows = client.get("/api/v1/experiments").json()["results"]
    parameters = {p["name"]: p for p in rows[0]["parameters"]}
    assert parameters["slice_ms"]["maximum"] == 100


def test_a_run_is_started_polled_and_deleted(client, queued, django_capture_on_commit_callbacks):
    answer = start(client, django_capture_on_commit_callbacks, parameters={"k": 4}, seed=9)
    assert answer.status_code == 202
    address = answer["Location"]
    assert client.get(address).json()["status"] == "queued"
    celery_tasks.run(*queued)
    found = client.get(address)
    by_name = {row["name"]: row["value"] for row in found.json()["result"]["results"]}
    assert (by_name["hosts"], found.json()["seed"]) == (16, 9)
    assert client.get(address, headers={"If-None-Match": found["ETag"]}).status_code == 304
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"parameters": {"k": "x"}}, "k"),
        ({"parameters": {"depth": 1}}, "depth"),
        ({"experiment": "nothing"}, "experiment"),
        ({"seed": -1}, "seed"),
        ({"parameters": []}, "parameters"),
    ],
)
def test_a_refusal_names_the_field(client, django_capture_on_commit_callbacks, body, field):
    answer = start(client, django_capture_on_commit_callbacks, **body)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


def test_runs_are_of_their_owner(client, django_capture_on_commit_callbacks):
    anna = Client()
    anna.force_login(get_user_model().objects.create_user("anna"))
    address = start(anna, django_capture_on_commit_callbacks)["Location"]
    assert [row["id"] for row in anna.get(BASE).json()["results"]] == [address.split("/")[-1]]
    assert client.get(BASE).json()["results"] == []
    for ask in (client.get, client.delete):
        assert ask(address).status_code == 404
    assert client.post(f"{address}/cancel").status_code == 404
    assert anna.post(f"{address}/cancel").json()["status"] == "cancelled"


def test_one_more_than_allowed_waits(client, django_capture_on_commit_callbacks):
    answers = [start(client, django_capture_on_commit_callbacks) for _ in range(5)]
    assert [a.status_code for a in answers] == [202, 202, 202, 202, 429]
    assert answers[-1].json()["type"].endswith("open-simulations")
