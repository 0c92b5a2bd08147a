"""Parse and check a schedule: rounds and activities."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from core.errors import BadInput
from probes.registry import configure, find_probe
from probes.schedule.bounds import check_bounds

MAX_ROUNDS = 100_000
MIN_ROUND_S, MAX_ROUND_S = 0.05, 366 * 86_400.0
# Names are part of keys and file names.
ACTIVITY_NAME = "[a-z][a-z0-9-]{0,23}"
# Fields that the creator of a campaign gives elsewhere, for all activities together.
_CAMPAIGN_FIELDS = ("allow", "deny")


@dataclass(frozen=True, slots=True)
class Activity:
    """One probe that every vantage point of a group runs at every target, one slot each.

    ``slot_s`` is the least length of a slot. ``clients`` are at one target at once at most, 0 for
    as many as it takes. A ``strict`` slot ends when the next begins, whatever it costs: what
    cannot end in time is missed; others may be late. ``times`` is the number of rounds in which
    it takes place, 0 for all. ``window_s`` and ``offsets_s`` (one per group) are laid out where
    they are not given.
    """

    name: str
    probe: str
    options: Mapping[str, Any]
    slot_s: float
    clients: int = 0
    strict: bool = False
    jitter: float = 0.0
    times: int = 0
    window_s: float = 0.0
    offsets_s: tuple[float, ...] = ()

    @property
    def limit_s(self) -> float:
        """How long one run of the probe may take, as far as the slot depends on it."""
        return float(self.options.get("timeout_s", 0.0)) if self.strict else 0.0

    def rounds(self, rounds: int) -> tuple[int, ...]:
        """The rounds in which it takes place, spread evenly."""
        if not self.times or self.times >= rounds:
            return tuple(range(rounds))
        return tuple(i * rounds // self.times for i in range(self.times))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Rounds of ``round_s``; in each, ``groups`` of vantage points (0: as many as it takes)."""

    round_s: float
    rounds: int
    activities: tuple[Activity, ...]
    groups: int = 0
    title: str = ""

    @property
    def duration_s(self) -> float:
        return self.rounds * self.round_s

    def activity(self, name: str) -> Activity:
        """The activity of that name; raises ``KeyError``."""
        return {a.name: a for a in self.activities}[name]

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form."""
        return asdict(self)


def read_schedule(data: Mapping[str, Any]) -> Schedule:
    """A schedule from its plain form; raises ``BadInput`` naming the field."""
    _refuse_unknown_keys(data, Schedule, "schedule")
    listed = data.get("activities")
    if not isinstance(listed, (list, tuple)) or not listed:
        raise BadInput("give one activity at least", field="activities")
    activities = tuple(_activity(a, f"activities.{i}") for i, a in enumerate(listed))
    if len({a.name for a in activities}) < len(activities):
        raise BadInput("two activities have the same name", field="activities")
    rounds = _number(data, "rounds", 1, 1, MAX_ROUNDS)
    return Schedule(
        round_s=_number(data, "round_s", 900.0, MIN_ROUND_S, MAX_ROUND_S),
        rounds=int(rounds),
        activities=activities,
        groups=int(_number(data, "groups", 0, 0, 10_000)),
        title=str(data.get("title", ""))[:200],
    )


def _activity(data: Any, where: str) -> Activity:
    if not isinstance(data, Mapping):
        raise BadInput("an activity is a table of fields", field=where)
    _refuse_unknown_keys(data, Activity, where)
    name, probe = str(data.get("name") or data.get("probe")), str(data.get("probe"))
    if not re.fullmatch(ACTIVITY_NAME, name):
        raise BadInput(f"{name!r} is not a name; use up to 24 of a-z, 0-9 and -", field=where)
    options = dict(data.get("options") or {})
    _check_options(probe, options, where)
    offsets = data.get("offsets_s") or ()
    return Activity(
        name=name,
        probe=probe,
        options=options,
        slot_s=_number(data, "slot_s", 1.0, 0.01, 86_400, where),
        clients=int(_number(data, "clients", 0, 0, 1_000_000, where)),
        strict=bool(data.get("strict", False)),
        jitter=_number(data, "jitter", 0.0, 0.0, 0.9, where),
        times=int(_number(data, "times", 0, 0, MAX_ROUNDS, where)),
        window_s=_number(data, "window_s", 0.0, 0.0, MAX_ROUND_S, where),
        offsets_s=tuple(_number({"offset": o}, "offset", 0, 0, 1e9, where) for o in offsets),
    )


def _check_options(probe: str, options: dict[str, Any], where: str) -> None:
    for name in _CAMPAIGN_FIELDS:
        if name in options:
            raise BadInput("networks are allowed for the whole campaign", field=f"{where}.options")
    try:
        config = configure(find_probe(probe), options)
    except (ValueError, TypeError) as error:
        raise BadInput(str(error), field=where) from error
    try:
        check_bounds(options, config)
    except (ValueError, TypeError) as error:
        raise BadInput(str(error), field=f"{where}.options") from error


def _refuse_unknown_keys(data: Mapping[str, Any], kind: Any, where: str) -> None:
    strange = sorted(set(data) - {f.name for f in fields(kind)})
    if strange:
        known = ", ".join(f.name for f in fields(kind))
        raise BadInput(f"{strange[0]!r} is not known; there are {known}", field=where)


def _number(
    data: Mapping[str, Any], name: str, default: float, low: float, high: float, where: str = ""
) -> float:
    value = data.get(name, default)
    field = f"{where}.{name}" if where else name
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise BadInput(f"{value!r} is not a number", field=field)
    # Comparisons with a value that is not a number are false.
    if not low <= value <= high:
        raise BadInput(f"{value} is not from {low:g} to {high:g}", field=field)
    return value
