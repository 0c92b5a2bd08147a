"""Rotations, layouts and whole plans, for numbers chosen at random and for the study's own."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.clock import FakeClock
from core.errors import BadInput
from probes.schedule.cost import cost_of, predict
from probes.schedule.limits import broken_limits, unsupported_probes
from probes.schedule.plan import Plan
from probes.schedule.presets import preset, preset_data, preset_names
from probes.schedule.rehearsal import rehearse
from probes.schedule.rotation import Rotation
from probes.schedule.schedule import read_schedule
from tests.examples import examples

PAPER = [f"client-{i}" for i in range(80)]
counts = st.integers(1, 30)


def only(schedule, *names):
    """A preset's activities of these names."""
    chosen = [a for a in schedule["activities"] if a["name"] in names]
    return read_schedule({**schedule, "activities": chosen})


@settings(deadline=None, max_examples=examples(60))
@given(counts, counts, st.integers(1, 4), st.text(max_size=3))
def test_every_pair_meets_once_and_nobody_meets_another(vantages, targets, clients, seed):
    rotation = Rotation(vantages, targets, clients, seed)
    seen = [(s, v, rotation.target(v, s)) for v in range(vantages) for s in range(rotation.slots)]
    visits = [x for x in seen if x[2] is not None]
    assert Counter((v, t) for _, v, t in visits) == {
        (v, t): 1 for v in range(vantages) for t in range(targets)
    }
    assert max(Counter((s, t) for s, _, t in visits).values()) <= clients
    # No fewer slots would do: each vantage point has all targets, each target all vantage points.
    assert rotation.slots == max(targets, -(-vantages // clients))


@settings(deadline=None, max_examples=examples(40))
@given(
    st.integers(1, 25),
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(0, 5),
    st.booleans(),
    st.integers(0, 2**40),
)
def test_a_plan_keeps_its_vantage_points_apart(vantages, targets, clients, times, mixed, seed):
    strict = {
        "name": "get",
        "probe": "throughput",
        "options": {"timeout_s": 2.0},
        "slot_s": 2.5,
        "clients": clients,
        "strict": True,
    }
    ping = {"name": "ping", "probe": "tcp-ping", "slot_s": 0.5, "jitter": 0.4, "times": times}
    schedule = read_schedule(
        {"round_s": 200, "rounds": 4, "activities": [strict, ping] if mixed else [ping]}
    )
    names = [f"v{i}" for i in range(vantages)]
    plan = Plan.of(schedule, names, targets, seed)
    assert plan == Plan.of(schedule, names, targets, seed)
    windows = list(plan.windows())
    assert len(windows) == plan.window_count == len({w.key for w in windows})
    for name in names:
        own = sorted((w.starts_s, w.ends_s) for w in windows if w.vantage == name)
        assert all(b[0] >= a[1] - 1e-6 for a, b in pairwise(own))
    for number in range(4):
        here = [w for w in windows if w.round == number]
        assert all(number * 200 <= w.starts_s < w.ends_s <= number * 200 + 200.001 for w in here)
        for activity in plan.schedule.activities:
            assert_apart(plan, [w for w in here if w.activity == activity.name], activity)
    assert sum(w.slots for w in windows) == plan.slot_count


def assert_apart(plan, windows, activity):
    """Every pair once, no more clients at a target than may be, whatever each takes."""
    pairs, busy = Counter(), []
    for window in windows:
        for slot in plan.slots(window.activity, window.round, window.vantage):
            pairs[window.vantage, slot.target] += 1
            assert 0 <= slot.offset_s <= slot.latest_s
            if activity.strict:
                assert slot.latest_s + activity.limit_s <= activity.window_s + 1e-6
            assert slot.latest_s <= max(activity.window_s, free_until(plan, window))
            if activity.strict:
                begin = window.starts_s + slot.offset_s
                end = window.starts_s + slot.latest_s + activity.limit_s
                busy += [(begin, 1, slot.target), (end - 1e-6, -1, slot.target)]
    assert set(pairs.values()) <= {1}
    assert not windows or len(pairs) == len(plan.vantages) * plan.targets
    now = Counter()
    for _, change, target in sorted(busy):
        now[target] += change
        assert now[target] <= activity.clients


def free_until(plan, window):
    """Seconds from a window's beginning to that of the next one of its vantage point."""
    later = [
        w.starts_s
        for w in plan.windows()
        if w.vantage == window.vantage and w.starts_s >= window.ends_s - 1e-6
    ]
    end = (window.round + 1) * plan.schedule.round_s
    return min([*later, end + plan.schedule.round_s]) - window.starts_s


def test_who_has_nothing_else_to_do_may_begin_late():
    """Where the round goes on after the last window, what came late is measured all the same."""
    ping = {"name": "ping", "probe": "tcp-ping", "slot_s": 1.0}
    get = {"name": "get", "probe": "throughput", "slot_s": 11.0, "strict": True, "clients": 1}
    alone = read_schedule({"round_s": 100, "rounds": 2, "activities": [ping]})
    latest = {s.latest_s for s in Plan.of(alone, ["a"], 5).slots("ping", 0, "a")}
    assert latest == {5.0 + 15.0}
    tight = read_schedule({"round_s": 8, "rounds": 2, "activities": [ping]})
    latest = {s.latest_s for s in Plan.of(tight, ["a"], 5).slots("ping", 0, "a")}
    # Room for the run is left before the next round.
    assert latest == {7.0}
    mixed = read_schedule({"round_s": 63, "rounds": 2, "activities": [ping, get]})
    plan = Plan.of(mixed, ["a", "b"], 5)
    assert plan.schedule.activity("ping").offsets_s == (55.0,)
    assert {s.latest_s for s in plan.slots("ping", 0, "a")} == {7.0}


def test_the_studys_schedule_is_laid_out_as_in_the_study():
    plan = Plan.of(preset("paper-2013"), PAPER, 40, seed=7)
    schedule, get = plan.schedule, plan.schedule.activity("throughput")
    assert (schedule.rounds, schedule.round_s, schedule.groups) == (288, 900, 2)
    assert schedule.duration_s == 3 * 86_400
    assert (get.window_s, get.offsets_s) == (450.0, (0.0, 450.0))
    assert Counter(group for group, _ in plan.seats.values()) == {0: 40, 1: 40}
    slots = plan.slots("throughput", 5, "client-3")
    assert [s.offset_s for s in slots] == [11.25 * i for i in range(40)]
    # Ten seconds fit behind the latest beginning.
    assert all(s.latest_s == s.offset_s + 1.25 for s in slots)
    ping = plan.schedule.activity("latency")
    assert dict(ping.options) == {"count": 5, "timeout_s": 2.0, "interval_s": 0.2}
    # Who transfers does not ping: each group's pings are in the other's half.
    assert ping.offsets_s == (450.0, 0.0)
    routes = plan.schedule.activity("routes").rounds(288)
    assert len(routes) == 50
    assert {b - a for a, b in pairwise(routes)} == {5, 6}


def test_three_days_of_the_study_pass_on_a_clock_of_their_own():
    """288 rounds of 80 clients and 40 servers: all transfers, as they begin and end."""
    plan = Plan.of(only(preset_data("paper-2013"), "throughput"), PAPER, 40, seed=2)
    clock = FakeClock()
    found = rehearse(plan, clock, dying=0.1, seed=3)
    assert found.slots == 80 * 40 * 288
    assert found.meetings == {"throughput": 1}
    assert found.wrong_pairs == found.overlapping_windows == 0
    assert found.window_s == {"throughput": 450.0}
    assert 3 * 86_400 - 450 < clock.monotonic() <= 3 * 86_400
    # Every tenth vantage point dies; what it had measured until then counts, and all else does.
    assert found.died == 8
    assert found.doubled > 100
    assert 72 / 80 < found.counted / found.slots < 1
    assert found.counted + found.missed == found.slots
    assert found.counted % 40 == 0
    assert 0 <= found.runs - found.counted < 8 * 40


def test_a_rehearsal_sees_what_is_wrong_with_a_plan():
    """Two clients at a target, and a pair that does not meet, are found by watching."""
    data = {**preset_data("quick"), "rounds": 2}
    data["activities"] = [{**data["activities"][0], "clients": 2, "times": 0}]
    found = rehearse(Plan.of(read_schedule(data), PAPER[:6], 3), FakeClock())
    assert found.meetings == {"throughput": 2}

    class Lazy(Plan):
        def slots(self, activity, number, vantage):
            return super().slots(activity, number, vantage)[1:]

    lazy = Plan.of(read_schedule(data), PAPER[:6], 3)
    found = rehearse(Lazy(lazy.schedule, lazy.vantages, 3), FakeClock())
    assert found.wrong_pairs == 12


def test_a_round_without_room_is_refused_with_what_to_do():
    with pytest.raises(BadInput, match="a round takes 1800 s; it has 900 s: lengthen it"):
        Plan.of(preset("paper-2013"), [f"v{i}" for i in range(160)], 40)
    with pytest.raises(BadInput, match=r"a vantage point and a target"):
        Plan.of(preset("latency"), [], 40)
    narrow = {**preset_data("paper-2013")}
    narrow["activities"] = [{**narrow["activities"][0], "slot_s": 5.0}]
    with pytest.raises(BadInput, match=r"40 slots of 5 s, which need 10 s each"):
        Plan.of(read_schedule(narrow), PAPER, 40)
    both = {
        "rounds": 1,
        "round_s": 100,
        "activities": [
            {"name": n, "probe": "tcp-ping", "slot_s": 1, "window_s": 30, "offsets_s": [0]}
            for n in ("a", "b")
        ],
    }
    with pytest.raises(BadInput, match="a and b overlap in group 1"):
        Plan.of(read_schedule(both), ["v"], 3)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rounds": 0}, "rounds"),
        ({"rounds": float("nan")}, "rounds"),
        ({"round_s": "long"}, "round_s"),
        ({"activities": []}, "activities"),
        ({"colour": 1}, "schedule"),
        ({"activities": [{"name": "a", "probe": "knock"}]}, "activities.0"),
        ({"activities": [{"name": "../a", "probe": "tcp-ping"}]}, "activities.0"),
        (
            {"activities": [{"probe": "tcp-ping", "options": {"allow": ["10.0.0.0/8"]}}]},
            "activities.0.options",
        ),
        ({"activities": [{"probe": "tcp-ping", "options": {"count": -1}}]}, "activities.0.options"),
        ({"activities": [{"probe": "tcp-ping"}, {"probe": "tcp-ping"}]}, "activities"),
    ],
)
def test_what_is_no_schedule_is_refused_by_field(change, field):
    with pytest.raises(BadInput) as refused:
        read_schedule({**preset_data("latency"), **change})
    assert refused.value.field == field


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_laid_out_for_few_and_many(name):
    schedule = preset(name)
    again = read_schedule(Plan.of(schedule, ["a", "b"], 2).schedule.as_json())
    assert again == Plan.of(schedule, ["a", "b"], 2).schedule
    assert schedule.title


