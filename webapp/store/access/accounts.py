"""Accounts: creation, invitation, activation."""

import re
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes, force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from core.errors import BadInput
from webapp.store.access import events, tokens
from webapp.store.models import Survey

NAME_RULE = "3 to 40 letters, digits, dots, hyphens or underscores, beginning with a letter"
_NAME = re.compile(r"[a-z][a-z0-9._-]{2,39}")


def clean_name(text: str) -> str:
    """Normalise a name to lower case; raise ``BadInput`` for an invalid one."""
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise BadInput(f"a name has {NAME_RULE}", field="name")
    return name


def find_account(name: str) -> Any:
    """Return the account of a name, ignoring case, or None."""
    return get_user_model().objects.filter(username__iexact=name.strip()).first()


def get_account(name: str) -> Any:
    """Return the account of a name; raise ``BadInput`` if there is none."""
    user = find_account(name)
    if user is None:
        raise BadInput(f"there is no account {name!r}", field="name")
    return user


def create_account(name: str, password: str | None = None, *, is_operator: bool = False) -> Any:
    """Create an account, by default without a password, which its invitation sets.

    Operators also manage vantage points.
    """
    wanted = clean_name(name)
    if find_account(wanted):
        raise BadInput(f"there is an account {wanted!r} already", field="name")
    user = get_user_model().objects.create_user(wanted, password=password, is_staff=is_operator)
    # A sign-up sets a password at once; a command leaves that to the invitation.
    subject = f"{wanted} (operator)" if is_operator else wanted
    events.record(user if password else None, "account.create", subject)
    return user


def issue_invitation(user: Any) -> tuple[str, str]:
    """Return (uid, key) of a password link, valid once within three days."""
    who = urlsafe_base64_encode(force_bytes(user.pk))
    events.record(None, "account.invite", user.get_username())
    return who, default_token_generator.make_token(user)


def find_invited(who: str, key: str) -> Any:
    """Return the user of an invitation, or None if it is invalid, used or expired."""
    try:
        pk = int(force_str(urlsafe_base64_decode(who)))
    except (ValueError, OverflowError, UnicodeDecodeError):
        return None
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    return user if user and default_token_generator.check_token(user, key) else None


def list_accounts() -> list[dict[str, Any]]:
    """List all accounts with counts of surveys and tokens."""
    users = get_user_model().objects.order_by("username")
    return [
        {
            "name": user.get_username(),
            "is_active": user.is_active,
            "has_password": user.has_usable_password(),
            "created_at": user.date_joined,
            "signed_in_at": user.last_login,
            "surveys": Survey.objects.filter(maker=user).count(),
            "tokens": tokens.live(user).count(),
        }
        for user in users
    ]


def set_active(user: Any, is_active: bool) -> None:
    """Activate or deactivate an account; a deactivated one has no valid session, token or link."""
    user.is_active = is_active
    user.save(update_fields=["is_active"])
    events.record(None, "account.open" if is_active else "account.close", user.get_username())
