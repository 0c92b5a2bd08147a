"""Throttling of sign-in and sign-up attempts by account, address and pair of both.

Names and addresses are stored as keyed hashes for the length of the window.
"""

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from core.errors import NephoscopeError
from webapp.store.models import SignInFailure

WINDOW = timedelta(minutes=15)
# Failures per window: of a (name, address) pair, of an address, of a name. The limit per name is
# high, so that others cannot lock an account's owner out.
PAIR_LIMIT, ADDRESS_LIMIT, NAME_LIMIT = 5, 30, 100
SIGN_UP_LIMIT = 10
# Codes of a second factor. They come after the right password, so that others cannot lock an
# account.
CODE_LIMIT = 10
Limits = tuple[tuple[str, int], ...]


class TooManyAttempts(NephoscopeError):
    """The limit of attempts is reached; retry after ``retry_after_s``."""

    permanent = False

    def __init__(self, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        minutes = max(1, -(-retry_after_s // 60))
        plural = "" if minutes == 1 else "s"
        super().__init__(f"too many attempts; try again in {minutes} minute{plural}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, which counts as failed until it is cleared."""

    ids: tuple[int, ...]

    def clear(self) -> None:
        """Delete the failures of a successful attempt."""
        SignInFailure.objects.filter(pk__in=self.ids).delete()


def count_sign_in(name: str, address: str) -> Attempt:
    """Count an attempt before the password is checked; raise ``TooManyAttempts``."""
    person = name.strip().lower()
    return _count(
        (
            (f"pair {person} {address}", PAIR_LIMIT),
            (f"address {address}", ADDRESS_LIMIT),
            (f"name {person}", NAME_LIMIT),
        )
    )


def count_code(name: str, address: str) -> Attempt:
    """Count a code of a second factor before it is checked; raise ``TooManyAttempts``."""
    limits = ((f"code {name.strip().lower()}", CODE_LIMIT), (f"address {address}", ADDRESS_LIMIT))
    return _count(limits)


def count_sign_up(address: str) -> Attempt:
    """Count a sign-up; raise ``TooManyAttempts``."""
    return _count(((f"sign-up {address}", SIGN_UP_LIMIT),))


@transaction.atomic
def _count(limits: Limits) -> Attempt:
    now = timezone.now()
    SignInFailure.objects.filter(at__lt=now - WINDOW).delete()
    keyed = [(_key(what), most) for what, most in limits]
    for key, most in keyed:
        known = SignInFailure.objects.filter(key=key).order_by("at").values_list("at", flat=True)
        if len(known) >= most:
            raise TooManyAttempts(int((known[len(known) - most] + WINDOW - now).total_seconds()))
    rows = [SignInFailure.objects.create(key=key, at=now) for key, _ in keyed]
    return Attempt(tuple(row.pk for row in rows))


def _key(what: str) -> str:
    return salted_hmac("nephoscope.attempts", what, algorithm="sha256").hexdigest()
