"""A plan and the limits of its ends go in; what would break them comes out, in sentences."""

from collections.abc import Mapping
from typing import Any

from probes.plans.cost import DAY_S, cost_of
from probes.plans.plan import Plan
from probes.plans.schedules import Activity

# Limits that a campaign may set for all its ends, and a vantage point for itself.
OCTETS_PER_DAY, PROBES_PER_SECOND, HOURS = "bytes_per_day", "probes_per_second", "hours"
CAMPAIGN_LIMITS = (
    "bytes_per_target_and_day", "bytes_per_vantage_and_day", "probes_per_target_and_day",
)  # fmt: skip


def broken_limits(
    plan: Plan,
    predicted: Mapping[str, Any],
    limits: Mapping[str, float],
    of_vantages: Mapping[str, Mapping[str, Any]],
) -> list[str]:
    """One sentence per limit that the plan would break; none when it keeps to all."""
    found = _of_campaign(predicted, limits)
    for vantage in plan.vantages:
        own = of_vantages.get(vantage, {})
        most = own.get(OCTETS_PER_DAY)
        octets = predicted["per_vantage"]["octets_per_day"]
        if most is not None and octets > most:
            found.append(f"{vantage} allows {most:,} bytes a day, and would move {octets:,}")
        fastest = own.get(PROBES_PER_SECOND)
        rate = peak_rate(plan)
        if fastest is not None and rate > fastest:
            found.append(f"{vantage} allows {fastest:g} probes a second, and would make {rate:g}")
    return found


def peak_rate(plan: Plan) -> float:
    """Runs of probes a second of one vantage point in its busiest window."""
    return max(_rate(a, plan) for a in plan.schedule.activities)


def _rate(activity: Activity, plan: Plan) -> float:
    slots = plan.rotation(activity, 0).slots
    return round(slots / activity.window_s, 3)


def _of_campaign(predicted: Mapping[str, Any], limits: Mapping[str, float]) -> list[str]:
    asked = (
        ("bytes_per_target_and_day", "per_target", "octets_per_day", "bytes", "target"),
        ("bytes_per_vantage_and_day", "per_vantage", "octets_per_day", "bytes", "vantage point"),
        ("probes_per_target_and_day", "per_target", "probes_per_day", "probes", "target"),
    )
    return [
        f"{predicted[share][figure]:,} {what} a day per {end} are more than the {limits[name]:,} "
        "that were set"
        for name, share, figure, what, end in asked
        if limits.get(name) is not None and predicted[share][figure] > limits[name]
    ]


def octets_of_window(activity: Activity, slots: int) -> int:
    """What a window moves at most, to hold it against what is left of a day."""
    return cost_of(activity).octets * slots


def is_open(hours: Any, second_of_day: float) -> bool:
    """Whether ``hours``, as [[from, to], …] in UTC, allow a moment; none allow all."""
    if not hours:
        return True
    hour = second_of_day % DAY_S / 3600
    return any(a <= hour < b if a <= b else hour >= a or hour < b for a, b in hours)
