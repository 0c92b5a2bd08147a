"""The scheduler on a clock of its own: what is sent when, what is lost and what is counted."""

import random
from collections import Counter
from datetime import timedelta

import pytest

from core.errors import BadInput, Unavailable
from tasks.campaigns import commands, scheduler
from tasks.protocol.results_message import ResultsMessage
from tasks.protocol.work_order import BEGAN, RESULT
from tests.tasks.campaigns.field import (
    Field,
    answer_of,
    assert_all_accounted,
    join,
    rows_in_lake,
    targets,
)
from webapp.store.campaigns import progress, selectors, services
from webapp.store.campaigns.plans import presets
from webapp.store.models import Campaign, CampaignUnit, VantagePoint
from webapp.store.vantages import services as vantage_services

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("lake")]
State = CampaignUnit.State

SMALL = {
    "round_s": 120,
    "rounds": 3,
    "activities": [
        {
            "name": "get",
            "probe": "throughput",
            "options": {"timeout_s": 4.0},
            "slot_s": 5.0,
            "clients": 1,
            "strict": True,
        },
        {
            "name": "ping",
            "probe": "tcp-ping",
            "options": {"count": 1},
            "slot_s": 2.0,
            "jitter": 0.5,
        },
    ],
}


def field(count=4, n_targets=3, schedule=SMALL, **more):
    names = [f"v{i}" for i in range(count)]
    join(*names)
    found = Field(schedule=schedule, targets=targets(n_targets), vantages=names, **more)
    found.start()
    return found


def reasons(campaign):
    return progress.reasons(campaign)["missed"]


def test_a_campaign_runs_to_its_end_and_tells_what_it_found():
    found = field(seed=3)
    done = found.run()
    assert done.state == Campaign.State.FINISHED
    counts = assert_all_accounted(done)
    assert counts["ok"] == counts["planned"] == 4 * 3 * 3 * 2
    assert counts["coverage"] == 1.0
    # Nothing was asked twice, and every order was there before its first slot.
    assert Counter(o.unit for o in found.sent).most_common(1)[0][1] == 1
    assert done.summary["rows"] == {"samples": counts["ok"]}
    told = selectors.tables(done)
    assert {"latency-regions", "throughput-regions", "coverage", "coverage-rounds"} <= set(told)
    regions = {r["region"]: r for r in told["latency-regions"].dicts()}
    assert regions["region-0"]["n"] == 12
    assert told["coverage"].headline == "72 of 72 planned slots were measured"


def test_orders_come_before_their_time_and_say_every_slot():
    found = field()
    found.tick()
    begun = found.campaign.__class__.objects.get().started_at
    assert begun == found.now + timedelta(seconds=services.LEAD_S)
    first = {o.unit: o for o in found.sent}
    # What begins within the next twenty seconds: transfers of one group, pings of the other.
    assert Counter(o.due - begun.timestamp() for o in first.values()) == {0.0: 4, 15.0: 4}
    for order in first.values():
        assert len(order.slots) == len(order.targets) == 3
        assert order.strict == (order.probe == "throughput")


def test_a_tenth_dies_and_coverage_says_so():
    """The study's schedule, with a quarter of its ends and half an hour of its three days."""
    schedule = {**presets()["paper-2013"], "rounds": 2}
    schedule["activities"] = [a for a in schedule["activities"] if a["name"] != "routes"]
    found = field(20, 10, schedule)
    dying = random.Random(5).sample(range(20), 2)
    deaths = {f"v{i}": random.Random(i).uniform(0, 900) for i in dying}
    while not found.campaign.is_final:
        found.dead |= {n for n, s in deaths.items() if s < found.clock.monotonic()}
        found.step(45.0)
        found.campaign.refresh_from_db()
    counts = assert_all_accounted(found.campaign)
    assert found.campaign.state == Campaign.State.PARTIAL
    assert counts["planned"] == 20 * 10 * 2 * 2
    assert counts["missed"] % 10 == 0
    assert 0.9 <= counts["coverage"] < 1
    told = {r["vantage"]: r for r in progress.by_vantage(found.campaign)}
    assert {n for n, r in told.items() if r["missed"]} == set(deaths)
    why = reasons(found.campaign)
    assert set(why) <= {"the vantage point did not begin", "no result came"}
    assert sum(why.values()) == counts["missed"]


def test_a_scheduler_that_ends_in_the_middle_of_sending_goes_on():
    """Some units are sent and some are not: nothing is sent twice, nothing is forgotten."""
    found = field()
    sent = []

    def breaks(point, order, expires_s):
        if len(sent) == 2:
            raise Unavailable("the broker is away")
        sent.append(order.unit)
        found.way(point, order, expires_s)

    scheduler.tick(found.clock, scheduler.Outlets({"own": breaks}, found.leave))
    found.campaign.refresh_from_db()
    assert found.campaign.error == "the broker is away"
    done = found.run()
    assert done.state == Campaign.State.FINISHED
    assert done.error == ""
    assert_all_accounted(done)
    assert Counter(o.unit for o in found.sent).most_common(1)[0][1] == 1


