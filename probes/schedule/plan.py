"""A schedule laid out for vantage points and targets by a seed: its windows and their slots.

All of it follows from its fields, so that nothing but a window's result needs to be stored.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from probes.schedule.layout import place_windows
from probes.schedule.rotation import Rotation
from probes.schedule.schedule import Activity, Schedule

# A result that comes later than this after its window is not waited for as a matter of course.
MOST_SPARE_S = 15.0


@dataclass(frozen=True, slots=True)
class Window:
    """What one vantage point does in one round of one activity; seconds from the first round."""

    key: str
    activity: str
    vantage: str
    round: int
    starts_s: float
    ends_s: float
    slots: int


class Slot(NamedTuple):
    """One run of a probe: its target, and when it begins, at the latest, within the window."""

    number: int
    target: int
    offset_s: float
    latest_s: float


@dataclass(frozen=True)
class Plan:
    """All windows and slots of a campaign."""

    schedule: Schedule
    vantages: tuple[str, ...]
    targets: int
    seed: int = 0

    @classmethod
    def of(cls, schedule: Schedule, vantages: Sequence[str], targets: int, seed: int = 0) -> "Plan":
        """Plan a schedule for them; raises ``BadInput`` when a round has no space."""
        laid_out = place_windows(schedule, len(vantages), targets)
        return cls(laid_out, tuple(vantages), targets, seed)

    @cached_property
    def seats(self) -> dict[str, tuple[int, int]]:
        """(group, rank in it) of each vantage point."""
        order = list(self.vantages)
        random.Random(f"{self.seed}/seats").shuffle(order)
        groups = self.schedule.groups
        return {name: (i % groups, i // groups) for i, name in enumerate(order)}

    @property
    def slot_count(self) -> int:
        """All slots of all rounds."""
        rounds = sum(len(a.rounds(self.schedule.rounds)) for a in self.schedule.activities)
        return rounds * len(self.vantages) * self.targets

    @property
    def window_count(self) -> int:
        """All windows of all rounds."""
        return self.slot_count // self.targets

    def windows(self) -> Iterator[Window]:
        """All windows, round by round."""
        taken = {a.name: set(a.rounds(self.schedule.rounds)) for a in self.schedule.activities}
        for number in range(self.schedule.rounds):
            for activity in self.schedule.activities:
                if number in taken[activity.name]:
                    yield from self._windows(activity, number)

    def slots(self, activity: str, number: int, vantage: str) -> tuple[Slot, ...]:
        """The slots of a window, in the order of time."""
        own = self.schedule.activity(activity)
        group, rank = self.seats[vantage]
        rotation = self.rotation(own, number)
        width_s = own.window_s / rotation.slots
        visits = rotation.visits(rank)
        if own.strict:
            spare_s = width_s - own.limit_s
            return tuple(Slot(s, t, s * width_s, s * width_s + spare_s) for s, t in visits)
        delays = self._delays(own, number, vantage, len(visits))
        latest_s = own.window_s + self._spare_s(own, group)
        return tuple(
            Slot(slot, target, (slot + delay) * width_s, latest_s)
            for (slot, target), delay in zip(visits, delays, strict=True)
        )

    def rotation(self, activity: Activity, number: int) -> Rotation:
        """The circle of an activity in a round: the same for all groups, which take turns."""
        size = -(-len(self.vantages) // self.schedule.groups)
        seed = f"{self.seed}/{activity.name}/{number}"
        return Rotation(size, self.targets, activity.clients, seed)

    def _windows(self, activity: Activity, number: int) -> Iterator[Window]:
        for index, vantage in enumerate(self.vantages):
            begin = number * self.schedule.round_s + activity.offsets_s[self.seats[vantage][0]]
            yield Window(
                f"r{number:06d}.{activity.name}.{index:05d}",
                activity.name,
                vantage,
                number,
                begin,
                begin + activity.window_s,
                self.targets,
            )

    def _spare_s(self, activity: Activity, group: int) -> float:
        """How long after its window a vantage point that came late may still begin.

        It has nothing else to do until its next window; a slot's length is left before that.
        """
        begins = [a.offsets_s[group] for a in self.schedule.activities]
        ended_s = activity.offsets_s[group] + activity.window_s
        following_s = min(
            (b for b in begins if b >= ended_s - 1e-6), default=self.schedule.round_s + min(begins)
        )
        return max(0.0, min(MOST_SPARE_S, following_s - ended_s - activity.slot_s))

    def _delays(self, activity: Activity, number: int, vantage: str, count: int) -> list[float]:
        """Parts of a slot by which runs are put off, so that they do not come in step."""
        if not activity.jitter:
            return [0.0] * count
        chance = random.Random(f"{self.seed}/{activity.name}/{number}/{vantage}")
        return [chance.random() * activity.jitter for _ in range(count)]
