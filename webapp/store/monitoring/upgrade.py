"""Whether this version can be started on an existing installation, and what it would change."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from core.release import VERSION
from webapp.store.models import Campaign, Survey
from webapp.store.monitoring.selectors import database_bytes

# SQLite copies a table that it alters, and writes the copy to its log first.
_COPIES = 2


@dataclass(frozen=True)
class UpgradePlan:
    """What the first start of this version would do.

    ``missing`` migrations would be applied. With ``unknown`` ones the database is of a newer
    version. ``problems`` have to be solved first.
    """

    version: str
    database: str
    missing: list[str]
    unknown: list[str]
    database_mb: float | None
    free_mb: float
    running: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def plan_upgrade() -> UpgradePlan:
    """Compare the database with this version's migrations; nothing is changed.

    Raises ``DatabaseError`` where the database does not answer.
    """
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations
    applied = set(executor.loader.applied_migrations)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    missing = [f"{migration.app_label}.{migration.name}" for migration, _ in plan]
    replaced = {key for migration in known.values() for key in migration.replaces}
    apps = {app for app, _ in known}
    unknown = sorted(
        f"{app}.{name}" for app, name in applied - known.keys() - replaced if app in apps
    )
    size = database_bytes()
    database_mb = size / 1e6 if size is not None else None
    free_mb = shutil.disk_usage(Path(settings.DATA_DIR)).free / 1e6
    problems = _problems(unknown, database_mb, free_mb)
    running = {} if missing else _running()
    return UpgradePlan(
        VERSION, connection.vendor, missing, unknown, database_mb, free_mb, running, problems
    )


def _problems(unknown: list[str], database_mb: float | None, free_mb: float) -> list[str]:
    problems = []
    if unknown:
        problems.append(
            f"the database is of a newer version, which applied {', '.join(unknown)}; start that "
            "version, or restore a backup of this one"
        )
    if connection.vendor == "sqlite" and free_mb < _COPIES * (database_mb or 0):
        problems.append(
            f"{free_mb:.0f} MB are free in the data folder; a migration may need "
            f"{_COPIES * (database_mb or 0):.0f} MB"
        )
    if connection.vendor == "sqlite" and _is_damaged():
        problems.append("the database is damaged; restore a backup")
    return problems


def _is_damaged() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(1)")
        return bool(cursor.fetchone()[0] != "ok")


def _running() -> dict[str, int]:
    """Work that resumes after a restart; not known before missing migrations are applied."""
    return {
        "surveys": Survey.objects.filter(state="running").count(),
        "campaigns": Campaign.objects.filter(state=Campaign.State.RUNNING).count(),
    }
