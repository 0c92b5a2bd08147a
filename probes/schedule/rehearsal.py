"""Simulate a plan on a virtual clock: who measures what when, and which results are lost.

Vantage points fail at random moments, and some results arrive twice. The findings do not rely on
the invariants of the plan: every run is observed as it begins and ends.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from core.clock import Clock
from probes.schedule.plan import Plan, Window

# How often a result comes twice: a message without acknowledgement is sent again.
_DOUBLED = 0.05


# A moment, +1 for the beginning of a run and -1 for its end, and where: activity and target.
_Event = tuple[float, int, tuple[str, int]]


@dataclass
class Rehearsal:
    """What was seen, by activity where there are several."""

    slots: int = 0
    runs: int = 0
    counted: int = 0
    doubled: int = 0
    died: int = 0
    # Vantage points at one target at once, at most; windows of a group, in seconds.
    meetings: dict[str, int] = field(default_factory=dict)
    window_s: dict[str, float] = field(default_factory=dict)
    # Pairs that were missed, or met more than once, in a round of vantage points that all live.
    wrong_pairs: int = 0
    overlapping_windows: int = 0
    clock_s: float = 0.0

    @property
    def missed(self) -> int:
        return self.slots - self.counted

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form."""
        share = self.counted / self.slots if self.slots else None
        return {**asdict(self), "missed": self.missed, "coverage": share}


@dataclass
class _Stage:
    """The state of a rehearsal: who dies when, who is where now, and what was counted."""

    chance: random.Random
    deaths: dict[str, float]
    here: dict[tuple[str, int], int] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    free_at: dict[str, float] = field(default_factory=dict)


def rehearse(plan: Plan, clock: Clock, dying: float = 0.0, seed: int = 0) -> Rehearsal:
    """Go through a plan; a share of the vantage points dies at random moments, and stays dead."""
    chance = random.Random(f"rehearsal/{seed}")
    names = chance.sample(sorted(plan.vantages), round(dying * len(plan.vantages)))
    deaths = {name: chance.random() * plan.schedule.duration_s for name in names}
    stage, found = _Stage(chance, deaths), Rehearsal(died=len(names))
    began = clock.monotonic()
    for windows in _rounds(plan):
        windows.sort(key=lambda w: w.starts_s)
        events: list[_Event] = []
        for window in windows:
            _run(plan, window, stage, found, events)
        _watch(events, clock, began, stage, found)
        for window in windows:
            _deliver(window, stage, found)
    found.clock_s = clock.monotonic() - began
    return found


def _rounds(plan: Plan) -> Iterator[list[Window]]:
    own: list[Window] = []
    for window in plan.windows():
        if own and window.round != own[0].round:
            yield own
            own = []
        own.append(window)
    yield own


def _run(plan: Plan, window: Window, stage: _Stage, found: Rehearsal, events: list[_Event]) -> None:
    """What a vantage point does in a window as long as it lives."""
    activity = plan.schedule.activity(window.activity)
    found.slots += window.slots
    found.window_s[window.activity] = window.ends_s - window.starts_s
    found.overlapping_windows += stage.free_at.get(window.vantage, 0.0) > window.starts_s + 1e-6
    stage.free_at[window.vantage] = window.ends_s
    slots = plan.slots(window.activity, window.round, window.vantage)
    found.wrong_pairs += sorted(s.target for s in slots) != list(range(plan.targets))
    dies_s = stage.deaths.get(window.vantage, float("inf"))
    limit_s = activity.limit_s or activity.slot_s / 2
    chance = stage.chance.random
    for slot in slots:
        # A run may begin at the latest moment, and take as long as it may.
        late_s = (slot.latest_s - slot.offset_s) * chance() if activity.strict else 0.0
        begins_s = window.starts_s + slot.offset_s + late_s
        if begins_s < dies_s:
            place = (window.activity, slot.target)
            events.append((begins_s, 1, place))
            events.append((min(begins_s + limit_s * chance(), dies_s), -1, place))


def _watch(
    events: list[_Event], clock: Clock, began: float, stage: _Stage, found: Rehearsal
) -> None:
    """Move the clock from event to event, and see who is at which target at once."""
    events.sort()
    here, meetings = stage.here, found.meetings
    for moment, change, place in events:
        clock.sleep(max(0.0, began + moment - clock.monotonic()))
        here[place] = now = here.get(place, 0) + change
        if change > 0 and now > meetings.get(place[0], 0):
            meetings[place[0]] = now
    found.runs += len(events) // 2


def _deliver(window: Window, stage: _Stage, found: Rehearsal) -> None:
    """A result is counted once, however often it comes; of the dead, none comes."""
    if stage.deaths.get(window.vantage, float("inf")) < window.ends_s:
        return
    for _ in range(2 if stage.chance.random() < _DOUBLED else 1):
        if window.key in stage.counted:
            found.doubled += 1
            continue
        stage.counted.add(window.key)
        found.counted += window.slots
