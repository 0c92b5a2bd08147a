"""Store results messages of vantage points as parts of the lake, and end their units.

The sender of a results message is known by its key; a message counts only for a unit of its sender,
and its contents are checked against the plan.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from core.clock import Clock, SystemClock
from core.errors import BadInput, Unavailable
from lake.campaigns import rows_of_result, table_of
from lake.parts import part_path, write_part
from probes.kinds import traceroute
from probes.records import ProbeStatus
from probes.schedule.plan import Slot
from tasks.protocol.result_validation import sound_result
from tasks.protocol.results_message import ResultsMessage
from tasks.protocol.work_order import BEGAN, RESULT
from webapp.store.campaigns import selectors, units
from webapp.store.campaigns.plans import plan_of
from webapp.store.models import CampaignUnit
from webapp.store.vantages import services

log = logging.getLogger(__name__)
# Later than this after its planned moment, a slot counts as late.
LATE_S = 1.0
_LONGEST_REASON = 200
NOT_REPORTED = "it was not reported"
# Probes with rows that have the direction of the path; round trips are recorded for the target
# in both directions.
_TRACING = frozenset({traceroute.NAME})


@dataclass
class Tally:
    """Rows of a unit's tables, and its slots by how they ended."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ok: int = 0
    late: int = 0
    failed: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    octets: int = 0

    def add(self, kind: str, rows: list[dict[str, Any]], result: Mapping[str, Any]) -> None:
        """Count one run of a probe."""
        self.rows.setdefault(kind, []).extend(rows)
        if result["status"] == ProbeStatus.OK:
            self.ok += 1
        else:
            self.failed[result["status"]] += 1
        self.octets += int(result.get("octets") or 0)

    def as_json(self, written: Mapping[str, int]) -> dict[str, Any]:
        """Return the columns of the unit that hold these counts."""
        counters = {"failed": dict(self.failed), "missed": dict(self.missed), "octets": self.octets}
        return {
            "ok": self.ok,
            "failed": self.failed.total(),
            "missed": self.missed.total(),
            "late": self.late,
            "counters": {k: v for k, v in counters.items() if v},
            "rows": dict(written),
        }


def record_start(vantage: str, message: ResultsMessage, clock: Clock | None = None) -> None:
    """Record that a vantage point started a unit."""
    now = (clock or SystemClock()).now()
    found = units.open_unit(*_parse_unit_id(vantage, message))
    if found is not None:
        units.mark_started(found.campaign_id, vantage, found.key, now)


def store_result(vantage: str, message: ResultsMessage, clock: Clock | None = None) -> None:
    """Store a unit's result as its one part; a unit that has one is left as it is.

    Raises ``Unavailable`` when the disk refuses: then the results message has to come again.
    """
    now = (clock or SystemClock()).now()
    unit = units.open_unit(*_parse_unit_id(vantage, message))
    if unit is None:
        log.info("a result of %s came for a unit that is not open", vantage)
        return
    try:
        tally = _read(unit, message)
    except BadInput as error:
        units.fail_unit(unit, f"the result cannot be used: {error}", now)
        log.warning("%s of %s: %s", unit.key, vantage, error)
        return
    store(unit, tally, now)


HANDLERS: Mapping[str, Callable[[str, ResultsMessage], None]] = {
    BEGAN: record_start,
    RESULT: store_result,
}


def store(unit: CampaignUnit, tally: Tally, now: datetime) -> bool:
    """Write a unit's parts and put them into the manifest; raises ``Unavailable``.

    False when another result was faster.
    """
    written = {}
    for kind, rows in tally.rows.items():
        path = part_path(selectors.lake_root(), unit.campaign.slug, kind, unit.key)
        try:
            written[kind] = write_part(path, kind, table_of(kind, rows))
        except OSError as error:
            # Making the folder is refused by a full disk too.
            raise Unavailable(f"cannot write {path.name}: {error.strerror or error}") from error
    return units.end_unit(unit, tally.as_json(written), now)


def _parse_unit_id(vantage: str, message: ResultsMessage) -> tuple[str, str, str]:
    """Campaign, vantage point and unit; raises ``BadInput`` for a head without them."""
    slug, key = message.head.get("measurement"), message.head.get("unit")
    if not isinstance(slug, str) or not isinstance(key, str) or len(slug) + len(key) > 250:
        raise BadInput("the results message names no unit", field="unit")
    return slug, vantage, key


def _read(unit: CampaignUnit, message: ResultsMessage) -> Tally:
    campaign = unit.campaign
    plan = plan_of(campaign)
    planned = {s.number: s for s in plan.slots(unit.activity, unit.round, unit.vantage)}
    probe = plan.schedule.activity(unit.activity).probe
    tally, seen = Tally(), set()
    own_cloud = services.cloud_of(unit.vantage) if probe in _TRACING else {}
    started_s = unit.due_at.timestamp() if unit.due_at else 0.0
    for row in message.rows():
        slot = _slot(planned, row.get("slot"))
        if slot.number in seen:
            raise BadInput(f"slot {slot.number} is reported twice", field="slot")
        seen.add(slot.number)
        result = sound_result(row.get("result"), probe, started_s + slot.offset_s)
        _count(tally, place_of(unit, slot, own_cloud), result, row.get("late_s"))
    missed = message.head.get("missed") or {}
    for number, slot in planned.items():
        if slot.number not in seen:
            reason = missed.get(str(number)) if isinstance(missed, Mapping) else None
            tally.missed[str(reason or NOT_REPORTED)[:_LONGEST_REASON]] += 1
    return tally


def _slot(planned: Mapping[int, Slot], number: Any) -> Slot:
    found = planned.get(number) if isinstance(number, int) else None
    if found is None:
        raise BadInput(f"{str(number)[:20]} is not a slot of this unit", field="slot")
    return found


def _count(tally: Tally, place: Mapping[str, Any], result: Mapping[str, Any], late: Any) -> None:
    late_s = float(late) if isinstance(late, (int, float)) and 0 <= late < 1e9 else 0.0
    kind, rows = rows_of_result(result, {**place, "late_s": late_s})
    tally.late += late_s > LATE_S
    tally.add(kind, rows, result)


def place_of(unit: CampaignUnit, slot: Slot, own_cloud: Mapping[str, str]) -> dict[str, Any]:
    """Return the key columns of a slot's rows; ``own_cloud`` is its vantage point's cloud.

    A path from there to an end outside every cloud leads from the cloud, all others to it.
    """
    target = unit.campaign.targets[slot.target]
    leaves = bool(own_cloud) and not target["provider"]
    cloud = own_cloud if leaves else target
    return {
        "round": unit.round,
        "vantage": unit.vantage,
        "target": target["name"],
        "provider": cloud["provider"],
        "region": cloud["region"],
        "zone": cloud["zone"],
        "activity": unit.activity,
        "slot": slot.number,
        "direction": "from" if leaves else "to",
    }
