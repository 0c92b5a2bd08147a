"""REST API of schedules and alerts: what is made, changed, listed and refused."""

import pytest
from django.test import Client
from django.utils import timezone

from tests.tasks.schedules import cast
from webapp.store.access import tokens
from webapp.store.models import AlertDelivery, AlertEndpoint, ScheduleEvent
from webapp.store.schedules import deliveries, endpoints, kinds

pytestmark = pytest.mark.django_db
SURVEY = {
    "name": "Nightly",
    "kind": "survey",
    "request": {"domains": ["alder.test", "birch.test"]},
    "cron": "30 2 * * *",
    "time_zone": "Europe/Oslo",
}
WEBHOOK = {"name": "Pager", "target": "https://alerts.example.com/hook"}


@pytest.fixture
def anna():
    return cast.account()


@pytest.fixture
def call(anna):
    secret = tokens.issue(anna, "test", "write")[1]
    return caller(secret)


def caller(secret):
    client = Client(raise_request_exception=False)

    def ask(method, path, body=None, **headers):
        return getattr(client, method)(
            f"/api/v1{path}",
            body if method == "get" else body or {},
            **({} if method == "get" else {"content_type": "application/json"}),
            headers={"Authorization": f"Bearer {secret}", **headers},
        )

    return ask


def test_a_schedule_from_making_to_deleting(call):
    made = call("post", "/schedules", SURVEY)
    assert made.status_code == 201
    document = made.json()
    path = made["Location"].removeprefix("/api/v1")
    assert document["request"] == {"axfr": True, "aaaa": True, "public": False, "n_lines": 2}
    assert len(document["next_due"]) == 5
    tag = call("get", path)["ETag"]
    assert call("get", path, None, **{"If-None-Match": tag}).status_code == 304
    changed = call("patch", path, {"interval_minutes": 120}).json()
    assert (changed["cron"], changed["interval_minutes"]) == (None, 120)
    assert call("patch", path, {"is_active": False}).json()["next_due"] == []
    run = call("post", f"{path}/runs")
    assert (run.status_code, run.json()["status"]) == (202, "due")
    assert call("post", f"{path}/runs").status_code == 409
    assert call("get", f"{path}/runs").json()["count"] == 1
    assert call("get", f"{path}/events").json()["count"] == 0
    assert call("get", "/schedules").json()["results"][0]["id"] == document["id"]
    assert call("delete", path).status_code == 204
    assert call("get", path).status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"cron": "* * * * *"}, "cron"),
        ({"cron": None}, "cron"),
        ({"time_zone": "Mars/Base"}, "time_zone"),
        ({"interval_minutes": 60}, "cron"),
        ({"request": {}}, "request.domains"),
        ({"request": {"domains": ["alder.test"], "speed": 3}}, "request.speed"),
        ({"request": {"domains": ["alder.test"], "axfr": "no"}}, "request.axfr"),
        ({"request": {"survey": "nothing"}}, "request.survey"),
        ({"kind": "audit", "request": {"survey": "nothing"}}, "request.survey"),
        ({"kind": "audit", "request": {"domains": "alder.test", "policy": "none"}}, "policy"),
        ({"kind": "campaign", "request": {"campaign": "nothing"}}, None),
        ({"kind": "recommendation"}, "kind"),
        ({"name": " "}, "name"),
        ({"owner": "bert"}, "owner"),
    ],
)
def test_what_cannot_recur_is_refused_with_its_field(call, changed, field):
    answer = call("post", "/schedules", SURVEY | changed)
    assert answer.status_code == 422, answer.content
    assert answer.json().get("field") == field


def test_a_list_of_another_survey_is_copied_if_it_is_visible(call, anna, settings, tmp_path):
    from tests.pages import cast as surveys
    from webapp.store.models import Survey

    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    survey = surveys.atlas("Atlas")
    asked = SURVEY | {"request": {"survey": survey.slug}}
    from core.records import DomainEntry
    from webapp.store.surveys.uploads import save_entries

    entries = [DomainEntry(domain=f"d{n}.test", rank=n, line=n) for n in range(survey.n_domains)]
    save_entries(survey.slug, entries)
    made = call("post", "/schedules", asked)
    assert made.json()["request"]["n_lines"] == survey.n_domains
    bert = cast.account("bert")
    Survey.objects.filter(pk=survey.pk).update(owner=bert, maker=bert)
    assert call("post", "/schedules", asked).status_code == 422