def test_time_in_which_no_scheduler_ran_is_missed_with_its_reason():
    found = field()
    found.step()
    found.clock.sleep(150)
    done = found.run()
    counts = assert_all_accounted(done)
    assert done.state == Campaign.State.PARTIAL
    assert reasons(done) == {"nothing was sent in time": counts["missed"]}
    assert 0 < counts["missed"] < counts["planned"] / 2


def test_a_clock_that_jumps_back_sends_nothing_twice():
    found = field()
    for _ in range(12):
        found.step()
    before = Counter(o.unit for o in found.sent)
    found.clock.sleep(-40)
    for _ in range(6):
        found.tick()
    assert Counter(o.unit for o in found.sent) == before
    done = found.run()
    assert_all_accounted(done)


def test_a_pause_moves_what_is_left_and_loses_nothing():
    found = field()
    found.step(30)
    found.step(30)
    assert services.pause(found.campaign, found.now)
    before = len(found.sent)
    for _ in range(20):
        found.step(30)
    assert len(found.sent) == before
    # What was out has come in.
    assert not found.campaign.units.filter(state=State.SENT).exists()
    assert services.resume(found.campaign, found.now)
    done = found.run()
    assert done.state == Campaign.State.FINISHED
    assert done.paused_s == 600
    assert_all_accounted(done)


def test_a_short_pause_lets_nobody_meet():
    """What is out keeps its moments; the rest of its window would meet it, and is missed."""
    found = field(6, 3)
    held = {"v0", "v1"}

    def holds(point, order, expires_s):
        if point.name in held:
            raise Unavailable("not now")
        found.way(point, order, expires_s)

    scheduler.tick(found.clock, scheduler.Outlets({"own": holds}, found.leave))
    found.clock.sleep(8)
    services.pause(found.campaign, found.now)
    found.clock.sleep(3)
    services.resume(found.campaign, found.now)
    done = found.run()
    assert_all_accounted(done)
    assert_nobody_met(found.sent)


def assert_nobody_met(orders):
    """No two orders have one target at one time, in strict slots."""
    busy = [
        (order.due + slot[2], order.due + slot[3] + 4.0, order.targets[int(slot[1])]["host"])
        for order in {o.unit: o for o in orders}.values()
        if order.strict
        for slot in order.slots
    ]
    by_host = {}
    for begin, end, host in sorted(busy):
        assert begin >= by_host.get(host, 0) - 1e-3
        by_host[host] = end


def test_a_vantage_point_that_is_revoked_in_the_middle_gets_nothing_more():
    found = field()
    found.step()
    vantage_services.set_state(VantagePoint.objects.get(name="v1"), vantage_services.State.REVOKED)
    vantage_services.set_state(VantagePoint.objects.get(name="v2"), vantage_services.State.DRAINING)
    found.dead.add("v1")
    done = found.run()
    assert_all_accounted(done)
    told = {r["vantage"]: r for r in progress.by_vantage(done)}
    assert told["v1"]["ok"] == 0
    # One that drains finishes what it has.
    assert told["v2"]["ok"] > 0
    assert told["v0"]["missed"] == told["v3"]["missed"] == 0
    assert {"the vantage point is revoked", "the vantage point is draining"} <= set(reasons(done))


def test_silence_is_asked_again_and_late_results_count():
    found = field(2, 2)
    found.mute.add("v0")
    for _ in range(14):
        found.step()
    again = Counter(o.unit for o in found.sent if o.attempt > 1)
    assert again
    late = next(o for o in found.sent if o.unit in again)
    unit = CampaignUnit.objects.get(key=late.unit)
    found.clock.sleep(120)
    found.tick()
    unit.refresh_from_db()
    assert unit.state == State.MISSED
    # The campaign is open still: what comes now counts, once.
    for _ in range(2):
        found.deliver("v0", answer_of(late))
    unit.refresh_from_db()
    assert (unit.state, unit.missed, unit.ok, unit.error) == (State.DONE, 0, 2, "")
    found.mute.clear()
    assert_all_accounted(found.run())


def test_results_of_others_and_of_nobody_change_nothing():
    found = field(2, 2)
    found.step()
    order = found.sent[0]
    owner = CampaignUnit.objects.get(key=order.unit).vantage
    other = "v1" if owner == "v0" else "v0"
    found.deliver(other, answer_of(order))
    assert not rows_in_lake(found.campaign)
    for head in ({}, {"measurement": 5, "unit": []}, {"measurement": "x" * 300, "unit": "y"}):
        with pytest.raises(BadInput):
            found.deliver(owner, ResultsMessage(RESULT, head))
    found.deliver(owner, ResultsMessage(RESULT, {**order.head, "unit": "r9.none"}))
    assert not rows_in_lake(found.campaign)


