"""Units of a campaign become orders and go to their vantage points, each by the way of its source.

A dispatcher gets an order and the moment at which it expires; it raises ``Unavailable`` when it
does not work now. Results come back as results messages (``tasks.campaigns.results_receiver``),
whatever the way.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tasks.protocol import vantage_queues
from tasks.protocol.work_order import Order
from webapp.store.access import domain_claims
from webapp.store.campaigns.plans import plan_of
from webapp.store.models import CampaignUnit, VantagePoint

MEASURE = "tasks.vantage.measure"
# An address for documentation (RFC 5737), to which nothing is sent.
_DENIED_ADDRESS, _DENIED_PREFIX = "192.0.2.1", "192.0.2.1/32"
Way = Callable[[VantagePoint, Order, float], None]
# By source of vantage points.
Ways = Mapping[str, Way]


def order_of(unit: CampaignUnit, point: VantagePoint | None = None) -> Order:
    """The work order of a unit that was marked as sent."""
    campaign = unit.campaign
    plan = plan_of(campaign)
    activity = plan.schedule.activity(unit.activity)
    slots = plan.slots(unit.activity, unit.round, unit.vantage)
    places = {target: i for i, target in enumerate(sorted({s.target for s in slots}))}
    due = unit.due_at.timestamp() if unit.due_at else 0.0
    # Nothing is sent to the targets of a synthetic campaign.
    excluded = domain_claims.OptOuts() if campaign.synthetic else domain_claims.opt_outs()
    targets = [_target(campaign.targets[t], excluded) for t in places]
    denied = [p for p in (_DENIED_PREFIX,) if any(t["host"] == _DENIED_ADDRESS for t in targets)]
    return Order(
        campaign=campaign.slug,
        unit=unit.key,
        attempt=unit.attempt,
        due=due,
        ends=due + unit.ends_s - unit.starts_s,
        probe=activity.probe,
        targets=targets,
        slots=[
            [s.number, places[s.target], round(s.offset_s, 4), round(s.latest_s, 4)] for s in slots
        ],
        options=dict(activity.options),
        allow=list(campaign.limits.get("allow", ())),
        deny=[*campaign.limits.get("deny", ()), *excluded.networks, *denied],
        offset_s=((point.clock_offset_ms if point else None) or 0.0) / 1e3,
        strict=activity.strict,
    )


def _target(target: Mapping[str, Any], excluded: domain_claims.OptOuts) -> dict[str, Any]:
    """The target as vantage points get it; one that opted out meanwhile is refused there.

    Its slots end as ``FORBIDDEN``: the address that takes the host's place is denied by the order.
    """
    found = {name: target[name] for name in ("host", "port", "family", "path")}
    if excluded.covers(found["host"]):
        found |= {"host": _DENIED_ADDRESS, "family": 4}
    return found


def send(unit: CampaignUnit, point: VantagePoint, now: datetime, ways: Ways) -> None:
    """Send a unit that was marked as sent; raises ``Unavailable``."""
    order = order_of(unit, point)
    left_s = max(1.0, order.ends - now.timestamp())
    if unit.attempt > 1:
        # What came once and is requested again is answered from the journal, also afterwards.
        left_s += 30.0
    ways[point.source](point, order, left_s)


def _by_link(point: VantagePoint, order: Order, expires_s: float) -> None:
    vantage_queues.send(point.name, MEASURE, [order.as_json()], expires_s=expires_s)


# One way per source; public networks bring theirs.
WAYS: dict[str, Way] = {VantagePoint.Source.OWN: _by_link}
