"""Identities at an OpenID Connect provider: which account each signs in to."""

import re
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import BadInput, Conflict, Forbidden
from webapp.store.access import accounts, events
from webapp.store.models import ExternalIdentity

_LONGEST = 255
_LONGEST_LABEL = 150
# Names to try before the provider's person has to be invited by another name.
_NAMES_TRIED = 100


def sign_in(claims: dict[str, Any]) -> Any:
    """Return the account of a verified ID token; create one where that is allowed.

    Raise ``Forbidden`` for a closed account, and for a person without one where none is made.
    """
    issuer, subject = _person(claims)
    known = ExternalIdentity.objects.filter(issuer=issuer, subject=subject)
    found = known.select_related("owner").first()
    if found is None:
        if not settings.OIDC_SIGN_UP:
            raise Forbidden("there is no account for this person; ask the administrator for one")
        found = _create(claims)
    if not found.owner.is_active:
        raise Forbidden("this account is closed")
    known.update(last_used_at=timezone.now(), label=_label(claims))
    return found.owner


@transaction.atomic
def connect(user: Any, claims: dict[str, Any]) -> None:
    """Let a person sign in to an account; raise ``Conflict`` where they sign in to another."""
    issuer, subject = _person(claims)
    found, _ = ExternalIdentity.objects.get_or_create(
        issuer=issuer, subject=subject, defaults={"owner": user, "label": _label(claims)}
    )
    if found.owner_id != user.pk:
        raise Conflict("this person signs in to another account")
    events.record(user, "account.identity", f"connected {_label(claims)}")


def disconnect(user: Any) -> None:
    """Remove the identities of an account; raise ``Conflict`` where it then has no way in."""
    if not user.has_usable_password():
        raise Conflict("set a password first: without one this account could not be signed in to")
    ExternalIdentity.objects.filter(owner=user).delete()
    events.record(user, "account.identity", "disconnected")


def identities_of(user: Any) -> list[ExternalIdentity]:
    """The identities that sign in to an account."""
    return list(ExternalIdentity.objects.filter(owner=user).order_by("pk"))


def _person(claims: dict[str, Any]) -> tuple[str, str]:
    issuer, subject = str(claims.get("iss") or ""), str(claims.get("sub") or "")
    if not issuer or not 0 < len(subject) <= _LONGEST:
        raise Forbidden("the provider does not say who signs in")
    return issuer[:_LONGEST], subject


def _label(claims: dict[str, Any]) -> str:
    named = (claims.get("preferred_username"), claims.get("email"), claims.get("name"))
    return str(next(filter(None, named), claims["sub"]))[:_LONGEST_LABEL]


def _create(claims: dict[str, Any]) -> ExternalIdentity:
    """A new account with its identity; two requests at once make one."""
    issuer, subject = _person(claims)
    try:
        with transaction.atomic():
            user = _create_account(claims)
            made = ExternalIdentity.objects.create(
                owner=user, issuer=issuer, subject=subject, label=_label(claims)
            )
            events.record(user, "account.identity", f"created for {_label(claims)}")
            return made
    except IntegrityError:
        known = ExternalIdentity.objects.select_related("owner")
        return known.get(issuer=issuer, subject=subject)


def _create_account(claims: dict[str, Any]) -> Any:
    """An account without a password, by the person's name or that name with a number."""
    base = _account_name(_label(claims))
    for n in range(1, _NAMES_TRIED):
        name = base if n == 1 else f"{base[:36]}-{n}"
        if accounts.find_account(name) is None:
            return accounts.create_account(name)
    raise Forbidden("all names like this one are taken; ask the administrator for an account")


def _account_name(label: str) -> str:
    """The part before an ``@``, of the characters that names have."""
    text = re.sub(r"[^a-z0-9._-]+", "-", label.partition("@")[0].lower()).strip("-._")[:40]
    try:
        return accounts.clean_name(text)
    except BadInput:
        return accounts.clean_name(f"user-{text}"[:40].rstrip("-._"))
