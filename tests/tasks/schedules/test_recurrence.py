"""The tick: what is due runs once, whatever is missed, killed or refused meanwhile."""

import threading
from datetime import timedelta

import pytest
from django.db import connection

from core.statuses import SurveyState
from tasks.schedules import comparison, recurrence
from tests.pages import cast as surveys
from tests.tasks.schedules import cast
from webapp.store.models import ScheduleEvent, ScheduleRun, Survey
from webapp.store.schedules import services

pytestmark = pytest.mark.django_db
NOW = cast.NOW


@pytest.fixture(autouse=True)
def lake(settings, tmp_path):
    settings.LAKE_DIR, settings.UPLOADS_DIR = tmp_path / "lake", tmp_path / "uploads"
    settings.DATA_DIR = tmp_path


@pytest.fixture
def anna():
    return cast.account()


def tick(now):
    recurrence.tick(now, lambda run: recurrence.conclude_run(run, now))


def end(run, state=SurveyState.FINISHED, like=surveys.empty, **more):
    """The survey of a run ends as one of the cast did."""
    run.refresh_from_db()
    # The survey that was started waits for a worker, and would count towards the limit.
    Survey.objects.filter(pk=run.survey_id).update(state=SurveyState.CANCELLED)
    done = like()
    Survey.objects.filter(pk=done.pk).update(state=state, **more)
    ScheduleRun.objects.filter(pk=run.pk).update(survey=done)


def states():
    return list(ScheduleRun.objects.order_by("due_at", "id").values_list("state", flat=True))


def test_a_due_time_starts_one_survey(anna):
    row = cast.schedule(anna)
    for minutes in range(5):
        tick(NOW + timedelta(minutes=minutes))
    run = ScheduleRun.objects.get()
    assert (run.state, run.due_at) == ("started", NOW)
    assert run.survey.owner == anna
    assert run.survey.name == "Nightly, 2026-11-02 02:30"
    assert Survey.objects.count() == 1
    row.refresh_from_db()
    assert row.next_due == NOW + timedelta(days=1)


def test_missed_due_times_make_one_run(anna):
    row = cast.schedule(anna)
    tick(NOW + timedelta(days=5, hours=3))
    run = ScheduleRun.objects.get()
    assert (run.due_at, run.missed) == (NOW, 5)
    row.refresh_from_db()
    assert row.next_due == NOW + timedelta(days=6)


def test_paused_schedules_and_those_of_closed_accounts_start_nothing(anna):
    row, other = cast.schedule(anna), cast.schedule(cast.account("bert"))
    services.change_schedule(row, {"is_active": False}, NOW)
    other.owner.is_active = False
    other.owner.save()
    tick(NOW + timedelta(days=3))
    assert states() == []
    services.change_schedule(row, {"is_active": True}, NOW + timedelta(days=3))
    tick(NOW + timedelta(days=3))
    assert states() == []  # not at once, but at its next time


def test_a_process_that_dies_after_the_start_starts_nothing_twice(anna):
    cast.schedule(anna)
    services.plan_due(NOW)
    run = services.open_runs("due").get()
    assert services.claim_start(run, NOW)
    from tasks.schedules import starting

    first = starting.start(run)["survey"]
    # It dies before it can note what it started: others wait for its lease.
    tick(NOW + timedelta(seconds=60))
    assert states() == ["due"]
    tick(NOW + timedelta(seconds=120))
    assert ScheduleRun.objects.get().survey == first
    assert Survey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ticks_at_once_start_one_survey():
    cast.schedule(cast.account())
    barrier, faults = threading.Barrier(4), []

    def run():
        barrier.wait()
        try:
            tick(NOW)
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert states() == ["started"]
    assert Survey.objects.count() == 1


def test_a_limit_delays_a_run_and_ends_it_after_hours(anna, settings):
    settings.MAX_ACTIVE_SURVEYS_PER_USER = 0
    cast.schedule(anna)
    for hours in (0, 1, 5):
        tick(NOW + timedelta(hours=hours))
        assert states() == ["due"]
    assert "of your surveys" in ScheduleRun.objects.get().error
    settings.MAX_ACTIVE_SURVEYS_PER_USER = 1
    tick(NOW + timedelta(hours=5, minutes=1))
    assert states() == ["started"]
    settings.MAX_ACTIVE_SURVEYS_PER_USER = 0
    cast.schedule(anna, "Other")
    tick(NOW + timedelta(hours=8))
    tick(NOW + timedelta(hours=8, minutes=1))
    assert states() == ["started", "failed"]
    assert ScheduleEvent.objects.get().kind == "no-data"


