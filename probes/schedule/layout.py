"""Place the windows of a schedule in its round, by the numbers of vantage points and targets."""

import math
from dataclasses import replace

from core.errors import BadInput
from probes.schedule.rotation import slots_needed
from probes.schedule.schedule import Activity, Schedule

# Sums of decimal fractions of seconds.
_TINY_S = 1e-6


def place_windows(schedule: Schedule, vantages: int, targets: int) -> Schedule:
    """Give each group of each activity its window; raises ``BadInput`` when a round has no space.

    Strict activities come first, one group after the other. Others are placed where their
    group is idle, or after them.
    """
    if vantages < 1 or targets < 1:
        raise BadInput("a campaign needs a vantage point and a target at least")
    groups = schedule.groups or groups_needed(schedule, vantages, targets)
    size = math.ceil(vantages / groups)
    sized = tuple(_size(a, size, targets) for a in schedule.activities)
    placed = _place(sized, groups)
    found = replace(schedule, groups=groups, activities=placed)
    _check(found)
    return found


def groups_needed(schedule: Schedule, vantages: int, targets: int) -> int:
    """So many that a strict activity has a target for each vantage point of a group."""
    limits = [a.clients for a in schedule.activities if a.strict and a.clients]
    return max((math.ceil(vantages / (targets * c)) for c in limits), default=1)


def _size(activity: Activity, vantages: int, targets: int) -> Activity:
    """With the number of clients and the window that it takes."""
    clients = activity.clients or math.ceil(vantages / targets)
    slots = slots_needed(vantages, targets, clients)
    window_s = activity.window_s or slots * activity.slot_s
    width_s = window_s / slots
    least_s = max(activity.slot_s, activity.limit_s)
    if width_s < least_s - _TINY_S:
        raise BadInput(
            f"{activity.name} has {slots} slots of {width_s:g} s, which need {least_s:g} s each; "
            "lengthen its window or slot, or use more groups",
            field="activities",
        )
    if activity.strict and activity.jitter:
        raise BadInput(f"{activity.name} is strict, and cannot have jitter", field="activities")
    return replace(activity, clients=clients, window_s=window_s)


def _place(activities: tuple[Activity, ...], groups: int) -> tuple[Activity, ...]:
    strict = [a for a in activities if a.strict and not a.offsets_s]
    rest = [a for a in activities if not a.strict and not a.offsets_s]
    block_s = sum(groups * a.window_s for a in strict)
    quiet_s = sum(a.window_s for a in rest)
    beside = len(strict) == 1 and groups > 1 and quiet_s <= strict[0].window_s + _TINY_S
    offsets: dict[str, tuple[float, ...]] = {}
    before_s = 0.0
    for one in strict:
        offsets[one.name] = tuple(before_s + g * one.window_s for g in range(groups))
        before_s += groups * one.window_s
    before_s = 0.0
    for one in rest:
        begins = [
            (g + 1) % groups * strict[0].window_s if beside else block_s for g in range(groups)
        ]
        offsets[one.name] = tuple(begin + before_s for begin in begins)
        before_s += one.window_s
    return tuple(replace(a, offsets_s=offsets.get(a.name, a.offsets_s)) for a in activities)


def _check(schedule: Schedule) -> None:
    for activity in schedule.activities:
        if len(activity.offsets_s) != schedule.groups:
            raise BadInput(
                f"{activity.name} has {len(activity.offsets_s)} offsets for {schedule.groups} "
                "groups of vantage points",
                field="activities",
            )
    needed_s = max(max(a.offsets_s) + a.window_s for a in schedule.activities)
    if needed_s > schedule.round_s + _TINY_S:
        raise BadInput(
            f"a round takes {needed_s:g} s; it has {schedule.round_s:g} s: lengthen it, or leave "
            "out targets, vantage points or activities",
            field="round_s",
        )
    for group in range(schedule.groups):
        _check_group(schedule, group)


def _check_group(schedule: Schedule, group: int) -> None:
    """A vantage point does one thing at a time."""
    windows = sorted((a.offsets_s[group], a.window_s, a.name) for a in schedule.activities)
    for (begin, length, name), (following, _, other) in zip(windows, windows[1:], strict=False):
        if begin + length > following + _TINY_S:
            raise BadInput(
                f"{name} and {other} overlap in group {group + 1} of vantage points",
                field="activities",
            )
