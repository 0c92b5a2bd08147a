"""Due times: cron in a time zone where clocks change, intervals, and what is refused."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from webapp.store.schedules import timing
from webapp.store.schedules.services import Recurrence

BERLIN = "Europe/Berlin"


def times(cron, start, n, zone=BERLIN):
    found = timing.due_times(cron, None, zone, datetime.fromisoformat(start))
    return [f"{moment:%m-%d %H:%M}" for moment in islice(found, n)]


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # 02:30 is left out on 29 March: the job runs as clocks are set forward, and once.
        ("30 2 * * *", "2026-03-28T12:00Z", ["03-29 01:00", "03-30 00:30", "03-31 00:30"]),
        # 02:30 comes twice on 25 October: the job runs the first time only.
        ("30 2 * * *", "2026-10-24T12:00Z", ["10-25 00:30", "10-26 01:30"]),
        # A job of every hour runs in each hour that there is.
        ("30 * * * *", "2026-03-29T00:15Z", ["03-29 00:30", "03-29 01:30", "03-29 02:30"]),
        ("30 * * * *", "2026-10-24T23:45Z", ["10-25 00:30", "10-25 01:30", "10-25 02:30"]),
        ("0 6 * * 1-5", "2026-11-06T12:00Z", ["11-09 05:00", "11-10 05:00"]),
    ],
)
def test_cron_keeps_to_local_time(cron, start, expected):
    assert times(cron, start, len(expected)) == expected


@given(
    st.integers(0, 59),
    st.integers(0, 23),
    st.integers(0, 3650),
    st.sampled_from([BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC"]),
)
def test_a_daily_job_runs_once_on_each_day(minute, hour, start, zone):
    after = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(days=start)
    found = timing.due_times(f"{minute} {hour} * * *", None, zone, after)
    moments = list(islice(found, 8))
    gaps = [b - a for a, b in zip(moments, moments[1:], strict=False)]
    assert all(timedelta(hours=22) < gap < timedelta(hours=26) for gap in gaps)


@given(st.integers(60, 10_000), st.integers(0, 100_000))
def test_missed_intervals_are_counted_and_the_grid_is_kept(interval, late_minutes):
    last = datetime(2026, 1, 1, tzinfo=UTC)
    now = last + timedelta(minutes=late_minutes)
    following, missed = timing.first_after("", interval, "UTC", (last, now))
    assert following > now
    assert (following - last) % timedelta(minutes=interval) == timedelta()
    assert missed == late_minutes // interval


def test_missed_days_are_one_run():
    last, now = (datetime(2026, 1, day, 3, tzinfo=UTC) for day in (1, 9))
    following, missed = timing.first_after("0 3 * * *", None, "UTC", (last, now))
    assert (following, missed) == (datetime(2026, 1, 10, 3, tzinfo=UTC), 8)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cron": "61 * * * *"}, "bad minute"),
        ({"cron": "* * *"}, "five fields"),
        ({"cron": "@reboot"}, "five fields"),
        ({"cron": "*/5 * * * *"}, "more often"),
        ({"cron": "0,30 3 * * *"}, "more often"),
        ({"cron": "0 0 31 2 *"}, "bad day-of-month"),
        ({"cron": "0 3 * * *", "time_zone": "Mars/Base"}, "time zone"),
        ({"cron": "0 3 * * *", "time_zone": "../../etc/passwd"}, "time zone"),
        ({"interval_minutes": 59}, "60"),
        ({"interval_minutes": 10**9}, "527,040"),
        ({"interval_minutes": 60, "cron": "0 3 * * *"}, "one of"),
        ({}, "one of"),
    ],
)
def test_what_makes_no_schedule_is_refused(given, words):
    with pytest.raises(BadInput, match=words):
        Recurrence(**given).checked(datetime(2026, 1, 1, tzinfo=UTC))


def test_shorthands_and_hours_near_a_change_of_clocks_are_taken():
    assert Recurrence("@daily").checked(datetime(2026, 1, 1, tzinfo=UTC)).cron == "0 0 * * *"
    # In one night of the year 02:00 and 03:00 fall together.
    found = Recurrence("0 2,3 * * *", None, BERLIN).checked(datetime(2026, 3, 28, tzinfo=UTC))
    assert found.cron == "0 2,3 * * *"


@given(st.text(max_size=40))
def test_any_text_is_a_schedule_or_bad_input(text):
    try:
        times = Recurrence(text).checked(datetime(2026, 1, 1, tzinfo=UTC))
    except BadInput:
        return
    assert times.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None
