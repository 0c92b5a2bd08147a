"""Counts by state, ages of data, health of vantage points and disk space for metrics and operators.

Counts are of all accounts together: they name no tenant.
"""

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Model
from django.utils import timezone

from webapp.store.models import (
    AlertDelivery,
    Audit,
    Campaign,
    RangeTable,
    Recommendation,
    ScheduleRun,
    Simulation,
    Survey,
    VantagePoint,
)
from webapp.store.vantages.documents import health_of

JOBS: Mapping[str, type[Model]] = {
    "survey": Survey,
    "campaign": Campaign,
    "audit": Audit,
    "recommendation": Recommendation,
    "simulation": Simulation,
    "schedule-run": ScheduleRun,
    "alert": AlertDelivery,
}


@dataclass(frozen=True, slots=True)
class RangeAge:
    """The newest table of a provider's range files."""

    provider: str
    age_s: float


def count_jobs() -> dict[str, dict[str, int]]:
    """Rows by kind and state."""
    return {
        kind: {
            row["state"]: row["n"]
            for row in model._default_manager.order_by().values("state").annotate(n=Count("pk"))
        }
        for kind, model in JOBS.items()
    }


def newest_results() -> dict[str, datetime]:
    """When the newest job of each kind ended; kinds without one are absent."""
    found = {
        kind: model._default_manager.aggregate(at=Max("finished_at"))["at"]
        for kind, model in JOBS.items()
        if kind not in ("alert", "schedule-run")
    }
    return {kind: at for kind, at in found.items() if at is not None}


def range_ages() -> list[RangeAge]:
    """Age of the newest real table of each provider, by the date of its publication."""
    rows = RangeTable.objects.filter(origin="").order_by().values("provider")
    today = timezone.now().date()
    return [
        RangeAge(row["provider"], (today - row["newest"]).days * 86_400.0)
        for row in rows.annotate(newest=Max("as_of")).order_by("provider")
    ]


def count_vantage_points() -> Counter[str]:
    """Vantage points by health."""
    now = timezone.now()
    return Counter(str(health_of(point, now)) for point in VantagePoint.objects.all())


def disk_space() -> dict[str, tuple[int, int]]:
    """Free and all bytes of the file systems of data folder and lake."""
    found = {}
    for name, folder in (("data", settings.DATA_DIR), ("lake", settings.LAKE_DIR)):
        if Path(folder).is_dir():
            usage = shutil.disk_usage(folder)
            found[name] = (usage.free, usage.total)
    return found


def database_bytes() -> int | None:
    """Size of the database; none where it cannot be known."""
    if connection.vendor == "sqlite":
        path = Path(settings.DATABASES["default"]["NAME"])
        return path.stat().st_size if path.is_file() else None
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])
