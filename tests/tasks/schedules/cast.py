"""Schedules, endpoints and events for tests, and a clock that stands still."""

from datetime import UTC, datetime, timedelta

from django.contrib.auth import get_user_model

from core.clock import FakeClock
from webapp.store.models import AlertDelivery, Schedule, ScheduleRun
from webapp.store.schedules import deliveries, endpoints, events, services
from webapp.store.schedules.events import Change, Outcome

NOW = datetime(2026, 11, 2, 2, 30, tzinfo=UTC)
SURVEY = {"axfr": True, "aaaa": True, "public": False, "domains": "alder.test\nbirch.test\n"}


class StoreClock(FakeClock):
    """A fake clock whose sleep is the only way in which time passes."""

    def __init__(self, start=NOW):
        super().__init__(start)

    def advance(self, **span):
        self.sleep(timedelta(**span).total_seconds())


def account(name="anna"):
    return get_user_model().objects.create_user(name)


def schedule(owner, name="Nightly", cron="30 2 * * *", request=None, **more):
    recurrence = services.Recurrence(cron=cron, **more)
    before = NOW - timedelta(minutes=1)
    what = (Schedule.Kind.SURVEY, request or SURVEY)
    return services.create_schedule(owner, name, what, recurrence, before)


def endpoint(owner, url, now=NOW, **more):
    given = {"name": "Receiver", "target": url, **more}
    return endpoints.create_endpoint(owner, given, now)


def happen(row, number, *changes, state=ScheduleRun.State.COMPARED):
    """A run of a schedule that ends with these changes; the number is its day."""
    at = NOW + timedelta(days=number)
    run = ScheduleRun.objects.create(schedule=row, due_at=at, state=ScheduleRun.State.STARTED)
    assert events.conclude(run, Outcome(state, changes), at)
    return run


def change(subject="alder.test", kind="region-changed", before="eu-west-1", after="us-east-1"):
    return Change(kind, subject, before, after)


def deliver_all(clock):
    """What the sweep has workers do at this moment."""
    from tasks.schedules import delivery

    for pk in deliveries.due_endpoints(clock.now()):
        delivery.deliver(pk, clock)


def waiting():
    return AlertDelivery.objects.filter(state="waiting").count()
