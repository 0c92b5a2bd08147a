"""Campaigns of a laboratory's vantage points: from outside to the cloud, and from there outwards.

The second is how ISPs of a cloud are counted: by traceroutes that begin at its instances.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from celery import Task

from core.clock import SystemClock
from probes.schedule.layout import place_windows
from probes.schedule.schedule import read_schedule
from tasks.campaigns import commands, conclusion, dispatch, scheduler
from tasks.campaigns.results_collector import Collector
from tasks.namespaces.links import Host
from testbed.namespaces.laboratory import Laboratory
from testbed.namespaces.topology import Node, Topology
from webapp.store.campaigns import services
from webapp.store.models import Campaign, CampaignUnit

LABEL = "Laboratory: network namespaces of one machine, with links whose delay is configured"
INWARD, OUTWARD = "Laboratory: six by four", "Laboratory: from the cloud outwards"
# A machine that builds a laboratory, or begins a worker, no faster gives all else more time, too.
_USUAL_S, _USUAL_JOIN_S = 1.5, 0.7
# Of MDA at each balancer: the greatest chance that it misses a next hop.
MDA_RISK = 0.001
_STEP_S = 0.25
_LONG_S = 86_400.0
_START_S = 0.5
_PLACES = {
    "Berlin": ("EU", 52.5, 13.4),
    "Toronto": ("NA", 43.7, -79.4),
    "Tokyo": ("AS", 35.7, 139.7),
    "Mumbai": ("AS", 19.1, 72.9),
    "São Paulo": ("SA", -23.5, -46.6),
    "Sydney": ("OC", -33.9, 151.2),
}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: ``brisk`` is one instance per region, and little at each.

    In the last round the links of the AS ``failing`` are down, unless it is 0.
    """

    rounds: int = 3
    failing: int = 0
    brisk: bool = False

    @property
    def pings(self) -> int:
        return 4 if self.brisk else 10

    @property
    def octets(self) -> int:
        return 50_000 if self.brisk else 1_000_000

    @property
    def most_stretch(self) -> float:
        """How much longer slots may get: those of a whole run are roomy from the beginning."""
        return 4.0 if self.brisk else 1.5

    @property
    def settling_s(self) -> float:
        """Before a failure, what was begun comes to its end, and its results come home."""
        return 2.0 if self.brisk else 4.0


def name_of(node: Node) -> str:
    """What the store calls a node that measures."""
    return f"lab-{node.name}"


def instances(plan: Topology, extent: Extent) -> list[Node]:
    """The instances that take part."""
    found = plan.of_kind("instance")
    return [n for n in found if n.zone == "a"] if extent.brisk else found


def hosts(plan: Topology, extent: Extent) -> list[Host]:
    """All nodes that measure, where they stand, and in which cloud."""
    found = []
    for node in (*plan.of_kind("vantage"), *instances(plan, extent)):
        city, country = node.place.split(", ")
        continent, lat, lon = _PLACES.get(city, ("", None, None))
        place = {
            "city": city,
            "country": country,
            "continent": continent,
            "lat": lat,
            "lon": lon,
            "asn": node.asn,
        }
        cloud = f"{plan.provider}/{node.region}/{node.zone}" if node.kind == "instance" else ""
        found.append(Host(node.name, name_of(node), {**place, "cloud": cloud}))
    return found


@dataclass(frozen=True, slots=True)
class Tempo:
    """How much time a busy machine is given: for slots, and for a failure between two rounds."""

    extent: Extent
    built_in_s: float
    # How long a vantage point's process took to begin, where some began at once.
    joined_in_s: float = 0.0

    @property
    def stretch(self) -> float:
        slower = max(self.built_in_s / _USUAL_S, self.joined_in_s / _USUAL_JOIN_S)
        return min(self.extent.most_stretch, max(1.0, slower))

    @property
    def failing_s(self) -> float:
        """Links are taken down, and routes find other ways, by about as many commands."""
        return 1.0 + 2 * self.built_in_s

    @property
    def gap_s(self) -> float:
        """Between two rounds: what came late ends, links fail, and routes are found."""
        return self.extent.settling_s * self.stretch + self.failing_s


def create_campaigns(plan: Topology, extent: Extent, tempo: Tempo) -> tuple[Campaign, Campaign]:
    """Store both campaigns; they begin at the same moment. Raises ``BadInput``."""
    close_old()
    inner, outer = instances(plan, extent), plan.of_kind("vantage")
    inward, outward = (_stretched(own, tempo) for own in _activities(extent))
    longest_s = max(
        _length_s(inward, len(outer), len(inner)), _length_s(outward, len(inner), len(outer))
    )
    starts = datetime.now(UTC) + timedelta(seconds=_START_S)
    found = []
    for name, own, ends, starting in (
        (INWARD, inward, inner, outer),
        (OUTWARD, outward, outer, inner),
    ):
        schedule = {
            "round_s": longest_s + tempo.gap_s,
            "rounds": extent.rounds,
            "activities": own,
            "title": "Laboratory",
        }
        asked = {
            "name": name,
            "schedule": schedule,
            "label": LABEL,
            "seed": 1,
            "targets": [_target(plan, end, extent) for end in ends],
            "vantages": [name_of(v) for v in starting],
            "starts_at": starts,
        }
        made = commands.start(asked, here=True)
        # No other scheduler takes it up, and wherever it is shown it is labelled.
        made.synthetic = True
        made.save(update_fields=["synthetic"])
        found.append(made)
    return found[0], found[1]