def test_a_run_that_hangs_is_told_at_the_next_due_time(anna):
    cast.schedule(anna)
    tick(NOW)
    tick(NOW + timedelta(days=1))
    assert states() == ["started", "skipped"]
    event = ScheduleEvent.objects.get()
    assert (event.kind, event.after) == ("no-data", "the run before was still under way")


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ({"state": SurveyState.FAILED, "error": "no server answers"}, "no server answers"),
        ({"state": SurveyState.CANCELLED}, "cancelled"),
        ({}, "no domain of the survey answered"),
    ],
)
def test_a_run_without_data_is_an_event_and_so_is_the_next_good_one(anna, ending, words):
    cast.schedule(anna)
    tick(NOW)
    end(ScheduleRun.objects.get(), like=lambda: surveys.atlas("One"))
    tick(NOW + timedelta(minutes=1))
    assert states() == ["compared"]
    tick(NOW + timedelta(days=1))
    end(ScheduleRun.objects.first(), **ending)
    tick(NOW + timedelta(days=1, minutes=1))
    [event] = ScheduleEvent.objects.all()
    assert event.kind == "no-data"
    assert words in event.after
    tick(NOW + timedelta(days=2))
    end(ScheduleRun.objects.first(), like=lambda: surveys.atlas("Two"))
    tick(NOW + timedelta(days=2, minutes=1))
    assert states() == ["compared", "failed", "compared"]
    assert ScheduleEvent.objects.first().kind == "recovered"
    # It is compared with the last run that had data.
    assert ScheduleRun.objects.first().previous == ScheduleRun.objects.last()


def test_what_a_run_started_may_be_deleted(anna):
    cast.schedule(anna)
    tick(NOW)
    Survey.objects.all().delete()
    tick(NOW + timedelta(minutes=1))
    assert ScheduleRun.objects.get().error == "what the run started was deleted"


def test_changes_of_a_survey_are_events_by_domain(anna):
    from tests.pages.campaigns import pairs

    before, after = surveys.atlas("Before"), pairs.after()
    for row in (before, after):
        row.refresh_from_db()
    found = list(comparison.survey_changes(before, after))
    assert {change.kind for change in found} >= {"region-changed", "provider-changed"}
    subjects = [(change.kind, change.subject) for change in found]
    assert len(subjects) == len(set(subjects))
    assert all(change.before != change.after for change in found)
    assert list(comparison.survey_changes(after, after)) == []


def test_many_events_of_a_kind_are_cut_and_counted():
    changes = [cast.change(f"d{n}.test") for n in range(comparison.MAX_EVENTS_OF_KIND + 7)]
    found = list(comparison._cut(changes))
    assert len(found) == comparison.MAX_EVENTS_OF_KIND + 1
    assert found[-1].after == "7 more of this kind"


def test_latencies_of_campaigns_have_change_points_that_are_told_once(anna):
    import random

    from tests.pages.campaigns import campaign_cast
    from webapp.store.models import Schedule

    chance = random.Random(11)
    row = services.create_schedule(
        anna, "Pings", ("campaign", {}), services.Recurrence("0 3 * * *"), NOW
    )
    assert row.kind == Schedule.Kind.CAMPAIGN
    told = []
    for night in range(6):
        samples = [
            campaign_cast.sample(
                "v-one",
                region,
                [chance.gauss(40 + (25 if night >= 3 and region == "us-east-1" else 0), 1)],
                round=n,
            )
            for n in range(24)
            for region in ("us-east-1", "eu-west-1")
        ]
        campaign = campaign_cast.campaign(f"night-{night}", samples)
        at = NOW + timedelta(days=night)
        run = ScheduleRun.objects.create(
            schedule=row, due_at=at, state="started", campaign=campaign
        )
        recurrence.conclude_run(run, at)
        told += [(night, e.kind, e.subject) for e in ScheduleEvent.objects.filter(run=run)]
    assert told == [(3, "latency-changed", "v-one → us-east-1")]
    event = ScheduleEvent.objects.get()
    assert (float(event.before[:4]), float(event.after[:4])) == (
        pytest.approx(40, abs=1),
        pytest.approx(65, abs=1),
    )
    assert event.detail["since"] == (NOW + timedelta(days=3)).isoformat()
