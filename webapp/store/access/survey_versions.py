"""Versions of surveys: state and visibility, which every request reads."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Case, Max, Q, QuerySet, When
from django.http import HttpRequest

from core.statuses import SurveyState
from webapp.store.access.visibility import OPERATOR, is_anonymous, may_see, visible
from webapp.store.models import Survey
from webapp.store.prepared_query import PreparedQuery

# A check measures one domain; a survey of several is a study.
IS_CHECK = Q(n_domains=1)


class SurveyVersion(NamedTuple):
    """What the pages of a finished survey depend on, beside their address and reader."""

    survey_id: int
    slug: str
    name: str
    state: str
    finished_at: datetime | None
    owner_id: int | None
    maker_id: int | None
    organisation_id: int | None
    computed_at: datetime | None

    @property
    def is_final(self) -> bool:
        """Whether the survey has ended and has its tables."""
        return self.finished_at is not None and self.computed_at is not None


def _versions(slug: str, reader: Any) -> QuerySet[Survey, tuple[Any, ...]]:
    rows = visible(Survey.objects.filter(slug=slug), reader).order_by()
    own = (name for name in SurveyVersion._fields if name not in ("survey_id", "computed_at"))
    return rows.values_list("pk", *own, Max("reports__computed_at"))


# What every visitor may see, and what the site itself sees.
_public_version = PreparedQuery(lambda slug: _versions(slug, None))
_any_version = PreparedQuery(lambda slug: _versions(slug, OPERATOR))


def version(slug: str, reader: Any = None) -> SurveyVersion | None:
    """Return the version of a survey, where the reader may see it."""
    if is_anonymous(reader):
        row = _public_version.first(slug)
    else:
        row = next(iter(_versions(slug, reader)), None)
    return SurveyVersion(*row) if row else None


def end_of(slug: str) -> datetime | None:
    """Return when a survey has ended, without a check of its visibility."""
    row = _any_version.first(slug)
    return SurveyVersion(*row).finished_at if row else None


def read_version(request: HttpRequest, slug: str) -> SurveyVersion | None:
    """Return the version of a survey, where the reader may see it; read once a request.

    Requests that change something read it again.
    """
    if request.method not in ("GET", "HEAD"):
        return version(slug, request.user)
    read: dict[str, SurveyVersion | None] = request.__dict__.setdefault("versions", {})
    if slug not in read:
        read[slug] = version(slug, request.user)
    return read[slug]


def may_read(request: HttpRequest, kind: str, slugs: Collection[str]) -> bool:
    """Whether the reader may see all of what an address names."""
    if kind != "survey":
        return may_see(kind, slugs, request.user)
    return all(read_version(request, slug) is not None for slug in slugs)


def front_slug(reader: Any = None) -> str:
    """Return the newest visible survey with a report, checks last; empty where there is none."""
    row = _public_front.first() if is_anonymous(reader) else _front_slugs(reader).first()
    return row[0] if row else ""


def _front_slugs(reader: Any) -> QuerySet[Survey, tuple[Any, ...]]:
    done = [str(SurveyState.FINISHED), str(SurveyState.PARTIAL)]
    rows = visible(Survey.objects.filter(state__in=done), reader)
    ordered = rows.order_by(Case(When(IS_CHECK, then=1), default=0), *(Survey._meta.ordering or ()))
    return ordered.values_list("slug")


_public_front = PreparedQuery(lambda: _front_slugs(None))
