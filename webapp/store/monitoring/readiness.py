"""What this installation needs before it serves: database, migrations, data folder."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from core.errors import Unavailable

# Once all migrations are applied, a running process knows no others.
_migrated: set[str] = set()


def check_database() -> None:
    """Raise an error of the database where it does not answer."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_migrations() -> None:
    """Raise ``Unavailable`` while migrations are not applied."""
    name = str(settings.DATABASES["default"]["NAME"])
    if name in _migrated:
        return
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise Unavailable(f"{len(missing)} migrations are not applied; run manage.py migrate")
    _migrated.add(name)


def check_data_folder() -> None:
    """Raise ``Unavailable`` where the data folder cannot be written to or is nearly full."""
    folder = Path(settings.DATA_DIR)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Unavailable(f"{folder} cannot be written to")
    free_mb = shutil.disk_usage(folder).free // 2**20
    if free_mb < settings.MIN_FREE_MB:
        raise Unavailable(
            f"{free_mb} MiB are free in {folder}, less than NEPHOSCOPE_MIN_FREE_MB"
            f" ({settings.MIN_FREE_MB})"
        )


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "migrations": check_migrations,
    "data-folder": check_data_folder,
}
