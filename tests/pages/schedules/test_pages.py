"""Pages of schedules and alerts: forms, the time line, the log, what only an owner opens."""

import pytest
from django.test import Client

from tests.tasks.schedules import cast
from tests.tasks.schedules.receivers import Receiver, serving
from webapp.store.models import AlertDelivery, AlertEndpoint, Schedule, ScheduleRun
from webapp.store.schedules import endpoints, events

pytestmark = pytest.mark.django_db
SURVEY = {
    "name": "Nightly",
    "domains": "alder.test\nbirch.test",
    "every": "day",
    "at": "02:30",
    "weekday": "1",
    "time_zone": "Europe/Oslo",
}
ENDPOINT = {
    "name": "Pager",
    "format": "webhook",
    "target": "https://alerts.example.com/hook",
    "kinds": ["no-data", "region-changed"],
    "time_zone": "UTC",
    "quiet_after": "3",
}


@pytest.fixture
def anna():
    return cast.account()


@pytest.fixture
def client(anna):
    found = Client()
    found.force_login(anna)
    return found


def page(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_schedule_is_made_paused_resumed_run_and_deleted(client, anna):
    assert "No schedule yet" in page(client, "/schedules/")
    answer = client.post("/schedules/new/?kind=survey", SURVEY)
    row = Schedule.objects.get()
    assert answer["Location"] == f"/schedules/{row.slug}/"
    assert (row.owner, row.cron, row.time_zone) == (anna, "30 2 * * *", "Europe/Oslo")
    assert "at 02:30 every day (Europe/Oslo)" in page(client, "/schedules/")
    for action, is_active in (("pause", False), ("resume", True)):
        client.post(f"/schedules/{row.slug}/{action}/")
        row.refresh_from_db()
        assert (row.is_active, row.next_due is not None) == (is_active, is_active)
    assert client.post(f"/schedules/{row.slug}/run/").status_code == 302
    assert "starts within a minute" in page(client, f"/schedules/{row.slug}/")
    again = client.post(f"/schedules/{row.slug}/run/")
    assert again.status_code == 409
    assert "in progress already" in again.content.decode()
    client.post(f"/schedules/{row.slug}/delete/")
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("changed", "cron"),
    [
        ({"every": "week", "weekday": "5"}, "30 2 * * 5"),
        ({"every": "month"}, "30 2 1 * *"),
        ({"every": "cron", "cron": "0 6 * * 1-5"}, "0 6 * * 1-5"),
        ({"every": "hours", "hours": "6"}, ""),
    ],
)
def test_every_way_of_recurring(client, changed, cron):
    client.post("/schedules/new/?kind=survey", SURVEY | changed)
    row = Schedule.objects.get()
    assert row.cron == cron
    assert row.interval_minutes == (None if cron else 360)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"every": "cron", "cron": "*/5 * * * *"}, "more often than every 60 minutes"),
        ({"every": "cron", "cron": "x"}, "five fields"),
        ({"every": "cron"}, "Fill this in"),
        ({"time_zone": "Mars/Base"}, "not an IANA time zone"),
        ({"domains": ""}, "one of the two"),
        ({"domains": "_"}, "id_domains_error"),
        ({"at": "25:00"}, "valid time"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field(client, changed, words):
    answer = client.post("/schedules/new/?kind=survey", SURVEY | changed)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Schedule.objects.exists()


@pytest.mark.parametrize("kind", ["survey", "campaign", "audit"])
def test_the_form_of_each_kind(client, kind):
    assert "Create the schedule" in page(client, f"/schedules/new/?kind={kind}")


def test_an_audit_of_pasted_domains_recurs(client):
    asked = SURVEY | {"policy": "resilience"}
    assert client.post("/schedules/new/?kind=audit", asked).status_code == 302
    row = Schedule.objects.get()
    assert (row.kind, row.request["policy"]) == ("audit", "resilience")


def test_the_time_line_shows_what_changed(client, anna):
    row = cast.schedule(anna)
    cast.happen(row, 0)
    cast.happen(row, 1, cast.change("<b>x</b>.test", before="eu-west-1", after="us-east-1"))
    cast.happen(row, 2)
    nothing = events.Change("no-data", after="no server answers")
    run = cast.happen(row, 3, nothing, state="failed")
    ScheduleRun.objects.filter(pk=run.pk).update(error="no server answers", missed=4)
    text = page(client, f"/schedules/{row.slug}/")
    assert "Regions changed: 1" in text
    assert "<b>x" not in text
    assert "first run, nothing to compare with" in text
    assert "no server answers" in text
    assert "4 due times missed" in text


def test_an_endpoint_shows_its_secret_once_and_logs_what_is_sent(client, anna, settings):
    with serving(Receiver()) as receiver:
        settings.WEBHOOK_TEST_TARGETS = [receiver.place]
        answer = client.post("/alerts/", ENDPOINT | {"target": receiver.url})
        row = AlertEndpoint.objects.get()
        secret = endpoints.secret_of(row.seed)
        assert secret in answer.content.decode()
        assert "no-store" in answer["Cache-Control"]
        assert secret not in page(client, f"/alerts/{row.slug}/")
        client.post(f"/alerts/{row.slug}/test/")
        row.refresh_from_db()
        cast.deliver_all(cast.StoreClock(AlertDelivery.objects.get().queued_at))
        assert len(receiver.received) == 1
    text = page(client, f"/alerts/{row.slug}/")
    assert "Test message" in text
    assert "delivered" in text
    message = AlertDelivery.objects.get().message_id
    client.post(f"/alerts/{row.slug}/deliveries/{message}/resend/")
    assert cast.waiting() == 1
    new = client.post(f"/alerts/{row.slug}/secret/").content.decode()
    row.refresh_from_db()
    assert endpoints.secret_of(row.seed) in new
    assert secret not in new


def test_settings_of_an_endpoint_are_changed(client, anna):
    row = cast.endpoint(anna, "https://alerts.example.com/")
    changed = ENDPOINT | {"kinds": ["no-data"], "digest_hour": "7", "time_zone": "Europe/Oslo"}
    assert client.post(f"/alerts/{row.slug}/", changed).status_code == 302
    row.refresh_from_db()
    assert (row.name, row.kinds, row.digest_hour) == ("Pager", ["no-data"], 7)
    assert row.next_digest is not None
    answer = client.post(f"/alerts/{row.slug}/", changed | {"target": "https://127.0.0.1/"})
    assert answer.status_code == 422
    assert "nothing is sent there" in answer.content.decode().lower()
    for action, state in (("disable", "disabled"), ("enable", "active")):
        client.post(f"/alerts/{row.slug}/{action}/")
        row.refresh_from_db()
        assert row.state == state
    client.post(f"/alerts/{row.slug}/delete/")
    assert not AlertEndpoint.objects.exists()


def test_the_target_of_a_slack_webhook_is_not_shown(client, anna):
    row = cast.endpoint(anna, "https://hooks.slack.example/services/T0/B0/key", format="slack")
    for path in ("/alerts/", f"/alerts/{row.slug}/"):
        assert "services/T0" not in page(client, path)
    asked = ENDPOINT | {"target": endpoints.shown_target(row), "name": "Chat"}
    assert client.post(f"/alerts/{row.slug}/", asked).status_code == 302
    kept = AlertEndpoint.objects.get()
    assert (kept.name, kept.target) == ("Chat", row.target)


def test_an_address_is_confirmed_by_its_link(anna, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    row = cast.endpoint(anna, "ops@example.org", format="email")
    stranger, path = Client(), f"/alerts/confirm/{endpoints.confirmation_of(row)}/"
    # Scanners of mail open links: only a form confirms.
    assert "Send alerts to ops@example.org?" in page(stranger, path)
    row.refresh_from_db()
    assert row.state == "unconfirmed"
    assert "will be sent" in stranger.post(path).content.decode()
    row.refresh_from_db()
    assert row.state == "active"
    assert stranger.get(path).status_code == 404
    assert stranger.get("/alerts/confirm/x:y:z/").status_code == 404


def test_without_a_mail_server_an_address_is_refused(client):
    answer = client.post("/alerts/", ENDPOINT | {"format": "email", "target": "a@example.org"})
    assert answer.status_code == 422
    assert "sends no e-mail" in answer.content.decode()
