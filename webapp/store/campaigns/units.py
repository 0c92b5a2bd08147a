"""State transitions of campaign units: waiting, sent, started, ended.

Each transition is one conditional update, so that concurrent schedulers and late or duplicate
messages have no effect twice.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from webapp.store.campaigns.services import elapsed_s, wall_time
from webapp.store.models import Campaign, CampaignUnit

State = CampaignUnit.State
# Units are dispatched this long before they start.
AHEAD_S = 20.0
# Bounds of the time that a result may take after its window, for restarts and transport.
MIN_RESULT_TIMEOUT_S, MAX_RESULT_TIMEOUT_S = 30.0, 60.0
# First retry interval of a unit without acknowledgement; it doubles each time.
FIRST_RETRY_S = 5.0
_SENT_AT_ONCE = 2_000


def due_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Return waiting units with a window that starts soon or is open."""
    at = elapsed_s(campaign, now)
    rows = campaign.units.filter(
        state=State.WAITING, starts_s__lte=at + AHEAD_S, ends_s__gt=max(at, 0.0)
    )
    return list(rows.order_by("starts_s", "key")[:_SENT_AT_ONCE])


def interrupted_units(campaign: Campaign) -> list[CampaignUnit]:
    """Return units that an interrupted process had claimed."""
    return list(campaign.units.filter(state=State.SENT).order_by("starts_s", "key")[:1])


def unacknowledged_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Return sent units without acknowledgement after their start time."""
    rows = campaign.units.filter(
        state=State.SENT, began_at=None, due_at__lt=now, leased_until__gt=now
    )
    return [u for u in rows[:_SENT_AT_ONCE] if _is_unacknowledged(u, now)]


def overdue_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Return started units with an overdue result."""
    rows = campaign.units.filter(state=State.SENT, leased_until__gt=now).exclude(began_at=None)
    return [u for u in rows[:_SENT_AT_ONCE] if _is_overdue(u, now)]


def _is_unacknowledged(unit: CampaignUnit, now: datetime) -> bool:
    if unit.sent_at is None or unit.due_at is None:
        return False
    wait_s = FIRST_RETRY_S * 2 ** max(0, unit.attempt - 1)
    return (now - max(unit.sent_at, unit.due_at)).total_seconds() > wait_s


def _is_overdue(unit: CampaignUnit, now: datetime) -> bool:
    if unit.due_at is None or unit.sent_at is None:
        return False
    ended = unit.due_at + timedelta(seconds=unit.ends_s - unit.starts_s)
    wait_s = FIRST_RETRY_S * 2 ** max(0, unit.attempt - 1)
    return (now - max(ended, unit.sent_at)).total_seconds() > wait_s


def mark_sent(unit: CampaignUnit, now: datetime) -> bool:
    """Claim a unit for dispatch or re-dispatch; return false if another scheduler did.

    Its window is fixed at the first dispatch, regardless of later pauses.
    """
    due = unit.due_at or wall_time(unit.campaign, unit.starts_s)
    window = timedelta(seconds=unit.ends_s - unit.starts_s)
    changed = CampaignUnit.objects.filter(
        pk=unit.pk, state=unit.state, attempt=unit.attempt
    ).update(
        state=State.SENT,
        attempt=F("attempt") + 1,
        due_at=due,
        sent_at=now,
        leased_until=max(due + window, now) + timedelta(seconds=result_timeout_s(unit)),
    )
    if changed:
        unit.refresh_from_db(fields=["state", "attempt", "due_at", "sent_at", "leased_until"])
    return bool(changed)


def result_timeout_s(unit: CampaignUnit) -> float:
    """Return the result timeout after the window, which grows with its length."""
    return max(MIN_RESULT_TIMEOUT_S, min(MAX_RESULT_TIMEOUT_S, 2 * (unit.ends_s - unit.starts_s)))


def requeue(unit: CampaignUnit) -> None:
    """Return a unit that could not be sent to the waiting state."""
    CampaignUnit.objects.filter(
        pk=unit.pk, state=State.SENT, attempt=unit.attempt, began_at=None
    ).update(state=State.WAITING, attempt=F("attempt") - 1, due_at=None, leased_until=None)


