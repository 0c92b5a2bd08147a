"""A campaign measured by the process that asks for it, from its own machine and without a broker.

The same units, orders, parcels and parts as with vantage points elsewhere.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from core.clock import Clock, WakefulClock
from tasks.campaigns import conclusion, dispatch, results_receiver
from tasks.protocol.results_message import Parcel, pack, unpack
from tasks.protocol.work_journal import Journal
from tasks.protocol.work_order import Bench, fulfil
from webapp.store.campaigns import services, units
from webapp.store.models import Measurement, MeasurementUnit

log = logging.getLogger(__name__)
HERE = "here"
_NAP_S = 0.5
Show = Callable[[Measurement], None]


def run_here(
    measurement: Measurement, clock: Clock | None = None, show: Show | None = None
) -> Measurement:
    """Measure all that is left of a campaign, conclude it, and give it back as it is then.

    Interrupted and started again, it goes on where it was; what was to be measured in between
    is missed. Raises ``Unavailable`` when the disk refuses.
    """
    time = clock or WakefulClock()
    bench = Bench(time, Journal(Path(settings.DATA_DIR) / "measuring"))
    while not services.lay_out(measurement, time.now()):
        if measurement.state != Measurement.State.WAITING:
            break
        time.sleep(_NAP_S)
    services.begin(measurement, time.now())
    while not measurement.is_final and not units.is_complete(measurement):
        _step(measurement, bench)
        measurement.refresh_from_db()
        if show:
            show(measurement)
    if measurement.state == Measurement.State.RUNNING:
        conclusion.conclude(measurement, time.now())
    measurement.refresh_from_db()
    return measurement


def _step(measurement: Measurement, bench: Bench) -> None:
    """The next unit, or a nap when none is due."""
    now = bench.clock.now()
    units.miss_past(measurement, now)
    due: list[MeasurementUnit] = []
    if measurement.state == Measurement.State.RUNNING:
        due = units.left_here(measurement) or units.due_units(measurement, now)
    if due:
        _measure(due[0], bench)
    else:
        bench.clock.sleep(_NAP_S)


def _measure(unit: MeasurementUnit, bench: Bench) -> None:
    if units.mark_sent(unit, bench.clock.now()):
        order = dispatch.order_of(unit)
        fulfil(order, bench, partial(_take, unit.vantage))


def _take(
    vantage: str, kind: str, head: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
) -> None:
    """What would go home from elsewhere goes the same way here."""
    results_receiver.HANDLERS[kind](vantage, unpack(pack(Parcel(kind, head, columns))))
