"""Check a plan against the limits of its vantage points and targets."""

from collections.abc import Mapping
from typing import Any

from probes.kinds import traceroute
from probes.networks import globalping, ripe_atlas
from probes.registry import PROBES
from probes.schedule.cost import cost_of
from probes.schedule.plan import Plan
from probes.schedule.schedule import Activity

# What a campaign may set for all its ends, and which share of its cost is held against it.
_OF_CAMPAIGN = {
    "bytes_per_target_and_day": ("per_target", "octets_per_day", "bytes", "target"),
    "bytes_per_vantage_and_day": ("per_vantage", "octets_per_day", "bytes", "vantage point"),
    "probes_per_target_and_day": ("per_target", "probes_per_day", "probes", "target"),
}
CAMPAIGN_LIMITS = tuple(_OF_CAMPAIGN)
_NETWORKS = {
    "atlas": ("RIPE Atlas", ripe_atlas.TYPES),
    "globalping": ("Globalping", globalping.TYPES),
    "synthetic": (
        "A synthetic vantage point",
        frozenset(p.NAME for p in PROBES) - {traceroute.NAME},
    ),
}


def broken_limits(
    plan: Plan,
    predicted: Mapping[str, Any],
    limits: Mapping[str, Any],
    of_vantages: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """One sentence per limit that the plan would break; none when it keeps to all."""
    found = [
        f"{predicted[share][figure]:,} {what} a day per {end} are more than the {limits[name]:,} "
        "that were set"
        for name, (share, figure, what, end) in _OF_CAMPAIGN.items()
        if limits.get(name) is not None and predicted[share][figure] > limits[name]
    ]
    octets, rate = predicted["per_vantage"]["octets_per_day"], peak_rate(plan)
    for vantage in plan.vantages:
        own = of_vantages.get(vantage, {})
        most, fastest = own.get("bytes_per_day"), own.get("probes_per_s")
        if most is not None and octets > most:
            found.append(f"{vantage} allows {most:,} bytes a day, and would move {octets:,}")
        if fastest is not None and rate > fastest:
            found.append(f"{vantage} allows {fastest:g} probes a second, and would make {rate:g}")
    return found


def unsupported_probes(plan: Plan, sources: Mapping[str, str]) -> list[str]:
    """One sentence per activity that a source of vantage points of the plan has not."""
    used = {sources.get(name) for name in plan.vantages}
    return [
        f"{name} has no {activity.probe}, which {activity.name} takes; it has {', '.join(known)}: "
        "leave out the activity, or its vantage points"
        for network, (name, known) in _NETWORKS.items()
        if network in used
        for activity in plan.schedule.activities
        if activity.probe not in known
    ]


def peak_rate(plan: Plan) -> float:
    """Requests a second of one vantage point in its busiest window."""
    return max(_rate(a, plan) for a in plan.schedule.activities)


def _rate(activity: Activity, plan: Plan) -> float:
    slots = plan.rotation(activity, 0).slots
    return round(cost_of(activity).requests * slots / activity.window_s, 3)
