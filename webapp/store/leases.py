"""Lease the rows of jobs: one worker at a time has a row, and only its attempt stores a result."""

from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from webapp.store.models.bases import Leased, LeasedJob

Job = TypeVar("Job", bound=Leased)
# A worker renews its lease each second; one that is silent this long is taken for dead.
LEASE = timedelta(seconds=15)
MAX_ATTEMPTS = 3
# A job that lacks its disk or the object storage is tried again for so long.
PATIENCE = timedelta(days=1)
_ERROR_CHARACTERS = 2_000
# All tables of jobs have these states; the one of rows that wait has a name of its own in some.
State = LeasedJob.State


class JobTable(Generic[Job]):
    """The jobs of one model; rows are claimed together with those of ``related``.

    Rows in the state ``waits_as`` wait for a worker.
    """

    def __init__(
        self,
        model: type[Job],
        *related: str,
        waits_as: str = State.WAITING,
        lease: timedelta = LEASE,
    ) -> None:
        self._rows, self._related = model._default_manager, related
        self._waits_as, self._lease = waits_as, lease

    def waiting(self) -> list[tuple[int, int]]:
        """(id, attempts) of jobs that wait or have a silent worker."""
        return list(self.claimable().values_list("pk", "attempt"))

    def claimable(self) -> QuerySet[Job]:
        """Rows that a worker may claim."""
        silent = Q(state=State.RUNNING, leased_until__lt=timezone.now())
        return self._rows.filter(self._waiting() | silent)

    def _waiting(self) -> Q:
        return Q(state=self._waits_as)

    def claim(self, pk: int, **values: Any) -> Job | None:
        """Lease a job and store values; ``None`` where there is nothing to do."""
        leased = {"attempt": F("attempt") + 1, "leased_until": timezone.now() + self._lease}
        claimed = self.claimable().filter(pk=pk).update(state=State.RUNNING, **leased, **values)
        return self._rows.select_related(*self._related).get(pk=pk) if claimed else None

    def renew(self, row: Job, **values: Any) -> bool:
        """Extend the lease and store values; false when it is gone, or another worker's."""
        return self.update(row, leased_until=timezone.now() + self._lease, **values)

    def finish(self, row: Job, **values: Any) -> bool:
        """Store that a job has finished, with values of it."""
        ended = {"finished_at": timezone.now(), "leased_until": None}
        return self.update(row, **{"state": State.FINISHED, **ended, **values})

    def fail(self, row: Job, error: str, **values: Any) -> bool:
        """Store why a job has no result."""
        return self.finish(row, state=State.FAILED, error=error[:_ERROR_CHARACTERS], **values)

    def requeue(self, row: Job) -> bool:
        """Let a job wait again without using up an attempt; false a day after it was requested."""
        recent = self._own(row).filter(requested_at__gt=timezone.now() - PATIENCE)
        waiting = {"state": self._waits_as, "attempt": F("attempt") - 1, "leased_until": None}
        return bool(recent.update(**waiting))

    def update(self, row: Job, **values: Any) -> bool:
        """Store values; false when the lease is gone, or another worker's."""
        return bool(self._own(row).update(**values))

    def _own(self, row: Job) -> QuerySet[Job]:
        """The row while it is leased by its attempt."""
        return self._rows.filter(pk=row.pk, attempt=row.attempt, state=State.RUNNING)


def requested() -> dict[str, Any]:
    """Values of a job that is requested, or requested again."""
    return {
        "state": State.WAITING,
        "requested_at": timezone.now(),
        "attempt": 0,
        "leased_until": None,
        "error": "",
    }
