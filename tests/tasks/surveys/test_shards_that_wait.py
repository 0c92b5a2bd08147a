"""Shards are handed out a few at a time, and wait for what they lack without using up attempts."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tasks.platform.app import app
from tasks.surveys import shard_run
from webapp.store.models import Shard
from webapp.store.surveys import selectors, services, waiting

pytestmark = pytest.mark.django_db
NO_ROOM = "only 3 MiB are free"


@pytest.fixture
def survey(settings, tmp_path):
    settings.UPLOADS_DIR = tmp_path / "uploads"
    settings.LAKE_DIR = tmp_path / "lake"
    data = "\n".join(f"domain{i}.test" for i in range(100)).encode()
    found = services.create_survey(data, name="hundred", n_words=1, maker=services.OPERATOR_REQUEST)
    services.mark_running(found, [], "")
    found.refresh_from_db()
    return found


def claim_one(survey):
    return services.claim(waiting.lease_for_queue(survey.pk)[0])


def let_time_pass(survey):
    past = timezone.now() - timedelta(seconds=1)
    survey.shards.filter(state=Shard.State.WAITING).update(leased_until=past)


def test_a_survey_lays_few_shards_into_the_queue(survey):
    first = waiting.lease_for_queue(survey.pk)
    assert len(first) == waiting.AHEAD < survey.shards.count()
    assert waiting.lease_for_queue(survey.pk) == []
    assert services.claim(first[0])
    (following,) = waiting.lease_for_queue(survey.pk)
    assert following not in first
    let_time_pass(survey)
    # What the broker lost is queued anew, in the old order.
    assert waiting.lease_for_queue(survey.pk)[:3] == first[1:]


def test_trouble_outside_uses_up_no_attempt_and_is_told(survey, settings):
    settings.RETRY_WAIT_S = 5
    waits = []
    for _ in range(8):
        shard = claim_one(survey)
        assert shard.attempt == 1
        waiting.defer(shard, NO_ROOM)
        shard.refresh_from_db()
        waits.append(round((shard.leased_until - timezone.now()).total_seconds()))
        row = selectors.row_of(survey)
        assert (row.state, row.waits, row.error) == ("running", NO_ROOM, "")
        # Nothing else of the survey is tried meanwhile, and then only this shard.
        assert waiting.lease_for_queue(survey.pk) == []
        let_time_pass(survey)
    assert waits == [5, 10, 20, 40, 60, 60, 60, 60]
    shard = claim_one(survey)
    services.renew(shard, {"domains_done": 1})
    assert selectors.row_of(survey).waits == ""
    assert len(waiting.lease_for_queue(survey.pk)) == waiting.AHEAD


def test_waiting_begins_anew_after_progress(survey, settings):
    settings.RETRY_WAIT_S = 5
    for progressed in (False, True):
        shard = claim_one(survey)
        if progressed:
            services.renew(shard, {"domains_done": 1})
        waiting.defer(shard, NO_ROOM)
        shard.refresh_from_db()
        assert shard.counters["tries"] == 1
        let_time_pass(survey)


def test_a_day_without_progress_ends_as_partial_with_the_number_of_domains(survey, settings):
    settings.MIN_FREE_MB = 0
    settings.MAX_WAIT_H = -1
    shard = claim_one(survey)
    waiting.defer(shard, "no answer from 192.0.2.1:53 for 5 s")
    shard.refresh_from_db()
    assert shard.state == Shard.State.FAILED
    n_lost = shard.last - shard.first
    survey.shards.exclude(pk=shard.pk).update(state=Shard.State.DONE)
    shard_run.conclude(survey)
    survey.refresh_from_db()
    row = selectors.row_of(survey)
    assert row.state == "partial"
    assert row.error == (
        f"{n_lost} of 100 domains were given up: no answer from 192.0.2.1:53 for 5 s"
    )
    assert row.waits == ""


def test_a_permanent_error_is_not_waited_for(survey):
    shard = claim_one(survey)
    services.fail_shard(shard, "the list is gone")
    shard.refresh_from_db()
    assert shard.state == Shard.State.FAILED


def test_sweeps_have_a_queue_of_their_own_and_are_dropped_when_the_next_is_due():
    sweeps = {
        name: entry for name, entry in app.conf.beat_schedule.items() if "sweep" in entry["task"]
    }
    assert len(sweeps) == 9
    for entry in sweeps.values():
        assert entry["options"] == {"queue": "sweeps", "expires": entry["schedule"]}
