"""Alerts reach their endpoints: in order, at least once, with one id, whatever fails."""

import base64
import json
import random
import re
import socket
from datetime import timedelta
from pathlib import Path

import pytest

from tasks.schedules import delivery, sending
from tests.sites import free_port
from tests.tasks.schedules import cast
from tests.tasks.schedules.receivers import MailServer, Receiver, serving
from webapp.store.models import AlertDelivery, AlertEndpoint, ScheduleEvent
from webapp.store.schedules import deliveries, endpoints, events, services

pytestmark = pytest.mark.django_db
GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "schedules-and-alerts.md"


@pytest.fixture
def anna():
    return cast.account()


@pytest.fixture
def receiver(settings):
    with serving(Receiver()) as found:
        settings.WEBHOOK_TEST_TARGETS = [found.place]
        yield found


@pytest.fixture
def clock():
    return cast.StoreClock()


def verify(secret, headers, body):
    """As a receiver does, by the snippet of the guide."""
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names = {}
    exec(found[1], names)
    return names["verify"](secret, headers, body, int(headers["webhook-timestamp"]) + 60)


def test_an_event_arrives_signed(anna, receiver, clock):
    row = cast.endpoint(anna, receiver.url)
    secret = endpoints.secret_of(row.seed)
    assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"))) <= 64
    cast.happen(cast.schedule(anna), 0, cast.change())
    cast.deliver_all(clock)
    [(headers, body)] = receiver.received
    event = ScheduleEvent.objects.get()
    assert headers["webhook-id"] == event.event_id
    assert headers["content-type"] == "application/json"
    assert verify(secret, headers, body)
    assert not verify(secret, headers, body + b" ")
    document = json.loads(body)
    assert document["type"] == "region-changed"
    assert document["data"]["subject"] == "alder.test"
    assert (document["data"]["before"], document["data"]["after"]) == ("eu-west-1", "us-east-1")


def test_a_new_secret_signs_beside_the_one_before_for_a_day(anna, receiver, clock):
    row = cast.endpoint(anna, receiver.url)
    old = endpoints.secret_of(row.seed)
    new = endpoints.rotate_secret(row, clock.now())
    night = cast.schedule(anna)
    for number, valid in ((0, [True, True]), (2, [False, True])):
        cast.happen(night, number, cast.change())
        clock.advance(days=number)
        cast.deliver_all(clock)
        headers, body = receiver.received[-1]
        assert [verify(secret, headers, body) for secret in (old, new)] == valid


def test_a_receiver_that_is_down_for_an_hour_gets_everything_in_order(anna, settings, clock):
    port = free_port()
    settings.WEBHOOK_TEST_TARGETS = [f"127.0.0.1:{port}"]
    cast.endpoint(anna, f"http://127.0.0.1:{port}/hook", quiet_after=0)
    night = cast.schedule(anna)
    for number in range(6):
        cast.happen(night, number / 1000, *(cast.change(f"d{n}.test") for n in range(4)))
    wanted = list(ScheduleEvent.objects.order_by("id").values_list("event_id", flat=True))
    for _ in range(60):
        cast.deliver_all(clock)
        clock.advance(minutes=1)
    head = AlertDelivery.objects.order_by("queued_at", "id").first()
    assert head.state == "waiting"
    assert head.attempts > 5
    # What stands behind the first was not tried before it.
    assert AlertDelivery.objects.filter(attempts__gt=0).count() == 1
    with serving(Receiver(port)) as receiver:
        for _ in range(12):
            cast.deliver_all(clock)
            clock.advance(minutes=1)
        assert receiver.ids == wanted
    assert not cast.waiting()


def test_a_lost_acknowledgement_repeats_the_message_with_its_id(anna, receiver, clock):
    row = cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change("a.test"), cast.change("b.test"))
    # A worker that dies between the reply and its note leaves this behind.
    endpoint = deliveries.claim(row.pk, clock.now())
    sending.attempt(endpoint, deliveries.head(endpoint), clock)
    assert deliveries.claim(row.pk, clock.now()) is None
    cast.deliver_all(clock)
    assert len(receiver.ids) == 1
    clock.advance(seconds=61)
    cast.deliver_all(clock)
    first, second = ScheduleEvent.objects.order_by("id").values_list("event_id", flat=True)
    assert receiver.ids == [first, first, second]
    assert receiver.received[0][1] == receiver.received[1][1]


