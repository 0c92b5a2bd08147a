"""What the API and the pages say where the disk, the database or a stored file fails."""

import errno
import sqlite3

import pytest
from django.db import OperationalError
from django.test import Client

from core.errors import Damaged
from core.statuses import SurveyState
from lake import parts
from tests.analysis.deployment.world_cast import CAST, SURVEY, write_lake
from webapp.store.models import Shard, Survey
from webapp.store.surveys import evidence, selectors, services

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(settings, tmp_path):
    settings.LAKE_DIR = tmp_path / "lake"
    settings.UPLOADS_DIR = tmp_path / "uploads"
    settings.NAME_SERVERS = ["127.0.0.1:9"]
    return Client(raise_request_exception=False)


@pytest.fixture
def stored(client, settings):
    survey = services.create_survey(b"shop.example\nnews.example\n", name=SURVEY, n_words=5)
    write_lake(settings.LAKE_DIR, CAST, per_shard=9)
    survey.shards.update(state=Shard.State.DONE, key="000000")
    Survey.objects.filter(pk=survey.pk).update(state=SurveyState.FINISHED)
    return survey


def damage(path):
    data = bytearray(path.read_bytes())
    middle = len(data) // 3
    data[middle] ^= 0x55
    path.write_bytes(data)


def rows_of(lake):
    for opened in (parts.open_few(lake, SURVEY, ["lookups"]), parts.open_views(lake, SURVEY)):
        yield opened.execute(
            "SELECT CAST(COLUMNS(*) AS VARCHAR) FROM lookups ORDER BY ALL"
        ).fetchall()


@pytest.mark.parametrize("at", range(4, 700, 20))
def test_no_changed_octet_of_a_part_is_misread(client, stored, settings, at):
    path = parts.parts_of(settings.LAKE_DIR, SURVEY, "lookups")[0]
    before = list(rows_of(settings.LAKE_DIR))
    data = bytearray(path.read_bytes())
    data[at] ^= 0x55
    path.write_bytes(data)
    try:
        after = list(rows_of(settings.LAKE_DIR))
    except Damaged:
        return
    # A few octets of the heads of pages mean nothing to a reader.
    assert after == before


def test_a_damaged_part_is_named_by_api_and_page(client, stored, settings):
    name = "www.shop.example"
    assert client.get(f"/api/v1/surveys/{stored.slug}/names/{name}").status_code == 200
    damage(parts.parts_of(settings.LAKE_DIR, SURVEY, "lookups")[0])
    reply = client.get(f"/api/v1/surveys/{stored.slug}/names/{name}")
    assert (reply.status_code, reply["Content-Type"]) == (500, "application/problem+json")
    assert reply.json()["type"].endswith("/storage")
    assert "lookups/000000.parquet is damaged" in reply.json()["detail"]
    page = client.get(f"/s/{stored.slug}/names/{name}/")
    assert page.status_code == 500
    assert b"lookups/000000.parquet is damaged" in page.content


FAILURES = [
    (OSError(errno.ENOSPC, "No space left on device"), 503, "disk of this site is full"),
    (OperationalError("database or disk is full"), 503, "disk of this site is full"),
    (OperationalError("database is locked"), 503, "database is busy"),
    (OperationalError("database disk image is malformed"), 500, "database is damaged"),
    (PermissionError(errno.EACCES, "Permission denied"), 503, "Permission denied"),
    (sqlite3.OperationalError("x"), 500, "log of the web server"),
    (ZeroDivisionError(), 500, "log of the web server"),
]


@pytest.mark.parametrize(("error", "status", "words"), FAILURES)
def test_failures_are_problems_in_the_api_and_sentences_on_pages(
    client, stored, monkeypatch, error, status, words
):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr(evidence, "name", fail)
    reply = client.get(f"/api/v1/surveys/{stored.slug}/names/www.shop.example")
    assert (reply.status_code, reply["Content-Type"]) == (status, "application/problem+json")
    assert words in reply.json()["detail"]
    assert ("Retry-After" in reply) == (status == 503)
    monkeypatch.setattr(selectors, "surveys", fail)
    page = client.get("/surveys/")
    assert (page.status_code, page["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert words in page.content.decode()


def test_a_full_disk_refuses_a_survey_in_words(client, settings, tmp_path):
    settings.UPLOADS_DIR = "/dev/full/uploads"
    body = {"domains": ["a.example"]}
    reply = client.post("/api/v1/surveys", body, content_type="application/json")
    assert (reply.status_code, reply["Content-Type"]) == (503, "application/problem+json")
    assert Survey.objects.count() == 0


def test_a_failure_in_front_of_the_views_is_a_problem_too(client, monkeypatch):
    from webapp.store.access import tokens

    def fail(*_args):
        raise OperationalError("database is locked")

    monkeypatch.setattr(tokens, "find", fail)
    reply = client.get("/api/v1/limits", headers={"Authorization": "Bearer neph_x"})
    assert (reply.status_code, reply["Retry-After"]) == (503, "5")
    assert reply.json()["type"].endswith("/storage")


def test_an_unknown_address_below_the_api_is_a_problem(client):
    reply = client.get("/api/v1/nothing/here")
    assert (reply.status_code, reply["Content-Type"]) == (404, "application/problem+json")
