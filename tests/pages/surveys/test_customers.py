"""Uploaded countries of customers: by page and API to the report, and nobody else's."""

import gzip
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tasks.platform import leased_rows
from tasks.surveys import derived_tasks, observation
from tasks.surveys.worlds import WorldOptions, create_world
from webapp.store.models import CustomerFile, Survey
from webapp.store.surveys import selectors

OPTIONS = WorldOptions(name="audits", scale="1/60")


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any, django_db_setup: None, django_db_blocker: Any) -> Any:
    """A survey of an account in a folder of its own, once for the module."""
    from django.conf import settings
    from django.db import transaction

    folder = tmp_path_factory.mktemp("customers")
    before = settings.DATA_DIR, settings.LAKE_DIR, settings.UPLOADS_DIR
    settings.DATA_DIR, settings.LAKE_DIR = folder, folder / "lake"
    settings.UPLOADS_DIR = folder / "uploads"
    with django_db_blocker.unblock(), transaction.atomic():
        anna = get_user_model().objects.create_user("anna")
        survey = observation.observe_world(create_world(OPTIONS), OPTIONS, "Hers")
        Survey.objects.filter(pk=survey.pk).update(owner=anna, maker=anna)
        yield anna, Survey.objects.get(pk=survey.pk)
        transaction.set_rollback(True)
    settings.DATA_DIR, settings.LAKE_DIR, settings.UPLOADS_DIR = before


@pytest.fixture
def site(made: Any, db: None, monkeypatch: pytest.MonkeyPatch) -> tuple[Client, Survey, list[int]]:
    """The owner's client, the survey, and what was queued instead of a broker."""
    anna, survey = made
    queued: list[int] = []
    monkeypatch.setattr(leased_rows, "queue", lambda task, pk: queued.append(pk))
    client = Client()
    client.force_login(anna)
    return client, survey, queued


def domains(survey: Survey) -> list[str]:
    """The domains of the survey that use a cloud."""
    report = selectors.report(survey.slug, "top-domains")
    assert report is not None
    at = report.columns.index("domain")
    return [row[at] for row in report.rows]


def known_by_import(survey: Survey) -> int:
    report = selectors.report(survey.slug, "customers")
    assert report is not None
    rows = [dict(zip(report.columns, row, strict=True)) for row in report.rows]
    return max(row["known"] for row in rows if row["basis"] == "import")


def test_it_works(site: Any, django_capture_on_commit_callbacks: Any) -> None:
    client, survey, queued = site
    path = f"/s/{survey.slug}/customers/"
    lines = [f"{domain},DE,{n + 1}" for n, domain in enumerate(domains(survey))]
    text = "\n".join(["domain,country,weight", *lines])
    file = SimpleUploadedFile("shares.csv.gz", gzip.compress(text.encode()))
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(path, {"action": "upload", "file": file})
    assert answer.status_code == 302
    assert "being computed again" in client.get(path).content.decode()
    derived_tasks.report_customers(queued[0])
    assert known_by_import(survey) > 0
    page = client.get(path).content.decode()
    assert "shares.csv.gz" in page
    assert "shares.csv.gz" not in Client().get(path).content.decode()
    state = client.get(f"/api/v1/surveys/{survey.slug}/customers").json()
    assert (state["state"], state["rows"]) == ("finished", len(lines))
    with django_capture_on_commit_callbacks(execute=True):
        assert client.delete(f"/api/v1/surveys/{survey.slug}/customers").status_code == 202
    derived_tasks.report_customers(queued[1])
    assert known_by_import(survey) == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("domain,country\na.example,Germany\n", "line 2: 'Germany' is not a country code"),
        ("domain,country,weight\na.example,DE,-1\n", "line 2: weight must not be negative"),
        ("domain,country\n", "no rows"),
    ],
)
def test_a_refusal_names_the_line(site: Any, text: str, words: str) -> None:
    client, survey, queued = site
    body = {"text": text}
    path = f"/api/v1/surveys/{survey.slug}/customers"
    answer = client.post(path, body, content_type="application/json")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    file = SimpleUploadedFile("shares.csv", text.encode())
    page = client.post(f"/s/{survey.slug}/customers/", {"action": "upload", "file": file})
    assert page.status_code == 422
    assert words.partition(": ")[2][:12] in page.content.decode().replace("&#x27;", "'")
    assert not queued
    assert not CustomerFile.objects.exists()


def test_it_is_changed_by_its_managers_alone(site: Any) -> None:
    _, survey, queued = site
    bert = Client()
    bert.force_login(get_user_model().objects.create_user("bert"))
    body = {"text": "domain,country\na.example,DE\n"}
    path = f"/api/v1/surveys/{survey.slug}/customers"
    assert bert.post(path, body, content_type="application/json").status_code == 404
    assert bert.get(f"/s/{survey.slug}/customers/").status_code == 404
    Survey.objects.filter(pk=survey.pk).update(owner=None)
    assert bert.post(path, body, content_type="application/json").status_code == 403
    assert bert.post(f"/s/{survey.slug}/customers/", {"action": "remove"}).status_code == 403
    assert bert.get(f"/s/{survey.slug}/customers/").status_code == 200
    assert not queued