def test_random_failures_lose_and_reorder_nothing(anna, receiver, clock):
    chance = random.Random(7)
    receiver.answer = lambda: (chance.choice([200, 204, 429, 500, 503]), {}, b"")
    cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, *(cast.change(f"d{n}.test") for n in range(30)))
    for _ in range(2_000):
        cast.deliver_all(clock)
        if not cast.waiting():
            break
        clock.advance(minutes=1)
    wanted = list(ScheduleEvent.objects.order_by("id").values_list("event_id", flat=True))
    assert list(dict.fromkeys(receiver.ids)) == wanted
    assert receiver.ids == sorted(receiver.ids, key=wanted.index)


def test_pauses_grow_and_are_short_within_two_hours():
    chance, total = random.Random(1), 0.0
    for attempts in range(1, 40):
        pause = deliveries.pause_s(attempts, chance)
        total += pause
        assert pause <= 600 * 1.2 or total > 2 * 3600


def test_retry_after_is_kept_up_to_an_hour(anna, receiver, clock):
    cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change())
    receiver.status, receiver.headers = 429, {"Retry-After": "1800"}
    cast.deliver_all(clock)
    row = AlertDelivery.objects.get()
    assert row.next_attempt_at == clock.now() + timedelta(minutes=30)
    assert (row.last_status, row.attempts) == (429, 1)


def test_a_message_that_is_refused_again_and_again_makes_way(anna, receiver, clock):
    cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change("a.test"), cast.change("b.test"))
    first = ScheduleEvent.objects.order_by("id").first().event_id
    receiver.answer = lambda: (422 if receiver.ids[-1] == first else 200, {}, b"")
    for _ in range(120):
        cast.deliver_all(clock)
        clock.advance(minutes=1)
    assert receiver.ids.count(first) == deliveries.MAX_REFUSALS
    states = AlertDelivery.objects.order_by("id").values_list("state", flat=True)
    assert list(states) == ["failed", "delivered"]


def test_days_of_silence_end_a_delivery_and_410_disables_the_endpoint(anna, receiver, clock):
    row = cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change())
    receiver.status = 500
    for _ in range(200):
        cast.deliver_all(clock)
        clock.advance(minutes=31)
    assert AlertDelivery.objects.get().state == "failed"
    deliveries.resend(AlertDelivery.objects.get(), clock.now())
    receiver.status = 410
    cast.deliver_all(clock)
    row.refresh_from_db()
    assert (row.state, row.disabled_reason) == ("disabled", "the receiver answered 410 Gone")
    cast.happen(cast.schedule(anna, "Other"), 9, cast.change())
    assert not cast.waiting()


def test_a_message_is_sent_again_with_its_id_and_a_test_message_needs_no_event(
    anna, receiver, clock
):
    row = cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change())
    cast.deliver_all(clock)
    deliveries.resend(AlertDelivery.objects.get(), clock.now())
    deliveries.enqueue_test(row, clock.now())
    cast.deliver_all(clock)
    assert receiver.ids[0] == receiver.ids[1] != receiver.ids[2]
    assert json.loads(receiver.received[2][1])["type"] == "test"
    assert not cast.waiting()


def test_endless_and_slow_replies_are_cut_off(anna, settings, clock, monkeypatch):
    """A reply without end counts as accepted; one that never begins ends in time."""
    monkeypatch.setattr(sending, "TIMEOUT_S", 0.5)
    with socket.socket() as slow:
        slow.bind(("127.0.0.1", 0))
        slow.listen()
        place = f"127.0.0.1:{slow.getsockname()[1]}"
        settings.WEBHOOK_TEST_TARGETS = [place]
        cast.endpoint(anna, f"http://{place}/")
        cast.happen(cast.schedule(anna), 0, cast.change())
        cast.deliver_all(clock)
    assert "no reply" in AlertDelivery.objects.get().last_reason
    with serving(Receiver()) as receiver:
        settings.WEBHOOK_TEST_TARGETS = [receiver.place]
        receiver.answer = lambda: (200, {}, b"x" * 1_000_000)
        AlertEndpoint.objects.update(target=receiver.url)
        clock.advance(minutes=1)
        cast.deliver_all(clock)
    assert AlertDelivery.objects.get().state == "delivered"


def test_two_workers_never_send_to_one_endpoint_at_once(anna, receiver, clock):
    row = cast.endpoint(anna, receiver.url)
    cast.happen(cast.schedule(anna), 0, cast.change())
    first = deliveries.claim(row.pk, clock.now())
    assert delivery.deliver(row.pk, clock) == 0
    deliveries.release(first)
    assert delivery.deliver(row.pk, clock) == 1


