"""What a plan will cost, before it starts: probes, octets, time and credits, per end and in all.

Octets are those on the wire in both directions, as far as a probe decides them itself: an upper
bound where the other side may stop early.
"""

from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from typing import Any

from probes.networks import globalping, ripe_atlas
from probes.registry import configure, find_probe
from probes.schedule.plan import Plan
from probes.schedule.schedule import Activity

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Cost:
    """What one run of a probe, or many, take; ``requests`` are what vantage points limit."""

    probes: int = 0
    requests: int = 0
    packets: int = 0
    octets: int = 0

    def times(self, count: int) -> "Cost":
        """So many runs."""
        return Cost(*(value * count for value in astuple(self)))

    def plus(self, other: "Cost") -> "Cost":
        """Both."""
        return Cost(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def cost_of(activity: Activity) -> Cost:
    """One run of an activity's probe."""
    probe = find_probe(activity.probe)
    run = probe.cost(configure(probe, dict(activity.options)))
    return Cost(1, run.requests, run.packets, run.octets)


def predict(plan: Plan, sources: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The whole campaign in its plain form; ``sources`` are those of vantage points.

    Credits are counted for public networks only: RIPE Atlas by result, Globalping by test.
    """
    schedule = plan.schedule
    whole, by_activity = Cost(), []
    for activity in schedule.activities:
        rounds = len(activity.rounds(schedule.rounds))
        own = cost_of(activity).times(rounds * plan.targets)
        total = own.times(len(plan.vantages))
        whole = whole.plus(total)
        by_activity.append(
            {
                "activity": activity.name,
                "probe": activity.probe,
                "rounds": rounds,
                **asdict(total),
                "window_s": activity.window_s,
                "clients": activity.clients,
            }
        )
    days = max(schedule.duration_s / DAY_S, 1.0)
    vantages, targets = len(plan.vantages), plan.targets
    return {
        **asdict(whole),
        "duration_s": schedule.duration_s,
        "rounds": schedule.rounds,
        "round_s": schedule.round_s,
        "groups": schedule.groups,
        "vantages": vantages,
        "targets": targets,
        "units": plan.window_count,
        "activities": by_activity,
        "per_vantage": _share(whole, vantages, days),
        "per_target": _share(whole, targets, days),
        "credits": credits_of(plan, sources or {}),
    }


def _share(whole: Cost, ends: int, days: float) -> dict[str, Any]:
    """What one end has of it; a campaign shorter than a day counts as one day."""
    return {
        "probes": whole.probes // ends,
        "octets": whole.octets // ends,
        "probes_per_day": round(whole.probes / ends / days),
        "octets_per_day": round(whole.octets / ends / days),
    }


def credits_of(plan: Plan, sources: Mapping[str, str]) -> dict[str, int]:
    """Credits by public network; a network without participating vantage points has none."""
    found: dict[str, int] = {}
    for network, price in (("atlas", _atlas), ("globalping", _globalping)):
        count = sum(sources.get(name) == network for name in plan.vantages)
        runs = [
            (a, len(a.rounds(plan.schedule.rounds)) * plan.targets * count)
            for a in plan.schedule.activities
        ]
        total = sum(price(activity) * number for activity, number in runs)
        if count:
            found[network] = total
    return found


def _atlas(activity: Activity) -> int:
    """The price of a one-off result, which is what every slot is."""
    known = activity.probe in ripe_atlas.TYPES
    return ripe_atlas.credits_for(activity.probe, activity.options) if known else 0


def _globalping(activity: Activity) -> int:
    return int(activity.probe in globalping.TYPES)
