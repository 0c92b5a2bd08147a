"""Everything a person changes about a pool: its settings, tokens, labels and share link.

Every function takes a row of :func:`webapp.store.screening.selectors.find_own_pool`, or the user
who creates.
"""

import secrets
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from core.errors import BadInput, Conflict
from webapp.store.access import share_links
from webapp.store.access.visibility import OPERATOR, owner_of
from webapp.store.models import Pool, PoolInstance, PoolToken
from webapp.store.object_storage import files
from webapp.store.requests.texts import replace_unprintable
from webapp.store.screening import body_files, publications
from webapp.store.screening.secrets import SHOWN, derive_token, generate_seed, hash_secret
from webapp.store.screening.selectors import PoolRow, find_pool

MOST_POOLS_EACH = 200
MOST_TOKENS = 200
LONGEST_DAYS = 3650
LABELS = ("", "good", "bad")


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What a person chooses of a pool; ``None`` leaves a setting as it is."""

    name: str | None = None
    low: float | None = None
    high: float | None = None
    wanted: int | None = None
    price: float | None = None
    currency: str | None = None
    contributes: bool | None = None


def create_pool(user: Any, chosen: PoolSettings) -> PoolRow:
    """Create a pool; raise ``BadInput`` for invalid settings or too many pools.

    Pools of the operator have no owner and are public.
    """
    owner = owner_of(user)
    if owner and Pool.objects.filter(owner=owner).count() >= MOST_POOLS_EACH:
        raise Conflict(f"you have {MOST_POOLS_EACH} pools: delete one first")
    pool = Pool(key=secrets.token_hex(6), owner=owner, name="Pool")
    _apply(pool, chosen)
    pool.save()
    return _row(user, pool.key)


def change_pool(row: PoolRow, user: Any, chosen: PoolSettings) -> PoolRow:
    """Change settings; new marks ask for ``judge_again``. BadInput as for a new pool."""
    with transaction.atomic():
        pool = Pool.objects.select_for_update().get(pk=row.id)
        if chosen.contributes is False:
            publications.withdraw(pool)
        _apply(pool, chosen)
        # Only these: reports that arrive meanwhile count on in the same row.
        pool.save(update_fields=[each.name for each in fields(PoolSettings)])
        Pool.objects.filter(pk=pool.pk).update(revision=F("revision") + 1)
    return _row(user, row.key)


def delete_pool(row: PoolRow) -> None:
    """Forget a pool with its reports, tokens, links and files."""
    for pool in Pool.objects.filter(pk=row.id):
        publications.withdraw(pool)
        pool.delete()
    files.remove(body_files.folder_of(row.id))


def create_token(
    row: PoolRow, name: str = "", days: int | None = None, seed: str = ""
) -> tuple[int, str]:
    """Number and secret of a new token; the secret is never shown again. BadInput for its days."""
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise BadInput(f"a token lasts 1 to {LONGEST_DAYS:,} days", field="days")
    if PoolToken.objects.filter(pool=row.id, revoked_at=None).count() >= MOST_TOKENS:
        raise Conflict(f"a pool has at most {MOST_TOKENS} tokens: revoke one first")
    secret = derive_token(seed or generate_seed())
    token = PoolToken.objects.create(
        pool_id=row.id,
        name=_clean(name, 80, "name", empty=True),
        prefix=secret[:SHOWN],
        sha256=hash_secret(secret),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    return token.pk, secret


def revoke_token(row: PoolRow, pk: int) -> bool:
    """End a token at once; false when the pool has no such active one."""
    active = PoolToken.objects.filter(pool=row.id, pk=pk, revoked_at=None)
    return bool(active.update(revoked_at=timezone.now()))


def share_pool(row: PoolRow) -> str:
    """Secret of the pool's share link, made when there is none."""
    return share_links.share(Pool.objects.get(pk=row.id))


def unshare_pool(row: PoolRow) -> None:
    """The link opens nothing any more; a later one has another address."""
    share_links.revoke(Pool.objects.get(pk=row.id))


def label_instance(row: PoolRow, pk: int, label: str) -> bool:
    """Set the ground truth of a machine (good, bad or empty); return false if it is unknown."""
    if label not in LABELS:
        raise BadInput("a label is good, bad or empty", field="label")
    with transaction.atomic():
        found = PoolInstance.objects.filter(pool=row.id, pk=pk).update(label=label)
        Pool.objects.filter(pk=row.id).update(revision=F("revision") + 1)
    return bool(found)


def delete_instance(row: PoolRow, pk: int) -> bool:
    """Delete a machine with its reports; return false if it is unknown."""
    with transaction.atomic():
        found, _ = PoolInstance.objects.filter(pool=row.id, pk=pk).delete()
        Pool.objects.filter(pk=row.id).update(
            revision=F("revision") + 1, network_revision=F("network_revision") + 1
        )
    return bool(found)


def _row(user: Any, key: str) -> PoolRow:
    row = find_pool(user if owner_of(user) else OPERATOR, key)
    if row is None:
        raise BadInput("the pool was deleted meanwhile")
    return row


def _apply(pool: Pool, chosen: PoolSettings) -> None:
    for each in fields(PoolSettings):
        value = getattr(chosen, each.name)
        if value is not None:
            setattr(pool, each.name, value)
    pool.name = _clean(pool.name, 120, "name")
    pool.currency = _clean(pool.currency, 8, "currency", empty=True)
    _check(0 <= pool.low < pool.high <= 100_000, "low", "choose 0 <= LOW < HIGH <= 100,000")
    _check(1 <= pool.wanted <= 100_000, "wanted", "from 1 to 100,000 machines can be wanted")
    _check(0 <= pool.price <= 1e9, "price", "a price is a number from 0 to 1,000,000,000")


def _check(fits: bool, field: str, problem: str) -> None:
    if not fits:
        raise BadInput(problem, field=field)


def _clean(text: str, longest: int, field: str, *, empty: bool = False) -> str:
    plain = " ".join(replace_unprintable(text, " ").split())
    _check(len(plain) <= longest, field, f"has at most {longest} signs")
    _check(bool(plain) or empty, field, "is empty")
    return plain
