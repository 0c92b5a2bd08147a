"""Runs of a campaign's schedule: a path that changed is reported once, and as cause of latency."""

from datetime import timedelta

import pytest

from lake.campaigns import table_of
from lake.parts import part_path, write_part
from tasks.campaigns import conclusion
from tasks.schedules import comparison
from tests.pages.campaigns.campaign_cast import campaign, sample
from tests.tasks.schedules import cast
from webapp.store.campaigns import selectors
from webapp.store.models import CampaignUnit, Schedule, ScheduleEvent, ScheduleRun
from webapp.store.schedules import events

pytestmark = pytest.mark.django_db
ROUNDS = 24
REGIONS = ("us-east-1", "eu-west-1")


@pytest.fixture
def schedule(settings, tmp_path):
    settings.LAKE_DIR = tmp_path
    return cast.schedule(cast.account())


def run(schedule, day, *, moved=(), slower=(), with_paths=True, first=0):
    """A campaign of one day: hop 3 of ``moved`` regions is another; ``slower`` ones take longer
    from round ``first`` on."""
    rows = [
        sample("v-one", region, [level(number, region in slower, first)], round=number)
        for number in range(ROUNDS)
        for region in REGIONS
    ]
    row = campaign(f"day-{day}", rows)
    if with_paths:
        add_paths(row, moved)
    at = cast.NOW + timedelta(days=day)
    Schedule.objects.filter(pk=schedule.pk).update(kind="campaign")
    made = ScheduleRun.objects.create(
        schedule=schedule, due_at=at, state=ScheduleRun.State.STARTED, campaign=row
    )
    assert events.conclude(made, comparison.outcome_of(made), at)
    found = ScheduleEvent.objects.filter(run=made).order_by("kind", "subject")
    return [(e.kind, e.subject, e.before, e.after) for e in found], list(found)


def level(number, is_slower, first):
    return 30.0 + number % 3 + (9.0 if is_slower and number >= first else 0.0)


def add_paths(row, moved):
    rows = [
        {
            "round": number,
            "vantage": "v-one",
            "target": f"{region}.example",
            "provider": "aws",
            "region": region,
            "at": 1_700_000_000_000_000 + number,
            "probe": "traceroute",
            "reached": True,
            "hops": [
                {"ttl": 1, "address": "192.0.2.1", "rtt_ms": 1.0},
                # A load balancer, which is no change.
                {"ttl": 2, "address": f"198.51.100.{number * 7 % 3}", "rtt_ms": 5.0},
                {"ttl": 3, "address": address(region, moved), "rtt_ms": 9.0},
                {"ttl": 4, "address": None, "rtt_ms": None},
            ],
        }
        for number in range(ROUNDS)
        for region in REGIONS
    ]
    path = part_path(selectors.lake_root(), row.slug, "paths", "all")
    write_part(path, "paths", table_of("paths", rows))
    CampaignUnit.objects.filter(campaign=row).update(
        rows={"samples": ROUNDS * len(REGIONS), "paths": len(rows)}
    )
    conclusion.report(row)


def address(region, moved):
    return "203.0.113.9" if region in moved else f"203.0.113.{REGIONS.index(region)}"


def test_it_works(schedule):
    assert run(schedule, 1)[0] == []
    assert run(schedule, 2)[0] == []
    found, rows = run(schedule, 3, moved=["eu-west-1"], slower=["eu-west-1"])
    (latency, path) = found
    assert path[:2] == ("path-changed", "v-one → eu-west-1")
    assert path[2].startswith("hop 3 203.0.113.1")
    assert path[3].startswith("hop 3 203.0.113.9")
    assert latency[:3] == ("latency-changed", "v-one → eu-west-1", "31.0 ms")
    assert latency[3].startswith("40.0 ms (the path changed from hop 3 203.0.113.1")
    detail = rows[1].detail
    assert (detail["hops"], detail["n_before"], detail["n_after"]) == ([3], 48, 24)
    assert detail["p_value"] <= detail["error_rate"] == 0.01
    # The new path is the usual one from then on.
    assert run(schedule, 4, moved=["eu-west-1"], slower=["eu-west-1"])[0] == []
    (back,) = run(schedule, 5, slower=["eu-west-1"])[0]
    assert back[0] == "path-changed"
    assert back[3].startswith("hop 3 203.0.113.1")


def test_a_cause_that_was_not_found_or_not_measured_is_stated(schedule):
    run(schedule, 1)
    (found,) = run(schedule, 2, slower=["us-east-1"])[0]
    assert found[3] == "40.0 ms (no change of its path or ISPs was found)"
    (found,) = run(schedule, 3, with_paths=False)[0]
    assert found[3] == "31.0 ms (not known: no path was measured)"


def test_a_change_in_the_middle_of_a_run_is_reported_once(schedule):
    run(schedule, 1)
    (found,) = run(schedule, 2, slower=["us-east-1"], first=10)[0]
    assert found[:2] == ("latency-changed", "v-one → us-east-1")
    for day in (3, 4):
        assert run(schedule, day, slower=["us-east-1"])[0] == []
