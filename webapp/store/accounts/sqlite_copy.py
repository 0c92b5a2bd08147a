"""Consistent online copy of the SQLite database."""

import sqlite3
from contextlib import closing
from pathlib import Path

from django.db import connection


def copy_database(path: Path) -> bool:
    """Copy the database by SQLite's backup API; return false for other engines."""
    if connection.vendor != "sqlite":
        return False
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        connection.connection.backup(copy)
    return True
