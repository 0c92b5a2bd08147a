"""A campaign measured by the process that asks for it, from its own machine and without a broker.

The same units, orders, results messages and parts as with vantage points elsewhere.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings

from core.clock import BootTimeClock, Clock
from tasks.campaigns import conclusion, dispatch, results_receiver
from tasks.protocol.results_message import ResultsMessage, pack, unpack
from tasks.protocol.work_journal import Journal
from tasks.protocol.work_order import RunContext, fulfil
from webapp.store.campaigns import services, units
from webapp.store.models import Campaign, CampaignUnit

log = logging.getLogger(__name__)
HERE = "here"
_NAP_S = 0.5
Show = Callable[[Campaign], None]


def run_here(campaign: Campaign, clock: Clock | None = None, show: Show | None = None) -> Campaign:
    """Measure all that is left of a campaign, conclude it, and give it back as it is then.

    Interrupted and started again, it continues where it was; what was to be measured in between
    is missed. Raises ``Unavailable`` when the disk refuses.
    """
    time = clock or BootTimeClock()
    bench = RunContext(time, Journal(Path(settings.DATA_DIR) / "measuring"))
    while not services.create_units(campaign, time.now()):
        if campaign.state != Campaign.State.WAITING:
            break
        time.sleep(_NAP_S)
    services.mark_running(campaign, time.now())
    while not campaign.is_final and not units.is_complete(campaign):
        _step(campaign, bench)
        campaign.refresh_from_db()
        if show:
            show(campaign)
    if campaign.state == Campaign.State.RUNNING:
        conclusion.conclude(campaign, time.now())
    campaign.refresh_from_db()
    return campaign


def _step(campaign: Campaign, bench: RunContext) -> None:
    """The next unit, or a nap when none is due."""
    now = bench.clock.now()
    units.miss_past(campaign, now)
    due: list[CampaignUnit] = []
    if campaign.state == Campaign.State.RUNNING:
        due = units.interrupted_units(campaign) or units.due_units(campaign, now)
    if due:
        _measure(due[0], bench)
    else:
        bench.clock.sleep(_NAP_S)


def _measure(unit: CampaignUnit, bench: RunContext) -> None:
    if units.mark_sent(unit, bench.clock.now()):
        order = dispatch.order_of(unit)
        fulfil(order, bench, partial(_receive, unit.vantage))


def _receive(
    vantage: str, kind: str, head: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
) -> None:
    """What would go home from elsewhere goes the same way here."""
    results_receiver.HANDLERS[kind](vantage, unpack(pack(ResultsMessage(kind, head, columns))))