def close_old() -> None:
    """End campaigns of killed laboratories."""
    for left in Campaign.objects.filter(label=LABEL, in_process=True):
        if not left.is_final:
            services.fail(left, "its laboratory ended before it did", datetime.now(UTC))


def _target(plan: Topology, node: Node, extent: Extent) -> Row:
    own = {"host": plan.home(node.name), "port": 80, "path": f"/octets/{extent.octets}"}
    if node.kind == "vantage":
        return {**own, "name": name_of(node), "region": name_of(node)}
    return {
        **own,
        "name": node.name,
        "provider": plan.provider,
        "region": node.region,
        "zone": node.zone,
    }


def _activities(extent: Extent) -> tuple[list[Row], list[Row]]:
    """What is done from outside, and from the cloud; slots leave space for ends that are gone."""
    wait_s = 0.15 if extent.brisk else 0.3
    get_s = 0.3 if extent.brisk else 1.5
    pings = {"count": extent.pings, "interval_s": 0.02, "timeout_s": wait_s}
    # Few pings are lost, and who comes late may still begin: space for half of them is enough.
    ping_s = extent.pings * wait_s * (0.5 if extent.brisk else 1.0)
    ping = {"name": "ping", "probe": "tcp-ping", "slot_s": ping_s, "options": pings}
    get = {
        "name": "get",
        "probe": "throughput",
        "slot_s": get_s + 0.05,
        "clients": 1,
        "strict": True,
        "options": {"octets": extent.octets, "timeout_s": get_s},
    }
    trace = {"timeout_s": 0.3, "interval_s": 0.001, "silent_hops": 2, "attempts": 3}
    paths = {
        "name": "trace",
        "probe": "traceroute",
        "slot_s": 0.6 if extent.brisk else 2.0,
        "options": {**trace, "mda": True, "risk": MDA_RISK},
    }
    away = {
        "name": "trace",
        "probe": "traceroute",
        "slot_s": 0.5 if extent.brisk else 1.0,
        "options": {**trace, "window": 8},
    }
    return [ping, get, paths], [away]


def _stretched(activities: list[Row], tempo: Tempo) -> list[Row]:
    return [{**a, "slot_s": a["slot_s"] * tempo.stretch} for a in activities]


def _length_s(activities: list[Row], vantages: int, targets: int) -> float:
    """How long a round is without a pause, as it would be laid out."""
    whole = read_schedule({"round_s": _LONG_S, "activities": activities})
    return max(
        max(a.offsets_s) + a.window_s for a in place_windows(whole, vantages, targets).activities
    )


class Course:
    """Both campaigns from their beginning to their end, and a failure before the last round."""

    def __init__(self, lab: Laboratory, extent: Extent, owners: conclusion.OwnerLookup) -> None:
        self._lab, self._extent, self._whose = lab, extent, owners
        self._clock = SystemClock()
        self._outlets = scheduler.Outlets(dispatch.WAYS, self._leave)
        self._failure: threading.Timer | None = None
        # Held from the moment at which the failure begins; and while links are taken down.
        self._begun, self._failing = threading.Lock(), threading.Lock()

    def run(self, found: tuple[Campaign, Campaign], report: Callable[[str], None]) -> None:
        """Send, receive and conclude; raises ``Unavailable``."""
        collector = Collector(clock=self._clock)
        printed = -1
        try:
            while any(not one.is_final for one in found):
                self._step(found, collector)
                number = self._round(found[0])
                if number > printed:
                    printed = number
                    report(f"round {number + 1} of {self._extent.rounds}")
                time.sleep(_STEP_S)
        finally:
            if self._failure is not None:
                self._failure.cancel()
                self._failure.join()
            # A failure that has begun comes to its end before the laboratory does.
            with self._failing:
                pass

    def _step(self, found: tuple[Campaign, Campaign], collector: Collector) -> None:
        for one in found:
            one.refresh_from_db()
            if not one.is_final:
                scheduler.advance(one, self._clock, self._outlets)
        collector.collect()
        if self._extent.failing and found[0].started_at:
            self._failure = self._failure or self._fail_later(found[0])
            if not self._begun.locked() and self._may_fail(found):
                threading.Thread(target=self._fail).start()

    def _round(self, one: Campaign) -> int:
        passed_s = services.elapsed_s(one, self._clock.now())
        return max(0, min(int(passed_s // one.schedule["round_s"]), self._extent.rounds - 1))

    def _may_fail(self, found: tuple[Campaign, Campaign]) -> bool:
        """Once all rounds but the last are measured."""
        last = self._extent.rounds - 1
        out = (CampaignUnit.State.WAITING, CampaignUnit.State.SENT)
        return not any(m.units.filter(round__lt=last, state__in=out).exists() for m in found)

    def _fail_later(self, one: Campaign) -> threading.Timer:
        """At the latest when links just have time before the last round, whatever else is done."""
        last_s = (self._extent.rounds - 1) * one.schedule["round_s"]
        left_s = last_s - services.elapsed_s(one, self._clock.now())
        failing_s = Tempo(self._extent, self._lab.built_in_s).failing_s
        timer = threading.Timer(max(0.0, left_s - failing_s), self._fail)
        timer.start()
        return timer

    def _fail(self) -> None:
        """Run once, by the first caller."""
        with self._failing:
            if self._begun.acquire(blocking=False):
                self._lab.fail(self._lab.plan.links_of_as(self._extent.failing))

    def _leave(self, task: Task, one: Campaign) -> None:
        if task.name == scheduler.conclude.name:
            conclusion.conclude(one, self._clock.now(), self._whose)
