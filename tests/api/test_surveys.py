import json

import pytest
from django.test import Client

from core.statuses import SurveyState
from tests.analysis.deployment.world_cast import CAST, SURVEY, write_lake
from webapp.store.models import Shard, Survey
from webapp.store.surveys import services

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(settings, tmp_path):
    settings.LAKE_DIR = tmp_path / "lake"
    return Client(raise_request_exception=False)


@pytest.fixture
def finished(client, settings):
    from analysis.reporting import checks, headlines, summary, survey_tables

    survey = services.create_survey(b"shop.example\nnews.example\n", name=SURVEY, n_words=5)
    write_lake(settings.LAKE_DIR, CAST, per_shard=9)
    survey.shards.update(state=Shard.State.DONE, key="000000")
    tables = survey_tables.compute_tables(settings.LAKE_DIR, SURVEY)
    lines = {t: headlines.headline(t, tables) for t in tables}
    services.save_reports(survey, tables, lines, checks.check_tables(tables))
    services.mark_running(survey, [], "")
    services.finish(survey, summary.summarise(settings.LAKE_DIR, SURVEY))
    return survey


def post(client, body, **more):
    return client.post("/api/v1/surveys", json.dumps(body), content_type="application/json", **more)


@pytest.fixture
def servers(settings):
    settings.NAME_SERVERS = ["127.0.0.1:9"]


def test_a_survey_is_taken_and_can_be_followed(client, servers):
    reply = post(client, {"domains": ["a.example", "exa mple", "b_c.de"], "name": "mine"})
    assert reply.status_code == 202
    assert reply["Location"] == "/api/v1/surveys/mine"
    body = reply.json()
    assert (body["status"], body["domains"], body["n_rejected"]) == ("queued", 1, 2)
    found = client.get(reply["Location"])
    assert found.json()["id"] == "mine"
    again = client.get(reply["Location"], headers={"If-None-Match": found["ETag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "other", [{"domains": "b.example"}, {"name": "other"}, {"axfr": False}, {"aaaa": False}]
)
def test_a_key_of_another_request_is_refused(client, servers, other):
    body, key = {"domains": "a.example"}, {"Idempotency-Key": "k1"}
    assert post(client, body, headers=key).status_code == 202
    reply = post(client, body | other, headers=key)
    assert (reply.status_code, reply.json()["type"]) == (
        422,
        "/api/v1/problems/idempotency-key-reused",
    )
    assert post(client, body, headers=key).status_code == 202
    assert Survey.objects.count() == 1


def test_the_same_key_makes_one_survey(client, servers):
    for _ in range(2):
        reply = post(client, {"domains": "a.example"}, headers={"Idempotency-Key": "k1"})
        assert reply.status_code == 202
    assert Survey.objects.count() == 1


def test_limits_are_problems_that_say_which(client, servers, settings):
    settings.MAX_ACTIVE_SURVEYS = 1
    post(client, {"domains": "a.example"})
    reply = post(client, {"domains": "b.example"})
    assert reply.status_code == 429
    assert reply["Content-Type"] == "application/problem+json"
    assert reply["Retry-After"] == "30"
    assert reply.json()["limit"] == "active surveys"


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({"domains": ""}, 422, "empty"),
        ({"domains": ["10.0.0.1"]}, 422, "IP address"),
        ({}, 422, "required"),
    ],
)
def test_unusable_input_is_a_problem_document(client, servers, body, status, reason):
    reply = post(client, body)
    assert (reply.status_code, reply["Content-Type"]) == (status, "application/problem+json")
    assert reason in reply.json()["detail"]
    assert Survey.objects.count() == 0


def test_broken_json_and_unknown_things_are_problems(client, servers):
    reply = client.post("/api/v1/surveys", "{broken", content_type="application/json")
    assert reply.status_code in (400, 422)
    assert reply["Content-Type"] == "application/problem+json"
    reply = client.get("/api/v1/surveys/nothing")
    assert (reply.status_code, reply["Content-Type"]) == (404, "application/problem+json")


def test_every_format_has_the_same_cells(client, finished):
    import io

    import pyarrow.parquet as pq

    base = "/api/v1/surveys/spring/tables/regions"
    whole = client.get(f"{base}.json").json()
    lines = client.get(f"{base}.csv").content.decode().splitlines()
    assert lines[0].split(",") == whole["columns"]
    assert len(lines) - 1 == len(whole["rows"])
    table = pq.read_table(io.BytesIO(client.get(f"{base}.parquet").content))
    assert [list(r.values()) for r in table.to_pylist()] == whole["rows"]
    rows = [json.loads(x) for x in client.get(f"{base}.jsonl").content.decode().splitlines()]
    assert [list(r.values()) for r in rows] == whole["rows"]
    report = client.get("/api/v1/surveys/spring/report.json").json()
    assert report["tables"]["regions"]["rows"] == whole["rows"]
    assert client.get(f"{base}.xlsx").status_code == 404


def test_evidence_and_map(client, finished):
    page = client.get("/api/v1/surveys/spring/domains/shop.example").json()
    assert page["names"]["total"] == 7
    name = client.get("/api/v1/surveys/spring/names/e.blog.example").json()
    assert {f["label"] for f in name["fronts"]} == {"elb", "beanstalk"}
    regions = client.get("/api/v1/surveys/spring/regions.geojson").json()["features"]
    assert regions[0]["properties"]["region"] == "us-east-1"
    assert regions[0]["geometry"]["type"] == "Point"
    assert client.get("/api/v1/surveys/spring/names/absent.com").status_code == 404


def test_a_survey_can_be_cancelled_once(client, servers):
    post(client, {"domains": "a.example", "name": "x"})
    assert client.post("/api/v1/surveys/x/cancel").json()["status"] == SurveyState.CANCELLED
    assert services.claim(Shard.objects.get().pk) is None


def test_events_tell_progress_and_end(client, finished):
    import asyncio

    from webapp.api.framework.events import stream_survey

    async def collect():
        return [part async for part in stream_survey("spring")]

    parts = asyncio.run(collect())
    assert "event: progress" in parts[0]
    assert "event: end" in parts[-1]


test_events_tell_progress_and_end = pytest.mark.django_db(transaction=True)(
    test_events_tell_progress_and_end
)


def test_the_description_is_openapi_3_1(client):
    document = client.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert client.get("/api/v1/docs").status_code == 200
