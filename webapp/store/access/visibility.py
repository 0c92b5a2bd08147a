"""Who may see what: rows of nobody are public, rows of somebody are theirs alone.

A share link's visitor sees the one thing that it opens; commands of the operator see all.
"""

from collections.abc import Collection
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from webapp.store.access import sharing
from webapp.store.access.url_ownership import MODELS
from webapp.store.models import ShareLink

Row = TypeVar("Row", bound=Model)


class SharedReader(AnonymousUser):
    """Whoever came by a share link, signed in or not: it opens one thing and nothing else."""

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
        # The link is looked at anew, so that it stops showing as soon as it is taken back.
        links = ShareLink.objects.filter(sharing.is_live(), pk=user.link.pk)
        may_be_shared = queryset.model in MODELS.values()
        return queryset.filter(share_links__in=links) if may_be_shared else queryset.none()
    if user is None or not user.is_authenticated:
        return queryset.filter(owner__isnull=True)
    return queryset.filter(Q(owner__isnull=True) | Q(owner=user.pk))


def may_see(kind: str, slugs: Collection[str], user: Any = None) -> bool:
    """Whether all of these things are there for ``user``; one that is not there is not."""
    wanted = set(slugs)
    rows = MODELS[kind]._default_manager.filter(slug__in=wanted)
    return visible(rows, user).count() == len(wanted)


def reader_key(user: Any) -> tuple[str, Any]:
    """What tells readers apart who may be shown different pages."""
    if isinstance(user, SharedReader):
        return "link", user.link.pk
    return "user", user.pk if user is not None and user.is_authenticated else None


def owner_of(user: Any) -> Any:
    """The user to be written into a new row's ``owner``; ``None`` for whoever is not signed in."""
    return user if user is not None and user.is_authenticated else None
