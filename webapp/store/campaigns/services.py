"""State transitions of measurement campaigns: create, start, pause, resume, stop, clone, finish.

Unit times are seconds since the start; a pause stops that clock, so that no slot is missed.
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
from webapp.store.campaigns.plans import Definition, VantageProfiles, plan_of
from webapp.store.models import Campaign, CampaignUnit, VantagePoint
from webapp.store.models.campaigns import FINAL
from webapp.store.requests.idempotency import KeyReused, check_key
from webapp.store.vantages.services import points

State = Campaign.State
# Lead time before the first slot, in which units are dispatched.
LEAD_S = 3.0
_ROWS = 2_000
# Path segments that are not campaign slugs.
RESERVED = frozenset({"new", "run", "compare", "plan", "presets"})


def read_vantage_profiles(vantages: list[str], user: Any = None) -> VantageProfiles:
    """Read source and limits of vantage points; raise ``BadInput`` for an unusable one."""

    found = {p.name: p for p in points(user).filter(name__in=vantages)}
    for name in vantages:
        _refuse_unusable(name, found.get(name))
    return VantageProfiles(
        {name: p.source for name, p in found.items()}, {n: p.limits for n, p in found.items()}
    )


def _refuse_unusable(name: str, point: VantagePoint | None) -> None:
    if point is None:
        raise BadInput(f"there is no vantage point {name!r}; see vantage list", field="vantages")
    if point.state != VantagePoint.State.JOINED:
        raise BadInput(f"{name} is {point.state}, and accepts no work", field="vantages")
    if point.source == VantagePoint.Source.SYNTHETIC:
        raise BadInput(f"{name} is synthetic: nothing can be measured there", field="vantages")


@dataclass(frozen=True)
class CreationOptions:
    """Owner, visibility, start time and origin of a new campaign.

    It is private to its owner unless ``is_public``. ``idempotency_key`` is unique per owner;
    ``in_process`` campaigns are measured by the command that created them.
    """

    owner: Any = None
    is_public: bool = False
    starts_at: datetime | None = None
    in_process: bool = False
    label: str = ""
    idempotency_key: str = ""
    cloned_from: Campaign | None = None


def create(defined: Definition, given: CreationOptions | None = None) -> Campaign:
    """Store a campaign; raise ``BadInput`` if limits forbid it.

    A known idempotency key returns the earlier campaign, or raises ``KeyReused`` if they differ."""
    around = given or CreationOptions()
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


def _is_same(row: Campaign, defined: Definition, around: CreationOptions) -> bool:
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
    # PostgreSQL keeps keys of JSON in an order of its own.
    texts = [json.dumps(one, default=str, sort_keys=True) for one in (asked, stored)]
    return texts[0] == texts[1]


def _own_key(key: str, owner: Any) -> str | None:
    """Hash a key with its owner, so that keys are unique per owner."""
    check_key(key)
    if not key:
        return None
    return hashlib.sha256(f"{getattr(owner, 'pk', None)}/{key}".encode()).hexdigest()


def free_slug(name: str, is_private: bool = False) -> str:
    """Return an unused slug of ``name``; private slugs have a random suffix."""
    stem = slugify(name)[:80] or "campaign"
    slug = f"{stem}-{secrets.token_hex(5)}" if is_private else stem
    while slug in RESERVED or Campaign.objects.filter(slug=slug).exists():
        slug = f"{stem}-{secrets.token_hex(3)}"
    return slug


def create_units(campaign: Campaign, now: datetime) -> bool:
    """Store the units of a campaign; return false if it has started or must wait."""
    waits = campaign.starts_at and campaign.starts_at > now
    if waits or campaign.state != State.WAITING:
        return False
    # Units of an interrupted attempt have the same keys and are kept.
    rows: list[CampaignUnit] = []
    for row in _units(campaign):
        rows.append(row)
        if len(rows) == _ROWS:
            CampaignUnit.objects.bulk_create(rows, ignore_conflicts=True)
            rows = []
    CampaignUnit.objects.bulk_create(rows, ignore_conflicts=True)
    return True


def shared_target(campaign: Campaign) -> str:
    """Return a throughput target that a running campaign also uses; empty if none.

    Transfers to one target are exclusive, across campaigns as well.
    """
    if not _is_strict(campaign.schedule):
        return ""
    hosts = {target["host"] for target in campaign.targets}
    # In-process campaigns may have been abandoned.
    rows = Campaign.objects.filter(
        state__in=(State.RUNNING, State.PAUSED), synthetic=False, in_process=False
    )
    found = rows.exclude(pk=campaign.pk).values_list("schedule", "targets")
    rivals = (targets for schedule, targets in found if _is_strict(schedule))
    return next((t["host"] for targets in rivals for t in targets if t["host"] in hosts), "")


def _is_strict(schedule: Mapping[str, Any]) -> bool:
    return any(activity.get("strict") for activity in schedule.get("activities", ()))


def mark_running(campaign: Campaign, now: datetime) -> bool:
    """Set the start time and state RUNNING; return false if another process did."""
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
    """Return the schedule time in seconds; negative before the first slot."""
    if campaign.started_at is None:
        return 0.0
    until = campaign.paused_at or now
    return (until - campaign.started_at).total_seconds() - campaign.paused_s


def wall_time(campaign: Campaign, second: float) -> datetime:
    """Convert schedule time to wall time, given the pauses so far."""
    if campaign.started_at is None:
        raise BadInput(f"{campaign.slug} has not started")
    return campaign.started_at + timedelta(seconds=campaign.paused_s + second)


def pause(campaign: Campaign, now: datetime) -> bool:
    """Pause a running campaign; sent units are measured to their end."""
    return _move(campaign, State.RUNNING, state=State.PAUSED, paused_at=now)


def resume(campaign: Campaign, now: datetime) -> bool:
    """Resume a paused campaign; return false if it was not paused.

    Waiting units of a window with sent units are missed: shifted, they would collide with those at
    a target.
    """
    campaign.refresh_from_db()
    if campaign.state != State.PAUSED or campaign.paused_at is None:
        return False
    spent_s = campaign.paused_s + max(0.0, (now - campaign.paused_at).total_seconds())
    with transaction.atomic():
        if not _move(campaign, State.PAUSED, state=State.RUNNING, paused_at=None, paused_s=spent_s):
            return False
        _miss_interrupted_windows(campaign, now)
    return True


def _miss_interrupted_windows(campaign: Campaign, now: datetime) -> None:
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
    """Stop a campaign; results are kept. Return false if it had ended."""
    changed = (
        Campaign.objects.filter(pk=campaign.pk)
        .exclude(state__in=FINAL)
        .update(state=State.STOPPED, finished_at=now, paused_at=None)
    )
    campaign.refresh_from_db()
    return bool(changed)


def recently_stopped(vantage: str, now: datetime | None = None) -> list[str]:
    """Return slugs of recently stopped campaigns of which a vantage point may hold units."""
    since = (now or timezone.now()) - timedelta(days=1)
    rows = Campaign.objects.filter(
        state__in=(State.STOPPED, State.FAILED), finished_at__gt=since, synthetic=False
    )
    found = rows.values_list("slug", "vantages").iterator()
    return sorted(slug for slug, names in found if vantage in names)


def finish(campaign: Campaign, summary: Mapping[str, Any], now: datetime) -> bool:
    """Finish a campaign; it is partial with missed or failed slots."""
    left = summary["coverage"]["missed"] or campaign.units.filter(state=CampaignUnit.State.FAILED)
    state = State.PARTIAL if left else State.FINISHED
    return _move(campaign, State.RUNNING, state=state, summary=dict(summary), finished_at=now)


def fail(campaign: Campaign, error: str, now: datetime) -> bool:
    """Mark a campaign as failed; results are kept."""
    changed = (
        Campaign.objects.filter(pk=campaign.pk)
        .exclude(state__in=FINAL)
        .update(state=State.FAILED, error=error[:2000], finished_at=now)
    )
    campaign.refresh_from_db()
    return bool(changed)


def save_summary(campaign: Campaign, summary: Mapping[str, Any]) -> None:
    """Store an interim summary, or that of a stopped campaign."""
    Campaign.objects.filter(pk=campaign.pk).update(summary=dict(summary))
    campaign.summary = dict(summary)


def save_error(campaign: Campaign, error: str) -> None:
    """Store the reason why a campaign is blocked; empty text clears it."""
    if campaign.error != error[:2000]:
        Campaign.objects.filter(pk=campaign.pk).update(error=error[:2000])
        campaign.error = error[:2000]


def open_campaigns() -> list[Campaign]:
    """Return unfinished campaigns that the scheduler manages."""
    rows = Campaign.objects.exclude(state__in=FINAL).filter(in_process=False, synthetic=False)
    return list(rows.order_by("pk"))


def unfinished_here(name: str) -> Campaign | None:
    """Return the newest unfinished in-process campaign of this name."""
    rows = Campaign.objects.filter(in_process=True, name=name).exclude(state__in=FINAL)
    return rows.first()


def count_open(owner: Any) -> int:
    """Count the unfinished campaigns of a creator."""
    return Campaign.objects.filter(maker=owner).exclude(state__in=FINAL).count()


def definition_of(campaign: Campaign) -> dict[str, Any]:
    """Return the request of a campaign, as the base of a clone."""
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
    """Return the request with changes; changed targets or vantage points reset the layout."""
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
    """Update a campaign if it is still in the expected state."""
    changed = Campaign.objects.filter(pk=campaign.pk, state=before).update(**values)
    campaign.refresh_from_db()
    return bool(changed)
