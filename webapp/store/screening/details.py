"""Figures of machines that their rows do not hold, and reports as they were sent."""

from collections.abc import Sequence
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from screening.statistics.time_of_day import BIN_S, DAY_S
from webapp.store.models import PoolInstance, PoolReport
from webapp.store.screening import body_files
from webapp.store.screening.selectors import PoolRow

AT_ONCE = 400
# Number of reports with stalls counted by time of day.
MOST_REPORTS = 5_000


def find_worst_cpus(pool: PoolRow, instances: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Figures of the CPU that decided each machine's verdict: longest sleep, steal and the like."""
    newest = PoolReport.objects.filter(instance=OuterRef("pk"), has_sleeps=True)
    summary = newest.order_by("-started_at", "-id").values("summary")[:1]
    found: dict[int, dict[str, Any]] = {}
    for at in range(0, len(instances), AT_ONCE):
        rows = PoolInstance.objects.filter(pool=pool.id, pk__in=instances[at : at + AT_ONCE])
        for pk, kept in rows.annotate(kept=Subquery(summary)).values_list("pk", "kept").order_by():
            found[pk] = _pick(kept)
    return found


def _pick(summary: Any) -> dict[str, Any]:
    if not isinstance(summary, dict) or not summary.get("cpus"):
        return {}
    cpus = summary["cpus"]
    worst: dict[str, Any] = next((c for c in cpus if c["cpu"] == summary.get("cpu")), cpus[0])
    return worst


def read_body(pool: PoolRow, report_id: str) -> bytes | None:
    """A report as its agent sent it; ``None`` when it is not there or its file was lost."""
    row = PoolReport.objects.filter(pool=pool.id, report_id=report_id).first()
    if row is None:
        return None
    try:
        return body_files.read(pool.id, body_files.Place(row.pack, row.offset, row.length))
    except (OSError, ValueError):
        return None


def count_by_minute(
    pool: PoolRow, instance: int | None = None, most: int = MOST_REPORTS
) -> dict[int, int]:
    """Stalls by minute of the day (UTC, in steps of ten), over the newest reports."""
    found: dict[int, int] = {}
    rows = _own(pool.id, instance).order_by("-started_at")
    for bins in rows.values_list("summary__stall_bins", flat=True)[:most]:
        for number, count in bins or ():
            minute = number * BIN_S % DAY_S // 60
            found[minute] = found.get(minute, 0) + count
    return found


def list_times(pool: int, instance: int, most: int) -> list[tuple[float, dict[str, Any]]]:
    """Start and summary of a machine's newest reports about sleeps."""
    rows = _own(pool, instance).order_by("-started_at").values_list("started_at", "summary")
    return [(at.timestamp(), summary) for at, summary in rows[:most]]


def _own(pool: int, instance: int | None) -> QuerySet[PoolReport]:
    found = PoolReport.objects.filter(pool=pool, has_sleeps=True)
    return found if instance is None else found.filter(instance=instance)
