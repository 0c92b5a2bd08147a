"""Questions for the best regions are stored with their files, leased to a worker, and ended.

Whoever holds the token may read one; those of nobody are kept for a while only.
"""

import secrets
import shutil
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from core.errors import NephoscopeError
from webapp.store.models import Recommendation

State = Recommendation.State
# Questions that wait or run at once; one more is refused.
MOST_OPEN = 8
# Those of nobody go after so long, or when there are more of them.
KEPT_DAYS = 30
MOST_OF_NOBODY = 500
# A worker says after each size of set that it lives; one size takes its time limit and its check.
LEASE_S = 180.0
MAX_ATTEMPTS = 3
SAMPLES = "samples"


class TooManyQuestions(NephoscopeError):
    """So many recommendations wait or run that one more is refused."""

    permanent = False


def create(
    files: Mapping[str, bytes],
    options: Mapping[str, Any],
    *,
    owner: Any = None,
    idempotency_key: str | None = None,
) -> Recommendation:
    """Store a question with its files; a known key gives that one; raises TooManyQuestions."""
    if idempotency_key and (known := _by_key(idempotency_key, owner)):
        return known
    if open_count() >= MOST_OPEN:
        raise TooManyQuestions(f"{MOST_OPEN} recommendations wait or run; try again later")
    _forget()
    row = Recommendation(
        token=secrets.token_urlsafe(18),
        owner=owner,
        options=dict(options),
        files=sorted(files),
        idempotency_key=idempotency_key or None,
    )
    save_files(row, files)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        shutil.rmtree(folder_of(row.token), ignore_errors=True)
        return Recommendation.objects.get(idempotency_key=idempotency_key, owner=owner)
    return row


def _by_key(key: str, owner: Any) -> Recommendation | None:
    return Recommendation.objects.filter(idempotency_key=key, owner=owner).first()


def find(token: str) -> Recommendation | None:
    """The recommendation of a token."""
    return Recommendation.objects.filter(token=token).first()


def open_count() -> int:
    """How many wait or run."""
    return Recommendation.objects.filter(state__in=(State.QUEUED, State.RUNNING)).count()


def folder_of(token: str) -> Path:
    """Where the files of a question lie."""
    return Path(settings.DATA_DIR) / "recommendations" / token


def save_files(row: Recommendation, files: Mapping[str, bytes]) -> None:
    """Write the files of a question."""
    folder = folder_of(row.token)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.csv").write_bytes(data)


def paths_of(row: Recommendation) -> dict[str, Path]:
    """The files of a question by what they are."""
    return {name: folder_of(row.token) / f"{name}.csv" for name in row.files}


def waiting() -> list[int]:
    """Questions that a worker should take up: new ones, and those whose worker fell silent."""
    return list(_takeable().values_list("pk", flat=True))


def claim(pk: int) -> Recommendation | None:
    """Lease a question; None where it is done or another worker has it."""
    now = timezone.now()
    taken = _takeable().filter(pk=pk).update(
        state=State.RUNNING,
        attempt=F("attempt") + 1,
        started_at=now,
        leased_until=now + timedelta(seconds=LEASE_S),
    )  # fmt: skip
    return Recommendation.objects.get(pk=pk) if taken else None


def _takeable() -> QuerySet[Recommendation]:
    silent = Q(state=State.RUNNING, leased_until__lt=timezone.now())
    return Recommendation.objects.filter(Q(state=State.QUEUED) | silent)


def tell(row: Recommendation, step: str, done: int, of: int, patience_s: float = 0.0) -> bool:
    """Say how far it is and renew the lease; false when the row is another's, or gone."""
    lease = timedelta(seconds=LEASE_S + patience_s)
    return _own(row, leased_until=timezone.now() + lease,
                progress={"step": step, "done": done, "of": of})  # fmt: skip


def finish(row: Recommendation, result: Mapping[str, Any]) -> bool:
    """Store the answer, unless another worker has the question by now."""
    return _own(row, state=State.FINISHED, result=result, finished_at=timezone.now(),
                progress={}, error="")  # fmt: skip


def fail(row: Recommendation, error: str) -> bool:
    """Store why there is no answer."""
    return _own(row, state=State.FAILED, error=error[:2000], finished_at=timezone.now(),
                progress={})  # fmt: skip


def _own(row: Recommendation, **values: Any) -> bool:
    own = Recommendation.objects.filter(pk=row.pk, attempt=row.attempt, state=State.RUNNING)
    return bool(own.update(**values))


def delete(row: Recommendation) -> None:
    """Forget a question, its files and its answer."""
    row.delete()
    shutil.rmtree(folder_of(row.token), ignore_errors=True)


def _forget() -> None:
    """Drop old questions of nobody, so that strangers cannot fill the disk."""
    ended = Recommendation.objects.filter(
        owner=None, state__in=(State.FINISHED, State.FAILED)
    ).order_by("-created_at", "-id")
    oldest = timezone.now() - timedelta(days=KEPT_DAYS)
    surplus = ended.values_list("pk", flat=True)[MOST_OF_NOBODY - 1 :]
    for row in Recommendation.objects.filter(pk__in=list(surplus)) | ended.filter(
        created_at__lt=oldest
    ):
        delete(row)
