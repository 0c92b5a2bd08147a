"""Queries of audits: lists, one audit, the audit before, what a new one names."""

from typing import Any

from django.db.models import Q, QuerySet

from core.errors import BadInput
from core.statuses import SurveyState
from webapp.store.access.visibility import visible
from webapp.store.models import Audit, Campaign, SavedList, Survey

State = Audit.State
# States of audits that have findings.
JUDGED = (State.FINISHED, State.PARTIAL)
_WITH_DATA = (SurveyState.FINISHED, SurveyState.PARTIAL)
# Columns that are long, and that lists do not show.
_LONG = ("policy_document", "groups", "suppressions", "baseline")


def listed(user: Any) -> QuerySet[Audit]:
    """Audits that are visible to the user, newest first, without their long columns."""
    rows = Audit.objects.select_related("survey", "saved_list").defer(*_LONG)
    return visible(rows, user)


# What documents and pages read of the rows that an audit names.
_NAMED = {
    "survey": ("slug", "name", "owner", "state", "n_domains"),
    "campaign": ("slug", "name", "owner"),
    "saved_list": ("slug", "name"),
    "saved_policy": ("slug", "name"),
    "previous": ("slug", "name", "owner", "created_at", "survey", "campaign"),
}
_SHOWN = tuple(f.name for f in Audit._meta.concrete_fields if f.name not in _LONG)


def find(slug: str, user: Any) -> Audit | None:
    """The audit if it is visible to the user; long columns are read when they are needed."""
    named = [f"{row}__{field}" for row, fields in _NAMED.items() for field in fields]
    rows = Audit.objects.select_related(*_NAMED).only(*_SHOWN, "groups", *named)
    return visible(rows.filter(slug=slug), user).first()


def find_survey(slug: str, user: Any) -> Survey:
    """A finished survey that is visible to the user; raises ``BadInput``."""
    row = visible(Survey.objects.filter(slug=slug), user).first()
    if row is None:
        raise BadInput(f"there is no survey {slug!r}", field="survey")
    if row.state not in _WITH_DATA:
        raise BadInput(f"survey {slug!r} is {row.state}, not finished", field="survey")
    return row


def find_campaign(slug: str, user: Any) -> Campaign:
    """A campaign that is visible to the user and has tables; raises ``BadInput``."""
    row = visible(Campaign.objects.filter(slug=slug), user).first()
    if row is None:
        raise BadInput(f"there is no campaign {slug!r}", field="campaign")
    if row.reported_at is None:
        raise BadInput(f"campaign {slug!r} has no report yet", field="campaign")
    return row


def find_previous(slug: str, user: Any) -> Audit:
    """An audit to compare with, visible to the user and judged; raises ``BadInput``."""
    row = visible(Audit.objects.filter(slug=slug), user).first()
    if row is None or row.state not in JUDGED:
        raise BadInput(f"there is no finished audit {slug!r}", field="previous")
    return row


def newest_like(
    owner: Any, maker: Any, list_sha256: str, saved_list: SavedList | None, policy_name: str
) -> Audit | None:
    """The newest judged audit of the same list under the same policy, as visible as the new one."""
    same_list = Q(list_sha256=list_sha256)
    if saved_list is not None:
        same_list |= Q(saved_list=saved_list)
    rows = Audit.objects.filter(
        same_list, owner=owner, maker=maker, policy_name=policy_name, state__in=JUDGED
    )
    return rows.order_by("-created_at", "-id").first()


def surveys_for(user: Any, limit: int = 200) -> list[tuple[str, str]]:
    """Slug and name of surveys that the user may audit, newest first."""
    rows = visible(Survey.objects.filter(state__in=_WITH_DATA), user)
    return list(rows.values_list("slug", "name")[:limit])


def campaigns_for(user: Any, limit: int = 200) -> list[tuple[str, str]]:
    """Slug and name of campaigns with measurements that an audit of the user may use."""
    rows = visible(Campaign.objects.filter(reported_at__isnull=False), user)
    return list(rows.values_list("slug", "name")[:limit])
