"""Vantage points that exist on a clock of their own: they take orders and answer as told."""

import random
from collections import Counter

import pyarrow.parquet as pq

from core.clock import FakeClock
from tasks.campaigns import commands, results_receiver, scheduler
from tasks.protocol.results_message import ResultsMessage, pack, unpack
from tasks.protocol.work_order import BEGAN, COLUMNS, RESULT
from webapp.store.campaigns import progress, selectors
from webapp.store.campaigns.plans import plan_of
from webapp.store.models import Campaign, VantagePoint

STEP_S = 5.0


def join(*names, state="joined", **more):
    """Vantage points that take work."""
    rows = [VantagePoint(name=n, state=state, **more) for n in names]
    VantagePoint.objects.bulk_create(rows)


def targets(count, **more):
    """Targets in public space of no one's."""
    return [
        {
            "name": f"t{i}",
            "host": f"8.8.{i}.8",
            "port": 80,
            "provider": "aws",
            "region": f"region-{i % 4}",
            "zone": "ab"[i % 2],
            **more,
        }
        for i in range(count)
    ]


class Field:
    """The scheduler, its clock, and vantage points, some of which are dead or out of order."""

    def __init__(self, **asked):
        self.clock = FakeClock()
        self.chance = random.Random(1)
        self.asked = asked
        self.dead, self.mute, self.sent, self.answers = set(), set(), [], Counter()
        self.waiting = []
        self.campaign = None

    def start(self):
        self.campaign = commands.start(self.asked)
        return self.campaign

    @property
    def now(self):
        return self.clock.now()

    def way(self, point, order, expires_s):
        self.sent.append(order)
        self.waiting.append((point.name, order))

    def tick(self):
        scheduler.tick(self.clock, scheduler.Outlets({"own": self.way}, self.leave))

    def leave(self, task, campaign):
        scheduler.store_report(campaign, self.clock)

    def step(self, seconds=STEP_S):
        """The scheduler's step, then time passes, and who is done answers."""
        self.tick()
        self.clock.sleep(seconds)
        now = self.now.timestamp()
        for name, order in list(self.waiting):
            if name in self.dead:
                self.waiting.remove((name, order))
            elif now >= order.due and order.unit not in self.answers:
                self.deliver(name, ResultsMessage(BEGAN, order.head))
            if name not in self.dead | self.mute and now >= order.ends:
                self.waiting.remove((name, order))
                self.answer(name, order)

    def answer(self, name, order):
        message = answer_of(order)
        for _ in range(1 + (self.chance.random() < 0.2)):
            self.deliver(name, message)
        self.answers[order.unit] += 1

    def deliver(self, name, message):
        taker = (
            results_receiver.record_start
            if message.kind == BEGAN
            else results_receiver.store_result
        )
        taker(name, unpack(pack(message)), self.clock)

    def run(self, limit_s=100_000, step_s=STEP_S):
        """Until every unit has ended and the campaign is concluded."""
        end = self.clock.monotonic() + limit_s
        while self.clock.monotonic() < end:
            self.step(step_s)
            self.campaign.refresh_from_db()
            if self.campaign.is_final:
                return self.campaign
        raise AssertionError(progress.progress(self.campaign))


def answer_of(order, value=10.0, **head):
    """A result of every slot of an order."""
    kind = {"throughput": 5e5}.get(order.probe, value)
    results = [
        {
            "probe": order.probe,
            "version": 1,
            "address": order.targets[int(place)]["host"],
            "at": order.due + offset,
            "status": "OK",
            "reason": "",
            "method": "connect",
            "values": [kind + place],
            "sent": 1,
        }
        for _, place, offset, _ in order.slots
    ]
    columns = zip(
        COLUMNS, ([s[0] for s in order.slots], [0.0] * len(results), results), strict=True
    )
    return ResultsMessage(RESULT, {**order.head, "missed": {}, **head}, dict(columns))


def rows_in_lake(campaign: Campaign, kind="samples"):
    """All rows of the manifest's parts."""
    paths = selectors.parts(campaign, kind)
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def assert_all_accounted(campaign: Campaign):
    """Every planned slot is a row of the lake exactly once, or counted as missed."""
    plan = plan_of(campaign)
    rows = rows_in_lake(campaign)
    seen = Counter((r["round"], r["vantage"], r["activity"], r["slot"]) for r in rows)
    planned = {
        (w.round, w.vantage, w.activity, s.number)
        for w in plan.windows()
        for s in plan.slots(w.activity, w.round, w.vantage)
    }
    assert set(seen.values()) <= {1}
    assert set(seen) <= planned
    found = progress.progress(campaign)
    assert found["planned"] == len(planned) == plan.slot_count
    assert found["ok"] + found["failed"] == len(rows)
    assert len(rows) + found["missed"] + found["waiting"] + found["out"] == len(planned)
    return found
