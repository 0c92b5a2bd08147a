"""Storage failures as HTTP status, problem kind and message."""

import errno
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from django.db import DatabaseError

from core.errors import Damaged, Unavailable, reason_of

_FULL = (errno.ENOSPC, errno.EDQUOT)
_NO_ROOM = "the disk of this site is full; nothing was changed"
_RESTORE = "its operator restores it from the backup"


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer of status 500, or of 503 where trying again may help."""

    status: int
    kind: str
    detail: str
    retry_after_s: int | None = None


def describe(error: BaseException | None) -> Failure:
    """The failure behind an exception that no view expected."""
    if isinstance(error, Damaged):
        return Failure(500, "storage", f"{error}; {_RESTORE}")
    if isinstance(error, Unavailable):
        return Failure(503, "storage", str(error), 30)
    if isinstance(error, OSError) and error.errno in _FULL:
        return Failure(503, "storage", _NO_ROOM, 60)
    if isinstance(error, DatabaseError):
        return _of_database(str(error))
    if isinstance(error, (duckdb.Error, pa.ArrowException)):
        return Failure(500, "storage", f"a stored table cannot be read; {_RESTORE}")
    if isinstance(error, OSError):
        return Failure(503, "storage", f"a file cannot be used: {reason_of(error)}", 30)
    return Failure(500, "internal", "the log of the web server says what happened")


def _of_database(message: str) -> Failure:
    if "full" in message:
        return Failure(503, "storage", _NO_ROOM, 60)
    if "malformed" in message or "not a database" in message:
        return Failure(500, "storage", f"the database is damaged; {_RESTORE}")
    if "locked" in message or "busy" in message:
        return Failure(503, "storage", "the database is busy; nothing was changed", 5)
    return Failure(503, "storage", "the database does not answer; nothing was changed", 30)