def test_a_result_that_comes_again_with_other_values_changes_nothing():
    found = field(1, 2)
    found.step()
    order = found.sent[0]
    found.deliver("v0", answer_of(order, 10.0))
    before = rows_in_lake(found.campaign)
    for lie in (
        answer_of(order, 1.0),
        answer_of(order, 1.0, attempt=99),
        ResultsMessage(BEGAN, order.head),
        ResultsMessage(RESULT, order.head, {"slot": [], "late_s": [], "result": []}),
    ):
        found.deliver("v0", lie)
    assert rows_in_lake(found.campaign) == before
    assert_all_accounted(found.run())


def test_moments_that_cannot_be_are_those_of_the_plan():
    """A clock that lies by days moves no sample to another round."""
    found = field(1, 2)
    found.step()
    order = found.sent[0]
    message = answer_of(order)
    lies = [
        {**r, "at": r["at"] + lie}
        for r, lie in zip(message.columns["result"], (-9e8, 3e8), strict=True)
    ]
    found.deliver("v0", ResultsMessage(RESULT, message.head, {**message.columns, "result": lies}))
    planned = sorted(order.due + s[2] for s in order.slots)
    found_at = sorted(r["at"].timestamp() for r in rows_in_lake(found.campaign))
    assert found_at == pytest.approx(planned, abs=0.01)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: {**c, "slot": [c["slot"][0]] * len(c["slot"])},
        lambda c: {**c, "slot": [99] * len(c["slot"])},
        lambda c: {**c, "result": [{**r, "probe": "knock"} for r in c["result"]]},
        lambda c: {**c, "result": [{**r, "status": "FINE"} for r in c["result"]]},
        lambda c: {**c, "result": [{**r, "values": [-1.0]} for r in c["result"]]},
        lambda c: {**c, "result": [{**r, "values": [1.0] * 3} for r in c["result"]]},
        lambda c: {**c, "result": [{**r, "replies": [{"ttl": 999}]} for r in c["result"]]},
        lambda c: {**c, "result": [7] * len(c["result"])},
        lambda c: {**c, "result": [{**r, "at": "now"} for r in c["result"]]},
    ],
)
def test_a_result_that_cannot_be_is_refused_as_a_whole(spoil):
    found = field(1, 2)
    found.step()
    message = answer_of(found.sent[0])
    found.deliver("v0", ResultsMessage(RESULT, message.head, spoil(message.columns)))
    unit = CampaignUnit.objects.get(key=found.sent[0].unit)
    assert unit.state == State.FAILED
    assert unit.error.startswith("the result cannot be used: ")
    assert unit.missed == 2
    assert not rows_in_lake(found.campaign)


def test_slots_that_were_missed_are_counted_with_their_reasons():
    found = field(1, 3)
    found.step()
    order = found.sent[0]
    message = answer_of(order, missed={str(order.slots[1][0]): "its time was over"})
    columns = {k: v[:1] for k, v in message.columns.items()}
    found.deliver("v0", ResultsMessage(RESULT, message.head, columns))
    unit = CampaignUnit.objects.get(key=order.unit)
    assert (unit.ok, unit.missed) == (1, 2)
    assert unit.counters["missed"] == {"its time was over": 1, "it was not reported": 1}


def test_a_disk_that_refuses_keeps_the_result_for_later(settings, tmp_path):
    found = field(1, 2)
    found.step()
    order = found.sent[0]
    (tmp_path / "measurements").write_text("a file where a folder should be")
    with pytest.raises(Unavailable):
        found.deliver("v0", answer_of(order))
    assert CampaignUnit.objects.get(key=order.unit).state == State.SENT
    (tmp_path / "measurements").unlink()
    found.deliver("v0", answer_of(order))
    assert CampaignUnit.objects.get(key=order.unit).ok == 2


def test_parts_are_put_together_and_every_row_stays():
    from tasks.campaigns import conclusion

    found = field(3, 3)
    for _ in range(30):
        found.step()
    before = Counter(map(str, rows_in_lake(found.campaign)))
    assert before
    conclusion.join_parts(found.campaign)
    assert Counter(map(str, rows_in_lake(found.campaign))) == before
    assert len(selectors.parts(found.campaign, "samples")) == 1
    # Those that went into it are removed at the next time, when nobody reads them any more.
    folder = selectors.parts(found.campaign, "samples")[0].parent
    assert len(list(folder.iterdir())) > 1
    done = found.run()
    assert {p.name for p in folder.iterdir()} == {p.name for p in selectors.parts(done, "samples")}
    assert_all_accounted(done)