def test_cost_is_what_probes_send():
    plan = Plan.of(preset("paper-2013"), PAPER, 40)
    found = predict(plan, {"client-0": "atlas", "client-1": "globalping", "client-2": "own"})
    transfers = 80 * 40 * 288
    by_name = {a["activity"]: a for a in found["activities"]}
    assert by_name["throughput"]["probes"] == by_name["latency"]["probes"] == transfers
    assert by_name["latency"]["requests"] == 5 * transfers
    assert by_name["routes"]["probes"] == 80 * 40 * 50
    octets = by_name["throughput"]["octets"] / transfers
    assert 2_000_000 < octets < 2_200_000
    assert found["per_vantage"]["probes"] * 80 == found["probes"] == plan.slot_count
    assert found["per_vantage"]["octets_per_day"] == pytest.approx(found["octets"] / 80 / 3, abs=1)
    # One vantage point of each network; neither has transfers, and RIPE Atlas no TCP pings.
    assert found["credits"]["globalping"] == 40 * (288 + 50)
    assert found["credits"]["atlas"] == 40 * 50 * 60
    told = unsupported_probes(plan, {"client-0": "atlas", "client-1": "globalping"})
    assert [t.split(" ")[:5] for t in told] == [
        ["RIPE", "Atlas", "has", "no", "throughput,"],
        ["RIPE", "Atlas", "has", "no", "tcp-ping,"],
        ["Globalping", "has", "no", "throughput,", "which"],
    ]
    assert unsupported_probes(plan, {}) == []
    assert cost_of(plan.schedule.activity("latency")).requests == 5


def test_limits_that_a_plan_would_break_are_told():
    plan = Plan.of(preset("latency"), ["a", "b"], 10)
    found = predict(plan)
    assert broken_limits(plan, found, {}, {}) == []
    told = broken_limits(
        plan,
        found,
        {"probes_per_target_and_day": 10, "bytes_per_target_and_day": 10**9},
        {"a": {"bytes_per_day": 1_000, "probes_per_s": 1.0}, "b": {"bytes_per_day": 10**9}},
    )
    assert [t.split(" ")[0] for t in told] == ["192", "a", "a"]
    assert "would make 2.5" in told[2]
