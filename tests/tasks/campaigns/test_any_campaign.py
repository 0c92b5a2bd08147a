"""Campaigns through whatever may happen to them, on a clock of their own: chosen at random."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.errors import Unavailable
from tasks.campaigns import commands, scheduler
from tests.examples import examples
from tests.tasks.campaigns.field import Field, assert_all_accounted, join, targets
from tests.tasks.campaigns.test_scheduler import assert_nobody_met
from webapp.store.campaigns import services
from webapp.store.models import Campaign, VantagePoint

pytestmark = [pytest.mark.services, pytest.mark.django_db, pytest.mark.usefixtures("lake")]
NAMES = [f"v{i}" for i in range(5)]
EVENTS = st.sampled_from(
    ["pause", "resume", "sleep", "back", "die", "mute", "drain", "away", "nothing", "nothing"]
)


@pytest.fixture
def points():
    join(*NAMES)


def schedule_of(clients, strict_slot_s, rounds, times):
    return {
        "round_s": 90,
        "rounds": rounds,
        "activities": [
            {
                "name": "get",
                "probe": "throughput",
                "options": {"octets": 2000, "timeout_s": 4.0},
                "slot_s": strict_slot_s,
                "clients": clients,
                "strict": True,
            },
            {
                "name": "ping",
                "probe": "tcp-ping",
                "options": {"count": 1},
                "slot_s": 0.5,
                "jitter": 0.5,
                "times": times,
            },
        ],
    }


class Fate:
    """What happens to a campaign, one event at a time."""

    def __init__(self, found):
        self.found, self.is_away = found, False

    def way(self, point, order, expires_s):
        if self.is_away:
            raise Unavailable("the broker is away")
        self.found.way(point, order, expires_s)

    def befall(self, event, amount):
        found, name = self.found, NAMES[amount % len(NAMES)]
        found.campaign.refresh_from_db()
        self.is_away = event == "away"
        match event:
            case "pause":
                services.pause(found.campaign, found.now)
            case "resume":
                services.resume(found.campaign, found.now)
            case "sleep":
                found.clock.sleep(amount)
            case "back":
                found.clock.sleep(-amount / 10)
            case "die":
                found.dead.add(name)
            case "mute":
                found.mute ^= {name}
            case "drain":
                VantagePoint.objects.filter(name=name).update(state="draining")
        found.step(1.0 + amount % 17)


def run_on(found):
    """To the end, with nothing more in the way."""
    found.mute.clear()
    services.resume(found.campaign, found.now)
    return found.run(step_s=7.0)


@settings(
    max_examples=examples(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.integers(1, 5),
    st.integers(1, 4),
    st.integers(1, 2),
    st.integers(1, 4),
    st.integers(0, 3),
    st.lists(st.tuples(EVENTS, st.integers(1, 300)), max_size=25),
    st.integers(0, 99),
)
def test_whatever_happens_all_is_accounted_and_nobody_meets(
    points, n_vantages, n_targets, clients, rounds, times, events, seed
):
    VantagePoint.objects.update(state="joined")
    found = Field(
        schedule=schedule_of(clients, 5.0, rounds, times),
        targets=targets(n_targets),
        vantages=NAMES[:n_vantages],
        seed=seed,
    )
    found.start()
    fate = Fate(found)
    found.tick = lambda: scheduler.tick(
        found.clock, scheduler.Outlets({"own": fate.way}, found.leave)
    )
    for event in events:
        fate.befall(*event)
    fate.is_away = False
    done = run_on(found)
    counts = assert_all_accounted(done)
    assert done.is_final
    assert (done.state == Campaign.State.FINISHED) == (counts["missed"] == 0)
    if clients == 1:
        assert_nobody_met(found.sent)
    # An order that was sent twice says the same moments twice.
    by_unit = {}
    for order in found.sent:
        assert by_unit.setdefault(order.unit, (order.due, order.slots)) == (order.due, order.slots)
    # What was predicted is what was planned, whatever became of it.
    assert done.predicted["probes"] == counts["planned"]


def test_a_start_in_the_past_begins_now_and_misses_nothing(points):
    found = Field(
        schedule=schedule_of(1, 5.0, 2, 0),
        targets=targets(2),
        vantages=NAMES[:2],
        starts_at="2001-01-01T00:00Z",
    )
    began = found.now
    found.start()
    done = found.run()
    assert done.state == Campaign.State.FINISHED
    assert done.started_at >= began


def test_a_start_in_local_time_is_the_same_moment(points):
    """The hour that daylight saving skips or doubles is told apart by its offset."""
    asked = {"schedule": schedule_of(1, 5.0, 1, 0), "targets": targets(1), "vantages": NAMES[:1]}
    moments = []
    for text in ("2026-10-25T02:30+02:00", "2026-10-25T02:30+01:00", "2026-10-25T02:30"):
        made = commands.start({**asked, "starts_at": text})
        made.refresh_from_db()
        moments.append(made.starts_at.isoformat())
    assert moments == [f"2026-10-25T0{hour}:30:00+00:00" for hour in (0, 1, 2)]
