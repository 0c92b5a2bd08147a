"""The life of a campaign's units: sent to its vantage point, begun, and ended once.

Every step is one conditional update, so that two schedulers, a late message or a doubled parcel
change nothing twice.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from webapp.store.campaigns.services import elapsed_s, moment
from webapp.store.models import Campaign, CampaignUnit

State = CampaignUnit.State
# Units are sent so long before they begin.
AHEAD_S = 20.0
# A result may come so late after the end of its window: its process or the broker starts again,
# or the way is long.
LEAST_PATIENCE_S, PATIENCE_S = 30.0, 60.0
# An order of which nothing was heard is sent again after so long, and each time twice as long.
FIRST_RETRY_S = 5.0
_SENT_AT_ONCE = 2_000


def due_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Units that wait and begin soon, or have begun and not ended."""
    at = elapsed_s(campaign, now)
    rows = campaign.units.filter(
        state=State.WAITING, starts_s__lte=at + AHEAD_S, ends_s__gt=max(at, 0.0)
    )
    return list(rows.order_by("starts_s", "key")[:_SENT_AT_ONCE])


def left_here(campaign: Campaign) -> list[CampaignUnit]:
    """Units that a process had taken for itself, and did not end."""
    return list(campaign.units.filter(state=State.SENT).order_by("starts_s", "key")[:1])


def silent_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Units that should have begun, of which nothing was heard since they were sent."""
    rows = campaign.units.filter(
        state=State.SENT, began_at=None, due_at__lt=now, leased_until__gt=now
    )
    return [u for u in rows[:_SENT_AT_ONCE] if _is_silent(u, now)]


def overdue_units(campaign: Campaign, now: datetime) -> list[CampaignUnit]:
    """Units that began, whose window is over for a while, and whose result has not come."""
    rows = campaign.units.filter(state=State.SENT, leased_until__gt=now).exclude(began_at=None)
    return [u for u in rows[:_SENT_AT_ONCE] if _is_overdue(u, now)]


def _is_silent(unit: CampaignUnit, now: datetime) -> bool:
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
    """Take a unit for sending, also once more; false when another did, or it has ended.

    Its window is fixed at the first time, whatever pauses follow.
    """
    due = unit.due_at or moment(unit.campaign, unit.starts_s)
    window = timedelta(seconds=unit.ends_s - unit.starts_s)
    changed = CampaignUnit.objects.filter(
        pk=unit.pk, state=unit.state, attempt=unit.attempt
    ).update(
        state=State.SENT,
        attempt=F("attempt") + 1,
        due_at=due,
        sent_at=now,
        leased_until=max(due + window, now) + timedelta(seconds=patience_s(unit)),
    )
    if changed:
        unit.refresh_from_db(fields=["state", "attempt", "due_at", "sent_at", "leased_until"])
    return bool(changed)


def patience_s(unit: CampaignUnit) -> float:
    """How long a result may take after the window: a short window is not waited for as long."""
    return max(LEAST_PATIENCE_S, min(PATIENCE_S, 2 * (unit.ends_s - unit.starts_s)))


def put_back(unit: CampaignUnit) -> None:
    """A unit that could not be sent waits again."""
    CampaignUnit.objects.filter(
        pk=unit.pk, state=State.SENT, attempt=unit.attempt, began_at=None
    ).update(state=State.WAITING, attempt=F("attempt") - 1, due_at=None, leased_until=None)


def mark_begun(campaign_id: int, vantage: str, key: str, now: datetime) -> bool:
    """A vantage point says that it has begun."""
    return bool(
        CampaignUnit.objects.filter(
            campaign=campaign_id, vantage=vantage, key=key, state=State.SENT, began_at=None
        ).update(began_at=now)
    )


def open_unit(slug: str, vantage: str, key: str) -> CampaignUnit | None:
    """The unit that a result belongs to, unless it has one; only its own vantage point's.

    A unit that was missed because its result had not come takes it all the same, until the
    campaign is closed.
    """
    rows = CampaignUnit.objects.select_related("campaign").filter(
        campaign__slug=slug, vantage=vantage, key=key, sent_at__isnull=False
    )
    rows = rows.filter(state__in=(State.SENT, State.MISSED))
    return rows.exclude(campaign__finished_at__isnull=False).first()


def end_unit(unit: CampaignUnit, told: Mapping[str, Any], now: datetime) -> bool:
    """Put a unit's part into the manifest; false when another result was faster.

    ``told`` has rows, counters, ok, failed, missed and late.
    """
    return bool(
        CampaignUnit.objects.filter(pk=unit.pk, state__in=(State.SENT, State.MISSED)).update(
            **told, state=State.DONE, part=unit.key, finished_at=now, leased_until=None, error=""
        )
    )


def fail_unit(unit: CampaignUnit, error: str, now: datetime) -> None:
    """A result came that cannot be used."""
    CampaignUnit.objects.filter(pk=unit.pk, state=State.SENT).update(
        state=State.FAILED,
        missed=F("slots"),
        error=error[:2000],
        finished_at=now,
        leased_until=None,
    )


def miss_past(campaign: Campaign, now: datetime) -> int:
    """Give up what nobody sent in time, and what no result came of; how many units."""
    at = elapsed_s(campaign, now)
    unsent = campaign.units.filter(state=State.WAITING, ends_s__lte=at)
    count = _miss(unsent, "nothing was sent in time", now)
    gone = campaign.units.filter(state=State.SENT, leased_until__lte=now)
    count += _miss(gone.filter(began_at=None), "the vantage point did not begin", now)
    return count + _miss(gone.exclude(began_at=None), "no result came", now)


def miss_all(units: Iterable[CampaignUnit], reason: str, now: datetime) -> None:
    """Give up units that wait, for a reason of their vantage point."""
    keys = [u.pk for u in units]
    for begin in range(0, len(keys), 500):
        _miss(
            CampaignUnit.objects.filter(pk__in=keys[begin : begin + 500], state=State.WAITING),
            reason,
            now,
        )


def vantages_out(campaign: Campaign) -> list[str]:
    """Vantage points that have work of a campaign."""
    out = campaign.units.filter(state=State.SENT).order_by().values_list("vantage", flat=True)
    return sorted(out.distinct())


def miss_rest(campaign: Campaign, reason: str, now: datetime) -> int:
    """Give up all that has not ended; how many units."""
    rest = campaign.units.filter(state__in=(State.WAITING, State.SENT))
    return _miss(rest, reason, now)


def _miss(rows: QuerySet[CampaignUnit], reason: str, now: datetime) -> int:
    return rows.update(
        state=State.MISSED, missed=F("slots"), error=reason, finished_at=now, leased_until=None
    )


def is_complete(campaign: Campaign) -> bool:
    """Whether every unit has ended."""
    return not campaign.units.filter(state__in=(State.WAITING, State.SENT)).exists()


def is_quiet(campaign: Campaign) -> bool:
    """Whether nothing is out."""
    return not campaign.units.filter(state=State.SENT).exists()


def loose_parts(campaign: Campaign) -> list[CampaignUnit]:
    """Units whose rows still stand in a part of their own."""
    rows = campaign.units.filter(Q(state=State.DONE), part=F("key"))
    return list(rows.order_by("key"))


def move_parts(units: Iterable[CampaignUnit], part: str) -> None:
    """Units' rows stand in another part from now on."""
    keys = [u.pk for u in units]
    for begin in range(0, len(keys), 500):
        CampaignUnit.objects.filter(pk__in=keys[begin : begin + 500]).update(part=part)
