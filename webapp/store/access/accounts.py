"""Accounts as the operator and their owners handle them: made, invited and closed."""

import re
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.tokens import default_token_generator
from django.utils.encoding import force_bytes, force_str
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

from core.errors import BadInput
from webapp.store.access import tokens
from webapp.store.models import Survey

NAME_RULE = "3 to 40 letters, digits, dots, hyphens or underscores, beginning with a letter"
_NAME = re.compile(r"[a-z][a-z0-9._-]{2,39}")


def clean_name(text: str) -> str:
    """A name as it is stored: in small letters, so that none looks like another."""
    name = text.strip().lower()
    if not _NAME.fullmatch(name):
        raise BadInput(f"a name has {NAME_RULE}", field="name")
    return name


def find(name: str) -> Any:
    """The account of a name in any letters, or None."""
    return get_user_model().objects.filter(username__iexact=name.strip()).first()


def known(name: str) -> Any:
    """The account of a name; raises ``BadInput`` where there is none."""
    user = find(name)
    if user is None:
        raise BadInput(f"there is no account {name!r}", field="name")
    return user


def create(name: str, password: str | None = None, *, is_operator: bool = False) -> Any:
    """A new account, by default one that waits for its owner to set a password.

    An operator also invites, drains and revokes vantage points.
    """
    wanted = clean_name(name)
    if find(wanted):
        raise BadInput(f"there is an account {wanted!r} already", field="name")
    return get_user_model().objects.create_user(wanted, password=password, is_staff=is_operator)


def invitation(user: Any) -> tuple[str, str]:
    """(who, key) of a link with which a password is set, once, within three days."""
    who = urlsafe_base64_encode(force_bytes(user.pk))
    return who, default_token_generator.make_token(user)


def invited(who: str, key: str) -> Any:
    """Whose invitation this is, or None where it was used, is too old or never was one."""
    try:
        pk = int(force_str(urlsafe_base64_decode(who)))
    except (ValueError, OverflowError, UnicodeDecodeError):
        return None
    user = get_user_model().objects.filter(pk=pk, is_active=True).first()
    return user if user and default_token_generator.check_token(user, key) else None


def accounts() -> list[dict[str, Any]]:
    """Every account with what it holds, as the operator's list shows it."""
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
    """Close an account, so that its sessions, tokens and links open nothing, or open it again."""
    user.is_active = is_active
    user.save(update_fields=["is_active"])
