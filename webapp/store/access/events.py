"""Log of changes to access: tokens, links, visibility, organisations, passwords and sign-ins."""

from contextvars import ContextVar
from typing import Any

from django.db.models import QuerySet

from webapp.store.models import AccountEvent, Membership
from webapp.store.models.accounts.organisations import MANAGERS

# Identifier of the request that runs now; empty outside requests.
REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")


def record(actor: Any, action: str, subject: str = "", organisation: Any = None) -> None:
    """Add an event; ``organisation`` is a primary key. Without an actor it is the system's."""
    is_known = actor is not None and actor.is_authenticated
    AccountEvent.objects.create(
        actor_pk=actor.pk if is_known else None,
        actor=actor.get_username() if is_known else "",
        organisation_pk=organisation,
        action=action,
        subject=subject[:240],
        request_id=REQUEST_ID.get(),
    )


def by_account(user: Any) -> QuerySet[AccountEvent]:
    """Return the events that an account caused, newest first."""
    return AccountEvent.objects.filter(actor_pk=user.pk)


def of_organisation(mine: Membership) -> QuerySet[AccountEvent]:
    """Return the events of an organisation to its owners and admins, newest first."""
    if mine.role not in MANAGERS:
        return AccountEvent.objects.none()
    return AccountEvent.objects.filter(organisation_pk=mine.organisation_id)


def of_everybody() -> QuerySet[AccountEvent]:
    """Return all events, newest first, for operators."""
    return AccountEvent.objects.all()