def test_endpoints_get_the_kinds_and_schedules_that_they_ask_for(anna, receiver, clock):
    one, other = cast.schedule(anna), cast.schedule(anna, "Other")
    cast.endpoint(anna, receiver.url, kinds=["no-data"])
    endpoints.create_endpoint(anna, {"name": "x", "target": receiver.url}, clock.now(), other)
    cast.endpoint(cast.account("bert"), receiver.url)
    cast.happen(one, 0, cast.change())
    assert not cast.waiting()
    cast.happen(other, 0, cast.change())
    assert cast.waiting() == 1


def test_alerts_about_the_same_matter_stop_after_some_runs(anna, receiver, clock):
    cast.endpoint(anna, receiver.url, quiet_after=3)
    night = cast.schedule(anna)
    nothing = events.Change("no-data", after="no server")
    for number in range(6):
        cast.happen(night, number, nothing, state=services.State.FAILED)
    assert cast.waiting() == 3
    cast.happen(night, 6)
    cast.happen(night, 7, nothing, state=services.State.FAILED)
    assert cast.waiting() == 4
    assert ScheduleEvent.objects.count() == 7


def test_the_same_run_is_concluded_once(anna, receiver):
    cast.endpoint(anna, receiver.url)
    run = cast.happen(cast.schedule(anna), 0, cast.change())
    assert not events.conclude(run, events.Outcome("compared", [cast.change("b.test")]), cast.NOW)
    assert ScheduleEvent.objects.count() == cast.waiting() == 1


def test_a_digest_is_one_message_a_day(anna, receiver, clock):
    cast.endpoint(anna, receiver.url, digest_hour=7, time_zone="Europe/Oslo")
    night = cast.schedule(anna)
    for number in range(2):
        cast.happen(night, number, cast.change("a.test"), cast.change(f"{number}.test"))
        for _ in range(24 * 6):
            deliveries.enqueue_digests(clock.now())
            cast.deliver_all(clock)
            clock.advance(minutes=10)
    # The third day has nothing to tell.
    clock.advance(days=1)
    deliveries.enqueue_digests(clock.now())
    cast.deliver_all(clock)
    bodies = [json.loads(body) for _, body in receiver.received]
    assert [body["type"] for body in bodies] == ["digest", "digest"]
    assert [e["subject"] for e in bodies[1]["data"]["events"]] == ["a.test", "1.test"]
    assert len(set(receiver.ids)) == 2
    # 06:00 UTC is 07:00 in Oslo in November.
    assert bodies[0]["timestamp"] == "2026-11-02T06:00:00+00:00"


def test_slack_gets_one_message_a_run_that_mentions_nobody(anna, receiver, clock):
    cast.endpoint(anna, receiver.url, format="slack")
    hostile = cast.change("<!channel> & <@U1>")
    cast.happen(cast.schedule(anna), 0, hostile, cast.change("b.test"))
    cast.deliver_all(clock)
    [(headers, body)] = receiver.received
    text = json.loads(body)["text"]
    assert "webhook-signature" not in headers
    assert "&lt;!channel&gt; &amp; &lt;@U1&gt;" in text
    assert "<!" not in text
    assert "2 × regions changed" in text


def test_mail_is_sent_once_its_address_is_confirmed(anna, settings, clock):
    with serving(MailServer()) as server:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        settings.EMAIL_USE_TLS = False
        row = cast.endpoint(anna, "ops@example.org", format="email")
        night = cast.schedule(anna)
        cast.happen(night, 0, cast.change())
        assert not cast.waiting()
        assert sending.send_confirmation(row)
        [text] = server.mails
        token = text.split("/alerts/confirm/")[1].split("/")[0].replace("=\r\n", "")
        assert endpoints.find_unconfirmed(token + "x") is None
        endpoints.confirm(endpoints.find_unconfirmed(token))
        assert endpoints.find_unconfirmed(token) is None
        cast.happen(night, 1, cast.change("a.test"), cast.change("b.test"))
        server.refuses = True
        cast.deliver_all(cast.StoreClock(cast.NOW + timedelta(days=1)))
        assert AlertDelivery.objects.get().last_status == 550
        server.refuses = False
        cast.deliver_all(cast.StoreClock(cast.NOW + timedelta(days=1, minutes=1)))
    [_, alert] = server.mails
    assert f"Message-ID: <{AlertDelivery.objects.get().message_id}@" in alert
    assert "a.test" in alert
    assert not cast.waiting()
