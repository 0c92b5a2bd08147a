"""Quotas of accounts and organisations: domains surveyed and probes planned in 30 days.

Usage is counted when a survey or campaign is stored, and stays when it is deleted. The usage of an
organisation is that of its present members.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Func, IntegerField, QuerySet, Sum
from django.utils import timezone

from core.errors import Conflict
from core.statuses import FINAL_STATES
from webapp.store.models import Membership, Organisation, Survey, UsageDay
from webapp.store.prepared_query import PreparedQuery

DAYS = 30
# Columns of usage with what they count.
KINDS = {"domains": "domains surveyed", "probes": "probes of campaigns"}


@dataclass(frozen=True, slots=True)
class Quota:
    """What was used of a kind in 30 days, and the limit; 0 is no limit."""

    kind: str
    used: int
    limit: int


def quotas_of(user: Any) -> list[Quota]:
    """Return the quotas of an account."""
    return _quotas(UsageDay.objects.filter(owner=user.pk), "USER")


def quotas_of_organisation(organisation: Organisation) -> list[Quota]:
    """Return the quotas of an organisation."""
    return _quotas(UsageDay.objects.filter(owner__in=_members(organisation)), "ORGANISATION")


def _members(organisation: Organisation) -> QuerySet[Membership, Any]:
    return Membership.objects.filter(organisation=organisation).values("user")


def _quotas(rows: QuerySet[UsageDay], holder: str) -> list[Quota]:
    since = timezone.now().date() - timedelta(days=DAYS - 1)
    found = rows.filter(day__gte=since).aggregate(**{kind: Sum(kind) for kind in KINDS})
    return [
        Quota(kind, found[kind] or 0, getattr(settings, f"MONTHLY_{kind.upper()}_PER_{holder}"))
        for kind in KINDS
    ]


@transaction.atomic
def count(user: Any, kind: str, amount: int) -> None:
    """Add to the usage of an account; raise ``Conflict`` where a quota does not hold so much.

    Operators are counted without a limit. Nothing is counted without an account.
    """
    if user is None:
        return
    today = timezone.now().date()
    UsageDay.objects.get_or_create(owner=user, day=today)
    # Requests of one account wait for each other from here.
    row = UsageDay.objects.select_for_update().get(owner=user, day=today)
    if not user.is_staff:
        _check("your account", quotas_of(user), kind, amount)
        for mine in Membership.objects.filter(user=user).select_related("organisation"):
            held = quotas_of_organisation(mine.organisation)
            _check(f"the organisation {mine.organisation.name}", held, kind, amount)
    UsageDay.objects.filter(pk=row.pk).update(**{kind: F(kind) + amount})


def _check(holder: str, quotas: Iterable[Quota], kind: str, amount: int) -> None:
    for quota in quotas:
        if quota.kind == kind and quota.limit and quota.used + amount > quota.limit:
            left = max(0, quota.limit - quota.used)
            raise Conflict(
                f"{holder} has {left:,} of {quota.limit:,} {KINDS[kind]} left in {DAYS} days, and "
                f"this needs {amount:,}; see Account, Usage"
            )


def active_surveys(maker: Any = None) -> int:
    """Surveys that wait or run, of everyone or of one maker."""
    if maker:
        return _active().filter(maker=maker).count()
    row = _count_active.first()
    return row[0] if row else 0


def _active() -> QuerySet[Survey]:
    return Survey.objects.exclude(state__in=FINAL_STATES).order_by()


# As a plain function of SQL, since Django groups by the columns beside an aggregate.
_COUNT = Func(F("pk"), function="COUNT", output_field=IntegerField())
_count_active = PreparedQuery(lambda: _active().values_list(_COUNT))
