"""Measurement campaigns are stored, begun, paused, stopped, cloned and ended; each step once.

Times of units are seconds from the beginning; a pause stops that clock, so that nothing is missed.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import models, transaction
from django.utils import timezone
from django.utils.text import slugify

from core.errors import BadInput
from webapp.store.campaigns.plans import Definition, Ends, plan_of
from webapp.store.models import Campaign, CampaignUnit, VantagePoint
from webapp.store.models.campaigns import FINAL
from webapp.store.requests.idempotency import KeyReused, check_key
from webapp.store.vantages.services import points

State = Campaign.State
# Time between the beginning and the first slot, in which units reach their vantage points.
LEAD_S = 3.0
_ROWS = 2_000
# Words that stand where a campaign's name stands in addresses.
RESERVED = frozenset({"new", "run", "compare", "plan", "presets"})


def ends_of(vantages: list[str], user: Any = None) -> Ends:
    """Sources and limits of vantage points; raises ``BadInput`` for one that cannot measure."""

    found = {p.name: p for p in points(user).filter(name__in=vantages)}
    for name in vantages:
        _refuse_unusable(name, found.get(name))
    return Ends(
        {name: p.source for name, p in found.items()}, {n: p.limits for n, p in found.items()}
    )


def _refuse_unusable(name: str, point: VantagePoint | None) -> None:
    if point is None:
        raise BadInput(f"there is no vantage point {name!r}; see vantage list", field="vantages")
    if point.state != VantagePoint.State.JOINED:
        raise BadInput(f"{name} is {point.state}, and takes no work", field="vantages")
    if point.source == VantagePoint.Source.SYNTHETIC:
        raise BadInput(f"{name} is synthetic: nothing can be measured there", field="vantages")


@dataclass(frozen=True)
class Circumstances:
    """Who makes a campaign, when it may begin, and where it comes from.

    It is its owner's alone unless ``is_public``.
    ``idempotency_key`` names it among the campaigns of its owner; ``in_process`` says that the
    command that made it measures by itself.
    """

    owner: Any = None
    is_public: bool = False
    starts_at: datetime | None = None
    in_process: bool = False
    label: str = ""
    idempotency_key: str = ""
    cloned_from: Campaign | None = None


def create(defined: Definition, given: Circumstances | None = None) -> Campaign:
    """Store a campaign; raises ``BadInput`` where limits forbid it. A key gives the one before, and
    raises ``KeyReused`` where that is another one."""
    around = given or Circumstances()
    key = _own_key(around.idempotency_key, around.owner)
    if key and (before := Campaign.objects.filter(idempotency_key=key).first()):
        if not _is_same(before, defined, around):
            raise KeyReused
        return before
    if defined.refusals:
        raise BadInput("; ".join(defined.refusals[:3]), field="limits")
    is_private = around.owner is not None and not around.is_public
    return Campaign.objects.create(
        slug=free_slug(defined.name, is_private=is_private),
        name=defined.name,
        owner=around.owner if is_private else None,
        maker=around.owner,
        preset=defined.preset,
        schedule=defined.schedule.as_json(),
        targets=defined.targets,
        vantages=list(defined.plan.vantages),
        limits=defined.limits,
        seed=defined.plan.seed,
        label=around.label[:200],
        in_process=around.in_process,
        predicted=defined.predicted,
        starts_at=around.starts_at,
        idempotency_key=key,
        cloned_from=around.cloned_from,
    )


def _is_same(row: Campaign, defined: Definition, around: Circumstances) -> bool:
    asked = (
        defined.name,
        defined.schedule.as_json(),
        defined.targets,
        list(defined.plan.vantages),
        defined.limits,
        defined.plan.seed,
        around.label[:200],
        around.starts_at,
    )
    stored = (
        row.name,
        row.schedule,
        row.targets,
        row.vantages,
        row.limits,
        row.seed,
        row.label,
        row.starts_at,
    )
    return json.dumps(asked, default=str) == json.dumps(stored, default=str)


def _own_key(key: str, owner: Any) -> str | None:
    """A key names a campaign among those of one owner."""
    check_key(key)
    if not key:
        return None
    return hashlib.sha256(f"{getattr(owner, 'pk', None)}/{key}".encode()).hexdigest()


def free_slug(name: str, is_private: bool = False) -> str:
    """A slug from ``name`` that no campaign has yet; a private one tells nothing to who guesses."""
    stem = slugify(name)[:80] or "campaign"
    slug = f"{stem}-{secrets.token_hex(5)}" if is_private else stem
    while slug in RESERVED or Campaign.objects.filter(slug=slug).exists():
        slug = f"{stem}-{secrets.token_hex(3)}"
    return slug


def lay_out(campaign: Campaign, now: datetime) -> bool:
    """Store all units of a campaign that may begin; false where it has begun, or must wait."""
    waits = campaign.starts_at and campaign.starts_at > now
    if waits or campaign.state != State.WAITING:
        return False
    # Units that an interrupted beginning left are the same ones.
    rows: list[CampaignUnit] = []
    for row in _units(campaign):
        rows.append(row)
        if len(rows) == _ROWS:
            CampaignUnit.objects.bulk_create(rows, ignore_conflicts=True)
            rows = []
    CampaignUnit.objects.bulk_create(rows, ignore_conflicts=True)
    return True


def shared_target(campaign: Campaign) -> str:
    """A host at which this one transfers, and another that has begun too; empty without one.

    Transfers to a target take turns within a campaign; so campaigns take turns as well.
    """
    if not _is_strict(campaign.schedule):
        return ""
    hosts = {target["host"] for target in campaign.targets}
    # One that a command measures by itself may have been left without an end.
    rows = Campaign.objects.filter(
        state__in=(State.RUNNING, State.PAUSED), synthetic=False, in_process=False
    )
    found = rows.exclude(pk=campaign.pk).values_list("schedule", "targets")
    rivals = (targets for schedule, targets in found if _is_strict(schedule))
    return next((t["host"] for targets in rivals for t in targets if t["host"] in hosts), "")


def _is_strict(schedule: Mapping[str, Any]) -> bool:
    return any(activity.get("strict") for activity in schedule.get("activities", ()))


def begin(campaign: Campaign, now: datetime) -> bool:
    """Set the first slot of a campaign that was laid out; false where another did."""
    first = max(now, campaign.starts_at or now) + timedelta(seconds=LEAD_S)
    return _move(campaign, State.WAITING, state=State.RUNNING, started_at=first)


def _units(campaign: Campaign) -> Iterator[CampaignUnit]:
    for window in plan_of(campaign).windows():
        yield CampaignUnit(
            campaign=campaign,
            key=window.key,
            activity=window.activity,
            vantage=window.vantage,
            round=window.round,
            starts_s=window.starts_s,
            ends_s=window.ends_s,
            slots=window.slots,
        )


def elapsed_s(campaign: Campaign, now: datetime) -> float:
    """Where the clock of the schedule stands; negative before the first slot."""
    if campaign.started_at is None:
        return 0.0
    until = campaign.paused_at or now
    return (until - campaign.started_at).total_seconds() - campaign.paused_s


def moment(campaign: Campaign, second: float) -> datetime:
    """When a second of the schedule is, as things stand."""
    if campaign.started_at is None:
        raise BadInput(f"{campaign.slug} has not begun")
    return campaign.started_at + timedelta(seconds=campaign.paused_s + second)


def pause(campaign: Campaign, now: datetime) -> bool:
    """Send nothing more; what is out is measured to its end. False when it was not running."""
    return _move(campaign, State.RUNNING, state=State.PAUSED, paused_at=now)


def resume(campaign: Campaign, now: datetime) -> bool:
    """Go on where the pause began; false when it was not paused.

    Units that were not sent, while others of their window are still out, are missed: moved, they
    would meet those at a target.
    """
    campaign.refresh_from_db()
    if campaign.state != State.PAUSED or campaign.paused_at is None:
        return False
    spent_s = campaign.paused_s + max(0.0, (now - campaign.paused_at).total_seconds())
    with transaction.atomic():
        if not _move(campaign, State.PAUSED, state=State.RUNNING, paused_at=None, paused_s=spent_s):
            return False
        _miss_torn_windows(campaign, now)
    return True


def _miss_torn_windows(campaign: Campaign, now: datetime) -> None:
    units = campaign.units
    out = units.filter(state=CampaignUnit.State.SENT, leased_until__gt=now)
    for activity, number in out.order_by().values_list("activity", "round").distinct():
        waiting = units.filter(state=CampaignUnit.State.WAITING, activity=activity, round=number)
        waiting.update(
            state=CampaignUnit.State.MISSED,
            missed=models.F("slots"),
            finished_at=now,
            error="the campaign was paused",
        )


def stop(campaign: Campaign, now: datetime) -> bool:
    """End a campaign before its time; what was measured stays. False when it had ended."""
    changed = (
        Campaign.objects.filter(pk=campaign.pk)
        .exclude(state__in=FINAL)
        .update(state=State.STOPPED, finished_at=now, paused_at=None)
    )
    campaign.refresh_from_db()
    return bool(changed)


def stopped_lately(vantage: str, now: datetime | None = None) -> list[str]:
    """Campaigns that were ended before their time, of which a vantage point may have work."""
    since = (now or timezone.now()) - timedelta(days=1)
    rows = Campaign.objects.filter(
        state__in=(State.STOPPED, State.FAILED), finished_at__gt=since, synthetic=False
    )
    found = rows.values_list("slug", "vantages").iterator()
    return sorted(slug for slug, names in found if vantage in names)


def finish(campaign: Campaign, summary: Mapping[str, Any], now: datetime) -> bool:
    """Close a campaign whose units have all ended; missed or failed slots make it partial."""
    left = summary["coverage"]["missed"] or campaign.units.filter(state=CampaignUnit.State.FAILED)
    state = State.PARTIAL if left else State.FINISHED
    return _move(campaign, State.RUNNING, state=state, summary=dict(summary), finished_at=now)


def fail(campaign: Campaign, error: str, now: datetime) -> bool:
    """End a campaign that could not go on; what was measured stays."""
    changed = (
        Campaign.objects.filter(pk=campaign.pk)
        .exclude(state__in=FINAL)
        .update(state=State.FAILED, error=error[:2000], finished_at=now)
    )
    campaign.refresh_from_db()
    return bool(changed)


def note_summary(campaign: Campaign, summary: Mapping[str, Any]) -> None:
    """Keep an interim summary, or that of a stopped campaign."""
    Campaign.objects.filter(pk=campaign.pk).update(summary=dict(summary))
    campaign.summary = dict(summary)


def note_error(campaign: Campaign, error: str) -> None:
    """Say what keeps a campaign from going on, or empty text when nothing does any more."""
    if campaign.error != error[:2000]:
        Campaign.objects.filter(pk=campaign.pk).update(error=error[:2000])
        campaign.error = error[:2000]


def open_campaigns() -> list[Campaign]:
    """Campaigns that wait, run or are paused, and are not measured by a command of their own."""
    rows = Campaign.objects.exclude(state__in=FINAL).filter(in_process=False, synthetic=False)
    return list(rows.order_by("pk"))


def unfinished_here(name: str) -> Campaign | None:
    """The newest campaign of this name that a command measures by itself and has not ended."""
    rows = Campaign.objects.filter(in_process=True, name=name).exclude(state__in=FINAL)
    return rows.first()


def open_of(owner: Any) -> int:
    """How many campaigns that somebody made wait or run."""
    return Campaign.objects.filter(maker=owner).exclude(state__in=FINAL).count()


def definition_of(campaign: Campaign) -> dict[str, Any]:
    """What a campaign was asked to do, to be asked again: the start of a clone."""
    limits = {k: v for k, v in campaign.limits.items() if k not in ("allow", "deny")}
    return {
        "name": campaign.name,
        "schedule": campaign.schedule,
        "targets": campaign.targets,
        "vantages": campaign.vantages,
        "limits": limits,
        "allow": campaign.limits.get("allow", []),
        "deny": campaign.limits.get("deny", []),
        "seed": campaign.seed,
    }


def variant_of(campaign: Campaign, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The same with some fields otherwise; another number of ends is laid out anew."""
    asked = {**definition_of(campaign), **changed}
    if "preset" in changed:
        asked.pop("schedule")
    elif "schedule" not in changed and {"targets", "vantages"} & set(changed):
        asked["schedule"] = _without_layout(campaign.schedule)
    return asked


def _without_layout(schedule: Mapping[str, Any]) -> dict[str, Any]:
    activities = [
        {k: v for k, v in activity.items() if k not in ("offsets_s", "window_s")}
        for activity in schedule["activities"]
    ]
    for activity in activities:
        if not activity["strict"]:
            activity["clients"] = 0
    return {**schedule, "groups": 0, "activities": activities}


def _move(campaign: Campaign, before: str, **values: Any) -> bool:
    """Change a campaign that is still in the state that was seen."""
    changed = Campaign.objects.filter(pk=campaign.pk, state=before).update(**values)
    campaign.refresh_from_db()
    return bool(changed)
