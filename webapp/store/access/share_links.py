"""Share links of rows: creation, display to the owner, revocation, lookup by secret.

The secret is derived from a stored seed and the installation's secret key, so that the database
alone grants no access.
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
    """Return the secret of a row's link; empty if there is none or it cannot be derived.

    Links from before seeds, or from another secret key, remain valid but cannot be derived.
    """
    secret = _derive(row, row.share_seed)
    return secret if secret and digest(secret) == row.share_sha256 else ""


def _derive(row: SharedByLink, seed: str) -> str:
    # One salt per model, so that a secret of one model is invalid for others.
    salt = f"nephoscope.{row._meta.model_name}.share"
    return salted_hmac(salt, seed, algorithm="sha256").hexdigest()[:CHARACTERS] if seed else ""


def share(row: SharedByLink) -> str:
    """Create a row's link if there is none; return its secret."""
    seed = secrets.token_urlsafe(24)
    rows = type(row)._default_manager.filter(pk=row.pk, share_sha256=None)
    rows.update(share_seed=seed, share_sha256=digest(_derive(row, seed)))
    row.refresh_from_db(fields=["share_seed", "share_sha256"])
    return secret_of(row)


def revoke(row: SharedByLink) -> None:
    """Revoke a row's link; a later link has another secret."""
    row.share_seed, row.share_sha256 = "", None
    row.save(update_fields=["share_seed", "share_sha256"])


def filter_by_secret(rows: QuerySet[Row], secret: str) -> QuerySet[Row]:
    """Filter rows by the secret of a share link; owners must be active."""
    return rows.filter(share_sha256=digest(secret), owner__is_active=True)