def test_an_endpoint_from_making_to_deleting(call, anna):
    made = call("post", "/alert-endpoints", WEBHOOK)
    row = AlertEndpoint.objects.get()
    document = made.json()
    assert document["secret"] == endpoints.secret_of(row.seed)
    assert made["Cache-Control"] == "no-store"
    assert document["kinds"] == sorted(kinds.KINDS)
    path = f"/alert-endpoints/{row.slug}"
    assert "secret" not in call("get", path).json()
    assert "whsec_" not in call("get", "/alert-endpoints").content.decode()
    changed = call("patch", path, {"kinds": ["no-data"], "digest_hour": 7}).json()
    assert (changed["kinds"], changed["digest_hour"]) == (["no-data"], 7)
    assert call("patch", path, {"digest_hour": None}).json()["digest_hour"] is None
    rotated = call("post", f"{path}/secret").json()["secret"]
    assert rotated != document["secret"]
    sent = call("post", f"{path}/test")
    assert (sent.status_code, sent.json()["kind"]) == (202, "test")
    message = sent.json()["id"]
    deliveries.record(AlertDelivery.objects.get(), deliveries.Attempt(True, 200), timezone.now())
    logged = call("get", f"{path}/deliveries").json()["results"]
    assert [one["status"] for one in logged] == ["delivered"]
    again = call("post", f"{path}/deliveries/{message}/resend")
    assert (again.status_code, again.json()["status"]) == (202, "waiting")
    assert call("post", f"{path}/deliveries/none/resend").status_code == 404
    call("patch", path, {"is_active": False})
    assert call("post", f"{path}/test").status_code == 409
    assert call("delete", path).status_code == 204
    assert not AlertDelivery.objects.exists()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"target": "http://alerts.example.com/"}, "target"),
        ({"target": "https://127.0.0.1/"}, "target"),
        ({"target": "https://user:key@example.com/"}, "target"),
        ({"kinds": ["weather"]}, "kinds.0"),
        ({"schedule": "nothing"}, "schedule"),
        ({"time_zone": "nowhere"}, "time_zone"),
        ({"digest_hour": 24}, "digest_hour"),
        ({"format": "email", "target": "a@example.org"}, "format"),
    ],
)
def test_bad_endpoints_are_refused_with_their_field(call, changed, field):
    answer = call("post", "/alert-endpoints", WEBHOOK | changed)
    assert answer.status_code == 422, answer.content
    assert answer.json()["field"] == field


def test_ids_of_events_are_those_of_webhooks(call, anna):
    row = cast.schedule(anna)
    cast.happen(row, 0, cast.change())
    [event] = call("get", f"/schedules/{row.slug}/events").json()["results"]
    assert event["id"] == ScheduleEvent.objects.get().event_id


def test_a_token_that_may_only_read_changes_and_reveals_nothing(anna):
    call = caller(tokens.issue(anna, "reader", "read")[1])
    row = cast.endpoint(anna, "https://alerts.example.com/")
    assert call("get", f"/alert-endpoints/{row.slug}").status_code == 200
    for path in (f"/alert-endpoints/{row.slug}/secret", "/alert-endpoints", "/schedules"):
        assert call("post", path, WEBHOOK).status_code == 403


def test_accounts_have_a_limited_number_of_each(call, anna, monkeypatch):
    monkeypatch.setattr("webapp.store.schedules.endpoints.MAX_ENDPOINTS", 1)
    monkeypatch.setattr("webapp.store.schedules.services.MAX_SCHEDULES", 1)
    for path, body in (("/alert-endpoints", WEBHOOK), ("/schedules", SURVEY)):
        assert call("post", path, body).status_code == 201
        refused = call("post", path, body)
        kind = refused.json()["type"].rpartition("/")[2]
        assert (refused.status_code, kind) == (409, "conflict")
