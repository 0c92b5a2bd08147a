"""Logs of other tools that are kept beside a pool's own results."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import IntegrityError, transaction

from core.errors import Conflict
from webapp.store.models import PoolLog
from webapp.store.requests.texts import replace_unprintable
from webapp.store.screening.selectors import PoolRow, list_logs

MOST_LOGS = 200
NAME_SIGNS = 200


def add_log(pool: PoolRow, name: str, data: bytes, series: Sequence[dict[str, Any]]) -> int:
    """Number of a log that is kept from now on; Conflict when the pool has it, or too many."""
    if PoolLog.objects.filter(pool=pool.id).count() >= MOST_LOGS:
        raise Conflict(f"a pool has at most {MOST_LOGS} logs: delete one first")
    plain = replace_unprintable(name, "").strip()[:NAME_SIGNS]
    try:
        with transaction.atomic():
            row = PoolLog.objects.create(
                pool_id=pool.id,
                name=plain or series[0]["kind"],
                kind=series[0]["kind"],
                sha256=hashlib.sha256(data).hexdigest(),
                n_bytes=len(data),
                series=list(series),
                n_series=len(series),
            )
    except IntegrityError:
        raise Conflict("the pool has this log already") from None
    return row.pk


def delete_log(pool: PoolRow, pk: int) -> bool:
    """Forget a log; false when the pool has none of that number."""
    found, _ = PoolLog.objects.filter(pool=pool.id, pk=pk).delete()
    return bool(found)


__all__ = ["add_log", "delete_log", "list_logs"]