def test_stopping_keeps_what_was_measured():
    found = field()
    for _ in range(12):
        found.step()
    assert commands.stop(found.campaign)
    assert not commands.stop(found.campaign)
    counts = assert_all_accounted(found.campaign)
    assert found.campaign.state == Campaign.State.STOPPED
    assert 0 < counts["ok"] < counts["planned"]
    assert "the campaign was stopped" in reasons(found.campaign)
    assert "latency-regions" in selectors.tables(found.campaign)
    sent = len(found.sent)
    found.tick()
    assert len(found.sent) == sent


def test_a_start_in_the_future_waits_and_a_key_starts_once():
    join("v0")
    found = Field(
        schedule=SMALL,
        targets=targets(2),
        vantages=["v0"],
        idempotency_key="one",
        starts_at="2013-03-29T01:00Z",
    )
    first = found.start()
    assert found.start().pk == first.pk
    found.tick()
    assert not found.sent
    found.clock.sleep(3600)
    found.tick()
    first.refresh_from_db()
    assert first.state == Campaign.State.RUNNING
    assert first.started_at == found.now + timedelta(seconds=services.LEAD_S)


def test_a_clone_measures_the_same_or_what_is_changed():
    found = field()
    same = commands.clone(found.campaign, {"name": "again"})
    assert same.cloned_from == found.campaign
    assert same.schedule == found.campaign.schedule
    assert (same.targets, same.vantages) == (found.campaign.targets, found.campaign.vantages)
    fewer = commands.clone(found.campaign, {"vantages": ["v0"]})
    assert fewer.schedule["groups"] == 1
    assert found.campaign.schedule["groups"] == 2


def test_what_cannot_measure_is_refused_before_it_starts():
    join("v0")
    join("old", state="revoked")
    join("model", source="synthetic")
    join("slow", limits={"bytes_per_day": 1000})
    asked = {"schedule": SMALL, "targets": targets(2), "vantages": ["v0"]}
    for change, message in (
        ({"vantages": ["nobody"]}, "there is no vantage point 'nobody'"),
        ({"vantages": ["old"]}, "old is revoked"),
        ({"vantages": ["v0", "model"]}, "model is synthetic"),
        ({"vantages": ["slow"]}, "slow allows 1,000 bytes a day"),
        ({"vantages": []}, "name one vantage point"),
        ({"targets": []}, "name one target"),
        ({"targets": [{"host": "10.0.0.1"}]}, "10.0.0.1 is not a public address"),
        ({"targets": [{"host": "169.254.169.254"}]}, "not a public address"),
        ({"targets": [{"host": "a", "colour": "red"}]}, "no field 'colour'"),
        ({"targets": [{"host": "a"}, {"host": "a"}]}, "two targets have the same"),
        ({"limits": {"bytes_per_target_and_day": 5}}, "more than the 5"),
        ({"preset": "none", "schedule": None}, "is not a preset"),
    ):
        with pytest.raises(BadInput, match=message):
            commands.start({**asked, **change})
    # By name, the operator may; who is no operator may not.
    inside = {**asked, "targets": [{"host": "10.0.0.1"}], "allow": ["10.0.0.0/8"]}
    assert commands.plan(inside).targets[0]["host"] == "10.0.0.1"
    with pytest.raises(BadInput, match="only the operator"):
        commands.plan(inside, user=None)


def test_campaigns_take_turns_at_a_target_to_which_both_transfer():
    first = field(2, 2)
    first.tick()
    asked = {"schedule": SMALL, "vantages": ["v0"]}
    second = Field(**asked, targets=targets(1))
    second.clock = first.clock
    second.start()
    for _ in range(4):
        first.step()
    second.campaign.refresh_from_db()
    assert second.campaign.state == Campaign.State.WAITING
    assert second.campaign.error.startswith("another campaign transfers at 8.8.0.8 too")
    # Pings meet nobody, and other targets are others'.
    pings = {**SMALL, "activities": [a for a in SMALL["activities"] if not a.get("strict")]}
    for more in (
        {"schedule": pings, "targets": targets(1)},
        {"schedule": SMALL, "targets": [{"host": "9.9.9.9"}]},
    ):
        other = commands.start({"vantages": ["v0"], **more})
        first.tick()
        other.refresh_from_db()
        assert other.state == Campaign.State.RUNNING
        commands.stop(other)
    first.run()
    assert second.run().state == Campaign.State.FINISHED


def test_a_broken_campaign_stops_no_other():
    found = field(2, 2)
    broken = commands.start({**found.asked, "name": "broken"})
    Campaign.objects.filter(pk=broken.pk).update(schedule={"rounds": 0})
    found.tick()
    broken.refresh_from_db()
    assert broken.state == Campaign.State.FAILED
    assert found.sent
