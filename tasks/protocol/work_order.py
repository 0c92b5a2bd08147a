"""Run a work order: one unit of a campaign, slot by slot, reported as a results message.

It knows neither Django nor Arrow, and keeps a journal: a process that is killed and started
again continues with the slots that are left, and an order that comes twice is done once.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from core.clock import Clock
from core.errors import BadInput, NephoscopeError
from probes.records import Target
from probes.registry import Probe, configure, find_probe
from probes.schedule.cost import Cost, cost_of
from probes.schedule.schedule import Activity
from tasks.protocol.work_journal import Journal

log = logging.getLogger(__name__)
BEGAN, RESULT = "unit-began", "unit-result"
COLUMNS = ("slot", "late_s", "result")
STOPPED = "the campaign was stopped"
# Sleep no longer than this, so that the end of the process is noticed.
_NAP_S = 0.5
# The outcome of a unit with an older window is reported only on request.
_WORTH_S = 120.0
# What the centre knows by itself is not sent home.
_KNOWN = frozenset({"target", "lost", "attempts", "transits_ms"})

# Messages keep the name that a campaign had before, so that vantage points of either version work.
_NAMES = {"campaign": "measurement"}
_FIELDS = {name: field_name for field_name, name in _NAMES.items()}


@dataclass(frozen=True, slots=True)
class Order:
    """Instructions for a vantage point; ``due`` and ``ends`` are seconds since the epoch.

    ``slots`` have number, place in ``targets``, and when they begin, normally and at the latest,
    in seconds from ``due``; ``offset_s`` is how far the clock there goes ahead of the centre's.
    """

    campaign: str
    unit: str
    attempt: int
    due: float
    ends: float
    probe: str
    targets: Sequence[Mapping[str, Any]]
    slots: Sequence[Sequence[float]]
    options: Mapping[str, Any] = field(default_factory=dict)
    allow: Sequence[str] = ()
    deny: Sequence[str] = ()
    offset_s: float = 0.0
    strict: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Order":
        """An order from its message; raises ``BadInput``."""
        try:
            return cls(**{_FIELDS.get(name, name): value for name, value in data.items()})
        except TypeError as error:
            raise BadInput(f"this is no order: {error}") from error

    def as_json(self) -> dict[str, Any]:
        """The stable JSON form."""
        return {_NAMES.get(name, name): value for name, value in asdict(self).items()}

    @property
    def head(self) -> dict[str, Any]:
        """Fields that identify the unit and the attempt."""
        return {"measurement": self.campaign, "unit": self.unit, "attempt": self.attempt}


Report = Callable[[str, Mapping[str, Any], Mapping[str, Sequence[Any]]], None]
# Waits until so many packets and octets may be sent; raises an error where they may not.
Spend = Callable[[int, int], None]


@dataclass(frozen=True)
class RunContext:
    """What a place gives to a measurement: a clock, a journal, limits, and whether to continue.

    ``is_stopped`` tests whether a campaign was stopped.
    """

    clock: Clock
    journal: Journal
    spend: Spend | None = None
    ended: Callable[[], bool] = bool
    is_stopped: Callable[[str], bool] = frozenset().__contains__


def fulfil(order: Order, bench: RunContext, report: Report) -> None:
    """Measure an order, or what is left of it, and report; raises ``Unavailable``.

    If the process is stopped, nothing is reported: the contents of the journal are reported when
    the order comes again.
    """
    before = bench.journal.open(order.campaign, order.unit)
    if not before.is_done:
        bench.journal.record_order(order.as_json())
        report(BEGAN, order.head, {})
        if not _run(order, before.seen, bench):
            return
        bench.journal.close()
        before = bench.journal.open(order.campaign, order.unit)
    report(RESULT, {**order.head, "missed": before.missed}, before.columns(COLUMNS))


def resume(bench: RunContext, report: Report) -> None:
    """Continue with what a process that was killed left, as far as it is worth it.

    What is left of older units is requested by the centre, if it still wants it.
    """
    for data in bench.journal.unfinished():
        order = Order.from_json(data)
        if order.ends + order.offset_s + _WORTH_S > bench.clock.now().timestamp():
            fulfil(order, bench, report)


def _run(order: Order, seen: frozenset[int], bench: RunContext) -> bool:
    """Run the slots that the journal does not hold; false when the process ends before."""
    try:
        probe, config, cost = _prepare(order)
    except ValueError as error:
        # Another version may know it; here it is reported at once instead of at the end of the
        # slot.
        for number, *_ in order.slots:
            bench.journal.miss(int(number), f"not known here: {error}"[:200])
        return True
    clock = bench.clock
    begin = clock.monotonic() + order.due + order.offset_s - clock.now().timestamp()
    for number, place, offset_s, latest_s in order.slots:
        if number in seen:
            continue
        if not _wait(begin + offset_s, order, bench):
            return False
        late_s = clock.monotonic() - begin - offset_s
        reason = _why_not(order, begin + latest_s, cost, bench)
        if reason:
            bench.journal.miss(int(number), reason)
            continue
        target = _target(order.targets[int(place)])
        result = probe.run(target, config, clock).as_json()
        kept = {k: v for k, v in result.items() if k not in _KNOWN}
        kept["at"] -= order.offset_s
        bench.journal.add(int(number), {"late_s": round(max(0.0, late_s), 3), "result": kept})
    return True


def _prepare(order: Order) -> tuple[Probe, Any, Cost]:
    """The probe, its configuration and what a run takes; raises ``ValueError``."""
    probe = find_probe(order.probe)
    config = configure(probe, dict(order.options))
    cost = cost_of(Activity(probe.NAME, probe.NAME, dict(order.options), 1.0))
    return probe, replace(config, allow=tuple(order.allow), deny=tuple(order.deny)), cost


def _wait(moment: float, order: Order, bench: RunContext) -> bool:
    """Sleep until a moment, or until the result is no longer needed; false when the process has to
    end before.
    """
    while not bench.ended():
        left = moment - bench.clock.monotonic()
        if left <= 0 or bench.is_stopped(order.campaign):
            return True
        bench.clock.sleep(min(left, _NAP_S))
    return False


def _why_not(order: Order, latest: float, cost: Cost, bench: RunContext) -> str:
    """Why a slot is not run now; empty when it is."""
    if bench.is_stopped(order.campaign):
        return STOPPED
    if bench.clock.monotonic() <= latest and bench.spend:
        try:
            bench.spend(cost.requests, cost.octets)
        except NephoscopeError as error:
            return f"limit: {error}"[:200]
    # Also where the limit has let it wait: the slot may be another's by now.
    return "" if bench.clock.monotonic() <= latest else "its time was over"


def _target(data: Mapping[str, Any]) -> Target:
    return Target(
        str(data["host"]),
        int(data.get("port", 0)),
        int(data.get("family", 0)),
        str(data.get("path") or "/"),
    )
