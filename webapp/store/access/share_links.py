"""Links that show one thing to whoever has them: made, shown again to their owner, taken back.

What a link's address holds follows from a stored seed and this installation's secret key, so that
the database alone opens nothing.
"""

import secrets
from typing import TypeVar

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from webapp.store.access.tokens import digest
from webapp.store.models.bases import SharedByLink

CHARACTERS = 40
Row = TypeVar("Row", bound=SharedByLink)


def secret_of(row: SharedByLink) -> str:
    """What the address of a row's link holds; empty where there is none, or none to be shown.

    One that was stored before seeds were, or under another secret key, opens but is not known here.
    """
    secret = _derive(row, row.share_seed)
    return secret if secret and digest(secret) == row.share_sha256 else ""


def _derive(row: SharedByLink, seed: str) -> str:
    # Each kind of thing has a salt of its own: no link of one opens another.
    salt = f"nephoscope.{row._meta.model_name}.share"
    return salted_hmac(salt, seed, algorithm="sha256").hexdigest()[:CHARACTERS] if seed else ""


def share(row: SharedByLink) -> str:
    """Make a row's link, unless there is one already; gives what its address holds."""
    seed = secrets.token_urlsafe(24)
    rows = type(row)._default_manager.filter(pk=row.pk, share_sha256=None)
    rows.update(share_seed=seed, share_sha256=digest(_derive(row, seed)))
    row.refresh_from_db(fields=["share_seed", "share_sha256"])
    return secret_of(row)


def take_back(row: SharedByLink) -> None:
    """End a row's link for good: another one is made another time."""
    row.share_seed, row.share_sha256 = "", None
    row.save(update_fields=["share_seed", "share_sha256"])


def opened_by(rows: QuerySet[Row], secret: str) -> QuerySet[Row]:
    """Those of the rows that a link opens; none whose owner's account is closed."""
    return rows.filter(share_sha256=digest(secret), owner__is_active=True)
