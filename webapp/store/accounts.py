"""Who may see what: rows of nobody are public, rows of somebody are theirs alone.

A share link's visitor sees the one survey that it opens; commands of the operator see all.
"""

from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from webapp.store.models import Campaign, ShareLink

Row = TypeVar("Row", bound=Model)


class SharedReader(AnonymousUser):
    """Whoever came by a share link, signed in or not: it opens one survey and nothing else."""

    def __init__(self, link: ShareLink) -> None:
        super().__init__()
        self.link = link


class Operator(AnonymousUser):
    """Whoever runs commands on the machine itself: sees everything."""


OPERATOR = Operator()


def visible(queryset: QuerySet[Row], user: Any = None) -> QuerySet[Row]:
    """Rows of ``queryset`` that ``user`` may see; without a user, those that everybody may."""
    if isinstance(user, Operator):
        return queryset
    if isinstance(user, SharedReader):
        is_survey = issubclass(queryset.model, Campaign)
        return queryset.filter(pk=user.link.survey_id) if is_survey else queryset.none()
    if user is None or not user.is_authenticated:
        return queryset.filter(owner__isnull=True)
    return queryset.filter(Q(owner__isnull=True) | Q(owner=user.pk))


def owner_of(user: Any) -> Any:
    """The user to be written into a new row's ``owner``; ``None`` for whoever is not signed in."""
    return user if user is not None and user.is_authenticated else None
