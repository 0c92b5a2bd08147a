"""Lease the rows of jobs: one worker at a time has a row, and only its attempt stores a result."""

from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from webapp.store.models.bases import LeasedJob

Job = TypeVar("Job", bound=LeasedJob)
# A worker renews its lease each second; one that is silent this long is taken for dead.
LEASE = timedelta(seconds=15)
MAX_ATTEMPTS = 3
_ERROR_CHARACTERS = 2_000
State = LeasedJob.State


class JobTable(Generic[Job]):
    """The jobs of one model; rows are claimed together with those of ``related``."""

    def __init__(self, model: type[Job], *related: str) -> None:
        self._rows, self._related = model._default_manager, related

    def waiting(self) -> list[tuple[int, int]]:
        """(id, attempts) of jobs that wait or have a silent worker."""
        return list(self._claimable().values_list("pk", "attempt"))

    def _claimable(self) -> QuerySet[Job]:
        silent = Q(state=State.RUNNING, leased_until__lt=timezone.now())
        return self._rows.filter(Q(state=State.WAITING) | silent)

    def claim(self, pk: int) -> Job | None:
        """Lease a job; ``None`` where there is nothing to do."""
        values = {"attempt": F("attempt") + 1, "leased_until": timezone.now() + LEASE}
        claimed = self._claimable().filter(pk=pk).update(state=State.RUNNING, **values)
        return self._rows.select_related(*self._related).get(pk=pk) if claimed else None

    def renew(self, row: Job, **values: Any) -> bool:
        """Extend the lease and store values; false when it is gone, or another worker's."""
        return self._own(row, leased_until=timezone.now() + LEASE, **values)

    def finish(self, row: Job, **values: Any) -> bool:
        """Store that a job has finished, with values of it."""
        return self._end(row, State.FINISHED, **values)

    def fail(self, row: Job, error: str) -> bool:
        """Store why a job has no result."""
        return self._end(row, State.FAILED, error=error[:_ERROR_CHARACTERS])

    def _end(self, row: Job, state: str, **values: Any) -> bool:
        return self._own(row, state=state, finished_at=timezone.now(), leased_until=None, **values)

    def _own(self, row: Job, **values: Any) -> bool:
        own = self._rows.filter(pk=row.pk, attempt=row.attempt, state=State.RUNNING)
        return bool(own.update(**values))


def requested() -> dict[str, Any]:
    """Values of a job that is requested, or requested again."""
    return {
        "state": State.WAITING,
        "requested_at": timezone.now(),
        "attempt": 0,
        "leased_until": None,
        "error": "",
    }