def mark_started(campaign_id: int, vantage: str, key: str, now: datetime) -> bool:
    """Record the acknowledgement of a vantage point."""
    return bool(
        CampaignUnit.objects.filter(
            campaign=campaign_id, vantage=vantage, key=key, state=State.SENT, began_at=None
        ).update(began_at=now)
    )


def open_unit(slug: str, vantage: str, key: str) -> CampaignUnit | None:
    """Return the open unit of a result, for its own vantage point only.

    A missed unit accepts a late result until the campaign is finished.
    """
    rows = CampaignUnit.objects.select_related("campaign").filter(
        campaign__slug=slug, vantage=vantage, key=key, sent_at__isnull=False
    )
    rows = rows.filter(state__in=(State.SENT, State.MISSED))
    return rows.exclude(campaign__finished_at__isnull=False).first()


def end_unit(unit: CampaignUnit, outcome: Mapping[str, Any], now: datetime) -> bool:
    """Commit a unit's part to the manifest; return false if another result was committed.

    ``outcome`` has rows, counters, ok, failed, missed and late.
    """
    return bool(
        CampaignUnit.objects.filter(pk=unit.pk, state__in=(State.SENT, State.MISSED)).update(
            **outcome, state=State.DONE, part=unit.key, finished_at=now, leased_until=None, error=""
        )
    )


def fail_unit(unit: CampaignUnit, error: str, now: datetime) -> None:
    """Mark a unit with an unusable result as failed."""
    CampaignUnit.objects.filter(pk=unit.pk, state=State.SENT).update(
        state=State.FAILED,
        missed=F("slots"),
        error=error[:2000],
        finished_at=now,
        leased_until=None,
    )


def miss_past(campaign: Campaign, now: datetime) -> int:
    """Mark units as missed that were not sent in time or have no result; return their number."""
    at = elapsed_s(campaign, now)
    unsent = campaign.units.filter(state=State.WAITING, ends_s__lte=at)
    count = _miss(unsent, "nothing was sent in time", now)
    gone = campaign.units.filter(state=State.SENT, leased_until__lte=now)
    count += _miss(gone.filter(began_at=None), "the vantage point did not begin", now)
    return count + _miss(gone.exclude(began_at=None), "no result came", now)


def miss_all(units: Iterable[CampaignUnit], reason: str, now: datetime) -> None:
    """Mark waiting units as missed."""
    keys = [u.pk for u in units]
    for begin in range(0, len(keys), 500):
        _miss(
            CampaignUnit.objects.filter(pk__in=keys[begin : begin + 500], state=State.WAITING),
            reason,
            now,
        )


def vantages_out(campaign: Campaign) -> list[str]:
    """Return the vantage points with sent units of a campaign."""
    out = campaign.units.filter(state=State.SENT).order_by().values_list("vantage", flat=True)
    return sorted(out.distinct())


def miss_rest(campaign: Campaign, reason: str, now: datetime) -> int:
    """Mark all open units as missed; return their number."""
    rest = campaign.units.filter(state__in=(State.WAITING, State.SENT))
    return _miss(rest, reason, now)


def _miss(rows: QuerySet[CampaignUnit], reason: str, now: datetime) -> int:
    return rows.update(
        state=State.MISSED, missed=F("slots"), error=reason, finished_at=now, leased_until=None
    )


def is_complete(campaign: Campaign) -> bool:
    """Whether every unit has ended."""
    return not campaign.units.filter(state__in=(State.WAITING, State.SENT)).exists()


def unmerged_units(campaign: Campaign) -> list[CampaignUnit]:
    """Return ended units with rows still in their own part."""
    rows = campaign.units.filter(Q(state=State.DONE), part=F("key"))
    return list(rows.order_by("key"))


def assign_part(units: Iterable[CampaignUnit], part: str) -> None:
    """Assign units to another part."""
    keys = [u.pk for u in units]
    for begin in range(0, len(keys), 500):
        CampaignUnit.objects.filter(pk__in=keys[begin : begin + 500]).update(part=part)
