"""A copy of the embedded database goes out, as of one moment, while everything else goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

from django.db import connection


def copy_database(path: Path) -> bool:
    """Copy SQLite's file by its own means; false where the database is a server elsewhere."""
    if connection.vendor != "sqlite":
        return False
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        connection.connection.backup(copy)
    return True
