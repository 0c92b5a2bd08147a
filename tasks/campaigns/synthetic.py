"""Units of campaigns with synthetic vantage points: a model makes the results, labelled so.

Nothing is sent over a network. Orders, results messages and parts are those of all campaigns, so
that a new installation can be tried without a vantage point.
"""

import json
import logging
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings

from cartography.ranges.regions import region as region_of
from core.clock import SystemClock
from core.errors import Unavailable
from core.files import write_bytes
from tasks.campaigns import dispatch, results_receiver
from tasks.platform.app import AWAY, app, queue
from tasks.protocol.results_message import ResultsMessage, columns_of
from tasks.protocol.work_order import BEGAN, COLUMNS, RESULT, Order
from testbed.campaigns.synthetic_probes import End, run_probe
from webapp.store.campaigns import units
from webapp.store.models import Campaign, VantagePoint

log = logging.getLogger(__name__)
# Field of a synthetic vantage point's detail: the zone of the emulated cloud that it is in.
ZONE = "emulated_zone"


def send(point: VantagePoint, order: Order, expires_s: float) -> None:
    """The way of a unit to a synthetic vantage point; raises ``Unavailable`` without a broker."""
    last_s = max((float(slot[2]) for slot in order.slots), default=0.0)
    wait_s = max(0.0, order.due + last_s - SystemClock().now().timestamp())
    try:
        queue(measure, point.name, order.as_json(), countdown=wait_s)
    except AWAY as error:
        raise Unavailable(f"the broker does not answer: {error}") from error


dispatch.WAYS[VantagePoint.Source.SYNTHETIC] = send


@app.task(name="tasks.synthetic.measure")
def measure(vantage: str, order_json: dict[str, Any]) -> None:
    """Make the results of an order, and store them as those of any vantage point."""
    point = VantagePoint.objects.filter(name=vantage).first()
    order = Order.from_json(order_json)
    unit = units.open_unit(order.campaign, vantage, order.unit)
    if point is None or unit is None:
        return
    results_receiver.record_start(vantage, ResultsMessage(BEGAN, order.head))
    rows = _rows(point, order, unit.campaign)
    message = ResultsMessage(RESULT, {**order.head, "missed": {}}, columns_of(rows, COLUMNS))
    results_receiver.store_result(vantage, message)


def _rows(point: VantagePoint, order: Order, campaign: Campaign) -> list[dict[str, Any]]:
    start, known = _end_of(point), {(t["host"], t["port"]): t for t in campaign.targets}
    ends = [_target_of(known[t["host"], t["port"]]) for t in order.targets]
    return [
        {
            "slot": int(slot[0]),
            "late_s": 0.0,
            "result": run_probe(
                start, ends[int(slot[1])], order.probe, order.options, order.due + float(slot[2])
            ),
        }
        for slot in order.slots
    ]


def _end_of(point: VantagePoint) -> End:
    detail = point.detail or {}
    place = None if point.lat is None or point.lon is None else (point.lat, point.lon)
    region = (detail.get("cloud") or {}).get("region", "")
    return End(point.name, place, region, detail.get(ZONE, ""))


def _target_of(target: Mapping[str, Any]) -> End:
    found = region_of(target["provider"] or "aws", target["region"])
    place = (found.latitude, found.longitude) if found else None
    region, zone = _emulated_zones(_changed_at()).get(target["host"], ("", ""))
    return End(target["host"], place, region or target["region"], zone)


def save_emulated_zones(zones: Mapping[str, tuple[str, str]]) -> None:
    """Store the true region and zone of each address of the emulated Internet, for the model."""
    write_bytes(_zones_path(), json.dumps(zones).encode())


@lru_cache(maxsize=1)
def _emulated_zones(changed_at: int) -> dict[str, tuple[str, str]]:
    """The file as it is since ``changed_at``, which another process may have replaced."""
    if not changed_at:
        return {}
    return {a: (r, z) for a, (r, z) in json.loads(_zones_path().read_bytes()).items()}


def _changed_at() -> int:
    try:
        return _zones_path().stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _zones_path() -> Path:
    return Path(settings.DATA_DIR) / "emulated-zones.json"
