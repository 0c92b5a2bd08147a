"""Where screened machines run: placement, CPU model, verdict, over all pools a user may see."""

from dataclasses import dataclass
from typing import Any

from django.db.models.fields.json import KeyTextTransform

from webapp.store.access.visibility import visible
from webapp.store.models import Pool, PoolInstance
from webapp.store.screening.selectors import UNKNOWN, settle

# The machines that reported last; a page reads all of them.
MOST_MACHINES = 20_000
_HOST = ("provider", "region", "zone", "instance_type", "cpu_model")
_COLUMNS = ("machine", "name", "pool__key", "verdict", "truth", "p999_ms")


@dataclass(frozen=True, slots=True)
class PlacedMachine:
    """A machine with its final verdict; fields that it did not report are empty."""

    pool: str
    provider: str
    region: str
    zone: str
    instance_type: str
    cpu_model: str
    verdict: str
    p999_ms: float | None


def list_placed_machines(user: Any) -> list[PlacedMachine]:
    """Return the machines with a verdict in pools that the user may see, the newest first.

    A machine in several pools, by its machine id and name, counts where it reported last.
    """
    pools = visible(Pool.objects.all(), user)
    rows = PoolInstance.objects.filter(pool__in=pools.values("pk")).exclude(verdict="", truth="")
    # As text: a key alone is read as JSON, in which a zone 2 is a number.
    host_fields = {f"host_{name}": KeyTextTransform(name, "host") for name in _HOST}
    ordered = rows.order_by("-last_seen_at", "-pk").annotate(**host_fields)
    found: dict[tuple[str, str, str], PlacedMachine] = {}
    for values in ordered.values_list(*_COLUMNS, *host_fields)[:MOST_MACHINES]:
        machine, name, pool, verdict, truth, p999_ms, *host = values
        fields = {field: value or "" for field, value in zip(_HOST, host, strict=True)}
        final = settle(verdict, truth) or UNKNOWN
        key = (machine, name, "" if machine else pool)
        found.setdefault(key, PlacedMachine(pool=pool, verdict=final, p999_ms=p999_ms, **fields))
    return list(found.values())
