"""Pools of screened machines: changed at once, analysed by a worker when reports have arrived.

Pages and API call these functions; a periodic task finds pools with outdated findings.
"""

import logging
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db.models import F, Q
from django.utils import timezone

from core.errors import NephoscopeError
from tasks.platform.app import app
from tasks.screening.analysis import find
from tasks.screening.ground_truth import settle_truth
from webapp.store.models import Pool
from webapp.store.screening import services, verdicts
from webapp.store.screening.selectors import PoolRow, find_pool
from webapp.store.screening.services import PoolSettings

log = logging.getLogger(__name__)
# A worker that analyses a pool is left alone for so long.
LEASE = timedelta(seconds=300)
# With fewer reports, verdicts follow changed marks while the person waits.
QUICK_REPORTS = 2_000
# A worker may be busy; a pool is not queued again so soon.
_QUEUED_S = 5


def change_pool(row: PoolRow, user: Any, chosen: PoolSettings) -> PoolRow:
    """Change settings and judge again where the marks moved; BadInput for what cannot be."""
    changed = services.change_pool(row, user, chosen)
    if (changed.low, changed.high) != (row.low, row.high):
        if row.n_reports <= QUICK_REPORTS:
            verdicts.reevaluate(row.id)
            changed = find_pool(user, row.key) or changed
        else:
            Pool.objects.filter(pk=row.id).update(is_to_judge=True)
    return changed


@app.task(name="tasks.screening.sweep")
def queue_analysis() -> None:
    """Have the pools analysed that changed, by a worker that may be slow."""
    if _behind() and cache.add("pools-queued", True, timeout=_QUEUED_S):
        analyse_all.delay()


@app.task(name="tasks.screening.analyse_all")
def analyse_all() -> None:
    """Analyse every pool that changed; one after another, each unless a worker has it."""
    for pk in _behind():
        try:
            analyse(pk)
        except NephoscopeError:
            log.exception("pool %s could not be analysed", pk)


def _behind() -> list[int]:
    behind = Q(revision__gt=F("analysed_revision")) | Q(is_to_judge=True)
    return list(Pool.objects.filter(behind).order_by("analysed_at").values_list("pk", flat=True))


def analyse(pk: int) -> bool:
    """Bring the findings of one pool up to date; false when another worker is at it."""
    now = timezone.now()
    free = Q(leased_until=None) | Q(leased_until__lt=now)
    if not Pool.objects.filter(free, pk=pk).update(leased_until=now + LEASE):
        return False
    try:
        _analyse(Pool.objects.get(pk=pk))
    finally:
        Pool.objects.filter(pk=pk).update(leased_until=None)
    return True


def _analyse(pool: Pool) -> None:
    if pool.is_to_judge:
        Pool.objects.filter(pk=pool.pk).update(is_to_judge=False)
        verdicts.reevaluate(pool.pk)
        pool.refresh_from_db()
    tested = settle_truth(pool) if pool.network_revision > pool.tested_revision else None
    findings = find(pool, tested)
    # What arrived meanwhile has a higher revision, and the next sweep sees it.
    Pool.objects.filter(pk=pool.pk).update(
        findings=findings,
        analysed_revision=pool.revision,
        tested_revision=pool.network_revision,
        analysed_at=timezone.now(),
    )
