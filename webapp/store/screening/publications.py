"""The public comparison of instance types: which machines count, and what is shown.

Only machines in pools with ``contributes`` count. Tenants are stored as keyed hashes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone
from django.utils.crypto import salted_hmac

from webapp.store.models import Pool, PoolInstance, PublishedType
from webapp.store.screening.selectors import UNKNOWN, settle

# The contributing machines that reported last.
MOST_MACHINES = 200_000
# Publications of a type, each of which later ones are compared with.
MOST_PUBLICATIONS = 400
_HOST = ("provider", "instance_type")


@dataclass(frozen=True, slots=True)
class ContributedMachine:
    """A judged machine of a tenant that contributes."""

    tenant: str
    provider: str
    instance_type: str
    verdict: str
    p999_ms: float | None


def list_contributed() -> list[ContributedMachine]:
    """Return judged machines of known type in contributing pools; each of a tenant once."""
    rows = PoolInstance.objects.filter(pool__contributes=True, pool__owner__isnull=False)
    host = {f"host_{name}": KeyTextTransform(name, "host") for name in _HOST}
    columns = ("machine", "name", "pool", "verdict", "truth", "p999_ms")
    owners = ("pool__owner", "pool__organisation")
    ordered = rows.order_by("-last_seen_at", "-pk").annotate(**host)
    found: dict[tuple[str, str, str, str], ContributedMachine] = {}
    for values in ordered.values_list(*owners, *columns, *host)[:MOST_MACHINES]:
        owner, organisation, machine, name, pool, verdict, truth, p999_ms, provider, kind = values
        final = settle(verdict, truth) or UNKNOWN
        if final == UNKNOWN or not kind:
            continue
        tenant = tenant_hash(owner, organisation)
        one = ContributedMachine(tenant, (provider or "")[:40], kind[:80], final, p999_ms)
        found.setdefault((tenant, machine, name, "" if machine else str(pool)), one)
    return list(found.values())


def tenant_hash(owner: int, organisation: int | None) -> str:
    """Return the keyed hash of a tenant: the organisation of a pool, else its owner."""
    name = f"organisation {organisation}" if organisation else f"user {owner}"
    return salted_hmac("published-types", name, algorithm="sha256").hexdigest()[:32]


def list_types() -> list[PublishedType]:
    """Return all types that ever were published, shown or withheld."""
    return list(PublishedType.objects.all())


def list_shown() -> list[PublishedType]:
    """Return the types that are shown."""
    return list(PublishedType.objects.exclude(document=None))


def publish(
    provider: str, instance_type: str, document: Mapping[str, Any], digests: Mapping[str, str]
) -> None:
    """Show a document of a type, and remember of what it consists."""
    with transaction.atomic():
        row, _ = PublishedType.objects.select_for_update().get_or_create(
            provider=provider, instance_type=instance_type
        )
        row.document, row.published_at = dict(document), timezone.now()
        row.history = [*row.history, dict(digests)][-MOST_PUBLICATIONS:]
        row.save()


def withhold(row: PublishedType) -> None:
    """Show a type no longer; what it was compared with remains."""
    PublishedType.objects.filter(pk=row.pk).update(document=None)


def withdraw(*pools: Pool) -> None:
    """Show no longer what pools counted in: their tenant has withdrawn them, or deletes them."""
    tenants = {
        tenant_hash(pool.owner_id, pool.organisation_id)
        for pool in pools
        if pool.contributes and pool.owner_id is not None
    }
    for row in list_shown() if tenants else ():
        if row.history and not tenants.isdisjoint(row.history[-1]):
            withhold(row)
