"""Visibility of rows: rows without owner are public, others are visible to their owner.

Rows of an organisation are visible to its members, too; its owners and admins also manage them.
Visitors of a share link see its target only; operator commands see all rows.
"""

from collections.abc import Collection
from typing import Any, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from webapp.store.access.tokens import live_condition
from webapp.store.access.url_ownership import MODELS
from webapp.store.models import Membership, Role, ShareLink
from webapp.store.models.accounts.organisations import MANAGERS
from webapp.store.models.bases import OwnedByOrganisation

Row = TypeVar("Row", bound=Model)


class SharedReader(AnonymousUser):
    """Visitor of a share link, who sees its target and nothing else."""

    def __init__(self, link: ShareLink) -> None:
        super().__init__()
        self.link = link


class Operator(AnonymousUser):
    """User of the management commands, who sees everything."""


OPERATOR = Operator()


def is_anonymous(user: Any) -> bool:
    """Whether a reader sees public rows only: neither an account, a share link nor a command."""
    if isinstance(user, Operator | SharedReader):
        return False
    return user is None or not user.is_authenticated


def visible(queryset: QuerySet[Row], user: Any = None) -> QuerySet[Row]:
    """Filter a queryset to rows visible to the user; public rows without a user."""
    if isinstance(user, Operator):
        return queryset
    if isinstance(user, SharedReader):
        # The link is checked on each request, so that revocation takes effect at once.
        links = ShareLink.objects.filter(live_condition(), pk=user.link.pk)
        may_be_shared = queryset.model in MODELS.values()
        return queryset.filter(share_links__in=links) if may_be_shared else queryset.none()
    if is_anonymous(user):
        return queryset.filter(owner__isnull=True)
    own = Q(owner__isnull=True) | Q(owner=user.pk)
    return queryset.filter(own | _in_organisation(queryset.model, user, Role.values))


def manageable(queryset: QuerySet[Row], user: Any) -> QuerySet[Row]:
    """Filter rows to those that the user may publish, share and delete.

    These are the rows that the user created, and those of organisations with the user as owner
    or admin.
    """
    if isinstance(user, Operator):
        return queryset
    if user is None or not user.is_authenticated:
        return queryset.none()
    created = Q(maker=user.pk) if hasattr(queryset.model, "maker") else Q(owner=user.pk)
    return queryset.filter(created | _in_organisation(queryset.model, user, MANAGERS))


def may_manage(row: Model, user: Any) -> bool:
    """Whether the user may publish, share and delete a row."""
    return manageable(type(row)._default_manager.filter(pk=row.pk), user).exists()


def _in_organisation(model: type[Model], user: Any, roles: Collection[str]) -> Q:
    """Return the condition of rows in organisations where the user has one of these roles."""
    if not issubclass(model, OwnedByOrganisation):
        return Q(pk__in=())
    joined = Membership.objects.filter(user=user.pk, role__in=roles)
    return Q(organisation__in=joined.values("organisation"))


def may_see(kind: str, slugs: Collection[str], user: Any = None) -> bool:
    """Whether all of these objects exist and are visible to the user."""
    wanted = set(slugs)
    rows = MODELS[kind]._default_manager.filter(slug__in=wanted)
    return visible(rows, user).count() == len(wanted)


def reader_key(user: Any) -> tuple[str, Any]:
    """Return a cache key of the reader's visibility."""
    if isinstance(user, SharedReader):
        return "link", user.link.pk
    return "user", user.pk if user is not None and user.is_authenticated else None


def owner_of(user: Any) -> Any:
    """Return the user for a new row's ``owner``; None if anonymous."""
    return user if user is not None and user.is_authenticated else None
