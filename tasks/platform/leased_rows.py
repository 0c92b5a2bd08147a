"""Queue and claim rows of the store that one worker at a time leases.

A row holds its state, so the broker may lose a message or deliver it twice. Where the broker is
away a row waits in the store, and the sweep of its subject queues it again.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from celery import Task
from django.core.cache import cache
from django.db import (
    DatabaseError,
    InterfaceError,
    OperationalError,
    close_old_connections,
    transaction,
)

from core.errors import NephoscopeError, Unavailable
from tasks.platform.app import AWAY, queue
from tasks.platform.stop import Stopped

log = logging.getLogger(__name__)
# The connection was closed, or the server does not answer: nothing is wrong with the work.
DATABASE_AWAY = (OperationalError, InterfaceError)
# A message that lies in the queue is not queued again within this time.
QUEUED_S = 30


class _Row(Protocol):
    pk: Any
    attempt: int


Row = TypeVar("Row", bound=_Row)


def queue_row(task: Task, pk: int) -> None:
    """Leave a row to a worker; where the broker is away, a sweep queues it later."""
    try:
        queue(task, pk)
    except AWAY as error:
        log.warning("%s %s waits for the broker: %s", task.name, pk, error)


def queue_committed(task: Task, pk: int) -> None:
    """Leave a row to a worker once its transaction is committed."""
    transaction.on_commit(lambda: queue_row(task, pk))


def queue_unless_queued(
    task: Task, pk: int, attempt: int = 0, *, name: str | None = None, for_s: int = QUEUED_S
) -> None:
    """Queue a task unless it was queued a moment ago: copies do nothing, but fill the queue."""
    marker = _marker(task, pk, attempt)
    if not cache.add(marker, True, timeout=for_s):
        return
    try:
        # Without a name, the route of the task decides.
        queue(task, pk, **({"queue": name} if name else {}))
    except AWAY as error:
        cache.delete(marker)
        log.warning("%s %s waits for the broker: %s", task.name, pk, error)


def mark_started(task: Task, pk: int) -> None:
    """Let a task that has started be queued again at once."""
    cache.delete(_marker(task, pk, 0))


def queue_lost(task: Task, rows: Iterable[tuple[int, int]]) -> None:
    """Queue the (id, attempts) of rows that a broker or a worker lost."""
    for pk, attempt in rows:
        queue_unless_queued(task, pk, attempt)


def claim_row(
    pk: int,
    claim: Callable[[int], Row | None],
    fail: Callable[[Row, str], Any],
    max_attempts: int,
) -> Row | None:
    """Lease a row; ``None`` where it has ended, another worker has it, or it was tried too often.

    A row that ends its workers, by the memory that it needs for example, fails with this reason.
    """
    row = claim(pk)
    if row is not None and row.attempt > max_attempts:
        fail(row, f"its workers ended before it did, {max_attempts} times")
        return None
    return row


def run_row(
    row: Row,
    work: Callable[[Row], None],
    fail: Callable[[Row, str], Any],
    requeue: Callable[[Row], bool] | None = None,
) -> None:
    """Run the work of a claimed row; what cannot be done fails with its reason.

    Where the disk or the object storage is away, ``requeue`` may let the row wait; it returns
    whether it does. Where the database is away, the row waits.
    """
    try:
        work(row)
    except Stopped:
        log.info("%s %s was stopped, or has another worker", type(row).__name__, row.pk)
    except Unavailable as error:
        if requeue is None or not requeue(row):
            fail(row, str(error))
        else:
            log.warning("%s %s waits: %s", type(row).__name__, row.pk, error)
    except NephoscopeError as error:
        fail(row, str(error))
    except DATABASE_AWAY as error:
        release_after(error, lambda: requeue is not None and requeue(row))


def release_after(error: Exception, release: Callable[[], Any]) -> None:
    """Give a row back after an error of the database's connection, by a new connection.

    Where that is refused, too, the lease of the row ends by itself.
    """
    log.warning("the database is away: %s", error)
    close_old_connections()
    with suppress(DatabaseError):
        release()


def _marker(task: Task, pk: int, attempt: int) -> str:
    return f"queued-{task.name}-{pk}-{attempt}"
