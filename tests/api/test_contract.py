"""What holds for every operation: lists, quotas, unknown fields, kinds of problems, shapes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import Client

from core.statuses import SurveyState
from webapp.api.framework import events
from webapp.api.framework.files import download
from webapp.api.framework.problem_kinds import KINDS
from webapp.store.access import quotas, tokens
from webapp.store.models import Survey, VantagePoint
from webapp.store.surveys import services

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.django_db


@pytest.fixture
def client(settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.NAME_SERVERS = ["127.0.0.1:9"]
    return Client(raise_request_exception=False)


def make(number=1, **more):
    maker = services.Requester(is_limited=False, **more)
    return [services.create_survey(b"a.example\n", n_words=5, maker=maker) for _ in range(number)]


@pytest.fixture
def anna(client):
    user = get_user_model().objects.create_user("anna")
    _, secret = tokens.issue(user, "cron", "write")
    return user, {"Authorization": f"Bearer {secret}"}


def test_a_list_is_read_page_by_page_and_new_rows_move_nothing(client):
    slugs = [survey.slug for survey in make(7)][::-1]
    found, cursor = [], ""
    while cursor is not None:
        page = client.get("/api/v1/surveys", {"limit": 3, "cursor": cursor}).json()
        assert page["count"] == 7 + len(found) // 3
        found += [row["id"] for row in page["results"]]
        cursor = page["next"]
        make()
    assert found == slugs
    assert client.get("/api/v1/surveys", {"cursor": "gone"}).status_code == 409
    for bad in ({"limit": 0}, {"limit": 1_001}, {"limit": "x"}):
        assert client.get("/api/v1/surveys", bad).status_code == 422


LISTS = [
    "surveys",
    "measurements",
    "measurements/presets",
    "recommendations",
    "wide-area",
    "vantage-points",
    "captures",
    "screening/pools",
    "range-tables",
    "audits",
    "domain-lists",
    "audit-rules",
    "audit-policies",
    "audit-suppressions",
]


@pytest.mark.parametrize("path", LISTS)
def test_every_list_has_a_limit_and_a_cursor(client, path):
    reply = client.get(f"/api/v1/{path}", {"limit": 1})
    document = reply.json()
    assert reply.status_code == 200
    assert {"count", "next", "results"} <= set(document)
    assert len(document["results"]) <= 1
    assert (document["next"] is None) == (document["count"] <= 1)


def test_only_who_made_a_survey_deletes_it(client, anna):
    user, headers = anna
    (own,), (other,) = make(user=user), make()
    path = f"/api/v1/surveys/{own.slug}"
    refused = client.delete(path)
    assert (refused.status_code, "WWW-Authenticate" in refused) == (401, True)
    assert client.delete("/api/v1/surveys/none").content == refused.content
    assert client.delete(f"/api/v1/surveys/{other.slug}", headers=headers).status_code == 403
    assert client.delete(path, headers=headers).status_code == 204
    assert client.get(path, headers=headers).status_code == 404
    assert not Survey.objects.filter(pk=own.pk).exists()


@pytest.mark.parametrize("state", [SurveyState.FINISHED, SurveyState.PARTIAL])
def test_before_the_index_there_is_a_202_that_says_when_to_come_again(client, state):
    (survey,) = make()
    Survey.objects.update(state=state)
    query = {"kind": "provider", "target": "aws"}
    reply = client.get(f"/api/v1/surveys/{survey.slug}/outages.json", query)
    assert (reply.status_code, reply["Retry-After"]) == (202, "2")
    assert reply.json()["status"] == state
    assert client.get("/api/v1/surveys/none/outages.json", query).status_code == 404


@pytest.mark.parametrize("path", ["limits", "surveys", "nothing", "surveys/nothing", "plan"])
def test_every_reply_says_what_is_left(client, settings, anna, path):
    settings.MAX_ACTIVE_SURVEYS, settings.MAX_ACTIVE_SURVEYS_PER_USER = 4, 2
    make(user=anna[0])
    reply = client.get(f"/api/v1/{path}")
    assert reply["RateLimit-Policy"] == '"active-surveys";q=4'
    assert reply["RateLimit"] == '"active-surveys";r=3'
    own = client.get(f"/api/v1/{path}", headers=anna[1])
    assert own["RateLimit"] == '"active-surveys";r=3, "active-surveys-of-yours";r=1'


def test_a_reply_without_a_database_is_a_reply(client, monkeypatch):
    def fail(*_args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(quotas, "active_surveys", fail)
    reply = client.get("/api/v1/surveys")
    assert (reply.status_code, "RateLimit" in reply) == (200, False)
    assert reply["RateLimit-Policy"].startswith('"active-surveys";q=')


def schema(client):
    return client.get("/api/v1/openapi.json").json()


def test_no_body_takes_a_field_that_is_not_known(client, anna):
    document = schema(client)
    checked = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            shape = content.get("application/json", {}).get("schema", {})
            name = shape.get("$ref", "").rpartition("/")[2]
            if not name:
                continue
            found = document["components"]["schemas"][name]
            assert found["additionalProperties"] is False, (method, path)
            checked += 1
    assert checked >= 15
    body = {"domains": ["a.example"], "nonsense": 1}
    reply = client.post("/api/v1/plan", body, content_type="application/json")
    assert (reply.status_code, reply.json()["field"]) == (422, "nonsense")


PARAMETERS = [
    ("get", "surveys", "limit"),
    ("get", "limits", ""),
    ("post", "plan", ""),
    ("get", "surveys/none", ""),
    ("get", "wide-area", "cursor"),
    ("get", "captures/none", ""),
]


@pytest.mark.parametrize(("method", "path", "known"), PARAMETERS)
def test_no_operation_takes_a_parameter_that_is_not_known(client, method, path, known):
    (survey,) = make()
    address = f"/api/v1/{path}".replace("none", survey.slug if "surveys" in path else "none")
    reply = getattr(client, method)(f"{address}?nonsense=1&limitt=2")
    assert (reply.status_code, reply["Content-Type"]) == (422, "application/problem+json")
    document = reply.json()
    assert (document["type"].rpartition("/")[2], document["field"]) == ("invalid-field", "nonsense")
    assert known in document["detail"]
    assert reply["RateLimit"]


def test_describing_the_answers_costs_nothing_before_somebody_asks(client):
    words = "import django, sys; django.setup(); import webapp.urls; {}"
    unwanted = {"webapp.api.framework.examples", "webapp.api.framework.replies.lookup", "pandas"}
    check = f"assert not {unwanted} & set(sys.modules)"
    subprocess.run(
        [sys.executable, "-c", words.format(check)],
        cwd=ROOT,
        check=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "webapp.settings"},
    )


def test_limits_of_a_vantage_point_are_a_body(client):
    operation = schema(client)["paths"]["/api/v1/vantage-points/{name}/limits"]["patch"]
    assert [p["name"] for p in operation["parameters"]] == ["name"]
    assert operation["requestBody"]["required"]
    user = get_user_model().objects.create_user("olga", is_staff=True)
    _, secret = tokens.issue(user, "cron", "write")
    path, headers = "/api/v1/vantage-points/none/limits", {"Authorization": f"Bearer {secret}"}
    kind = "application/json"
    assert client.patch(path, {"rate": 1}, content_type=kind, headers=headers).status_code == 404


def test_every_kind_of_problem_is_explained_where_its_type_leads(client):
    words = ["git", "ls-files", "webapp/**.py", "webapp/*.py"]
    listed = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    used = set()
    calls = re.compile(r"(?:problem|Refusal|Failure|_answer)\(\s*(?:path, )?\d{3}, \"([a-z-]+)\"")
    for name in listed.stdout.split():
        used |= set(calls.findall((ROOT / name).read_text()))
    assert used <= set(KINDS), used - set(KINDS)
    page = client.get("/api/v1/docs").content.decode()
    listed = client.get("/api/v1/problems").json()["results"]
    assert {row["kind"] for row in listed} == set(KINDS)
    for row in listed:
        assert f'href="{row["type"]}"' in page
        assert client.get(row["type"]).json() == row
    address = client.get("/api/v1/surveys/none").json()["type"]
    assert address == "/api/v1/problems/not-found"
    shown = client.get(address, headers={"Accept": "text/html,*/*;q=0.8"})
    assert shown["Content-Type"].startswith("text/html")
    assert KINDS["not-found"].remedy in shown.content.decode()
    assert "Accept" in shown["Vary"]
    assert client.get("/api/v1/problems/nonsense").status_code == 404


def test_an_address_holds_so_many_event_streams(client, monkeypatch):
    monkeypatch.setattr(events, "MOST_STREAMS_EACH", 1)
    (survey,) = make()
    monkeypatch.setitem(events._open, "127.0.0.1", 1)
    path = f"/api/v1/surveys/{survey.slug}/events"
    reply = client.get(path)
    assert (reply.status_code, reply["Retry-After"]) == (429, "30")
    assert json.loads(reply.content)["type"].endswith("/streams")
    assert client.get(path, REMOTE_ADDR="192.0.2.1").status_code == 200


@pytest.mark.parametrize("value", [0, 1, "true", "on", None])
def test_only_truth_values_are_truth_values(client, anna, value):
    (own,) = make(user=anna[0])
    path, kind = f"/api/v1/surveys/{own.slug}/visibility", "application/json"
    reply = client.put(path, {"public": value}, content_type=kind, headers=anna[1])
    assert (reply.status_code, reply.json()["field"]) == (422, "public")
    path = f"/api/v1/surveys/{own.slug}/links"
    reply = client.post(path, {"days": False}, content_type=kind, headers=anna[1])
    assert (reply.status_code, reply.json()["field"]) == (422, "days")


def test_a_state_that_does_not_allow_a_change_is_a_conflict(client):
    user = get_user_model().objects.create_user("olga", is_staff=True)
    _, secret = tokens.issue(user, "cron", "write")
    VantagePoint.objects.create(name="vp-one")
    path, headers = "/api/v1/vantage-points/vp-one", {"Authorization": f"Bearer {secret}"}
    assert client.post(f"{path}/drain", headers=headers).status_code == 409
    assert client.post(f"{path}/resume", headers=headers).status_code == 409


@pytest.mark.parametrize("price", [True, "1.5", [1]])
def test_only_numbers_are_numbers(client, anna, price):
    body = {"name": "p", "price": price}
    path, kind = "/api/v1/screening/pools", "application/json"
    assert client.post(path, body, content_type=kind, headers=anna[1]).status_code == 422
    body["price"] = 1
    assert client.post(path, body, content_type=kind, headers=anna[1]).status_code == 201


def test_a_file_name_of_any_characters_is_a_header_that_can_be_sent():
    header = download("a\x1eb\nĀ.csv", "text/csv", "")["Content-Disposition"]
    assert header.isascii()
    assert header.isprintable()
    assert header.startswith("attachment; filename")
