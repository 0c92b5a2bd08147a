"""State transitions of recommendations: create, lease, renew, finish, share, delete.

Anonymous recommendations are accessible by their token and expire. Others are private to their
owner; a share link gives read access until it is revoked.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from core.errors import BadInput, NephoscopeError
from core.statuses import FINAL_STATES
from webapp.store.access import share_links
from webapp.store.access.visibility import visible
from webapp.store.models import Recommendation, Survey
from webapp.store.object_storage import files as stored_files
from webapp.store.requests.idempotency import KeyReused, check_key

State = Recommendation.State
# Questions that wait or run at once; one more is refused.
MOST_OPEN = 8
MOST_OPEN_OF_ALL = 32
# Lifetime and number of anonymous recommendations.
KEPT_DAYS = 30
MOST_OF_NOBODY = 500
# A worker renews its lease after each set size, which needs its time limit and verification.
LEASE_S = 180.0
MAX_ATTEMPTS = 3
SAMPLES = "samples"
EVERYBODY = object()
# Columns of the exported curve: a row per size of set.
CURVE_COLUMNS = (
    "k",
    "value",
    "low",
    "high",
    "bound",
    "proven",
    "static",
    "regions",
    "runner_up",
    "unanswered_share",
)


class TooManyRecommendations(NephoscopeError):
    """So many recommendations wait or run that one more is refused."""

    permanent = False


@dataclass(frozen=True, slots=True)
class Origin:
    """Owner and origin of a question: a survey, and the source of its samples."""

    owner: Any = None
    title: str = ""
    survey: Survey | None = None
    source: Mapping[str, Any] = field(default_factory=dict)


ANONYMOUS = Origin()


def create(
    files: Mapping[str, bytes],
    options: Mapping[str, Any],
    origin: Origin = ANONYMOUS,
    *,
    idempotency_key: str | None = None,
    state: str = State.QUEUED,
) -> Recommendation:
    """Store a question with its files; raises TooManyQuestions.

    A known key gives that one; raises KeyReused where it was of another question.
    """
    owner = origin.owner
    check_key(idempotency_key)
    if idempotency_key and (known := _by_key(idempotency_key, owner)):
        if not _is_repeated(known, files, options, origin):
            raise KeyReused
        return known
    _check_quota(owner)
    _delete_expired()
    row = Recommendation(
        token=secrets.token_urlsafe(18),
        owner=owner,
        title=origin.title[:200],
        survey=origin.survey,
        source=dict(origin.source),
        options=dict(options),
        files=sorted(files),
        state=state,
        idempotency_key=idempotency_key or None,
    )
    save_files(row, files)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        stored_files.remove(folder_of(row.token))
        return Recommendation.objects.get(idempotency_key=idempotency_key, owner=owner)
    return row


def _check_quota(owner: Any) -> None:
    """Refuse more than a few open recommendations per owner, and in total."""
    if open_count(owner) >= MOST_OPEN or open_count() >= MOST_OPEN_OF_ALL:
        raise TooManyRecommendations(f"{MOST_OPEN} recommendations wait or run; try again later")


def _by_key(key: str, owner: Any) -> Recommendation | None:
    return Recommendation.objects.filter(idempotency_key=key, owner=owner).first()


def _is_repeated(
    row: Recommendation, files: Mapping[str, bytes], options: Mapping[str, Any], origin: Origin
) -> bool:
    """Return whether a request is that of a row.

    What waited for its survey has got files and options since, and samples of the same clients
    may be others today.
    """
    if not origin.source:
        return _is_same(row, files, options)
    asked = origin.source.get("audience"), dict(options)
    return origin.survey is not None or (row.source.get("audience"), row.options) == asked


def _is_same(row: Recommendation, files: Mapping[str, bytes], options: Mapping[str, Any]) -> bool:
    stored = {name: path.read_bytes() for name, path in paths_of(row).items()}
    return stored == files and row.options == dict(options)


def find(token: str, user: Any = None) -> Recommendation | None:
    """Return the recommendation of a token if it is visible to the user."""
    return visible(Recommendation.objects.filter(token=token), user).first()


def find_shared(secret: str) -> Recommendation | None:
    """Return the recommendation of a valid share link."""
    return share_links.filter_by_secret(Recommendation.objects.all(), secret).first()


def share(row: Recommendation) -> str:
    """Create a share link, or return the existing one.

    Raises ``BadInput`` if that one cannot be derived.
    """
    if not row.is_shared:
        Recommendation.objects.filter(pk=row.pk).update(shared_at=timezone.now())
    secret = share_links.share(row)
    if not secret:
        raise BadInput("there is a link that cannot be shown again; revoke it to create another")
    return secret


def revoke_share(row: Recommendation) -> None:
    """Revoke the share link; a later link has another secret."""
    share_links.revoke(row)
    Recommendation.objects.filter(pk=row.pk).update(shared_at=None)


def curve_rows(row: Recommendation) -> list[list[Any]]:
    """A row of ``CURVE_COLUMNS`` per size of set; none before there is an answer."""
    return [_curve_row(one) for one in (row.result or {}).get("results", ())]


def _curve_row(one: Mapping[str, Any]) -> list[Any]:
    low, high = one["interval"] or (None, None)
    other = "|".join(one["runner_up"]["regions"]) if one["runner_up"] else None
    proof = [one[name] for name in ("bound", "proven", "static")]
    sets = ["|".join(one["regions"]), other]
    return [one["k"], one["value"], low, high, *proof, *sets, one.get("unanswered_share")]


def owned_by(user: Any, limit: int | None = 200) -> list[Recommendation]:
    """Return the recommendations of a user, newest first."""
    if user is None or not user.is_authenticated:
        return []
    rows = Recommendation.objects.filter(owner=user.pk).select_related("survey")
    return list(rows[:limit])


def earlier(row: Recommendation, user: Any) -> list[Recommendation]:
    """Return earlier finished ones of the owner that the user may see, same title first."""
    if row.owner_id is None:
        return []
    rows = Recommendation.objects.filter(
        owner=row.owner_id, state=State.FINISHED, pk__lt=row.pk
    ).order_by("-pk")
    return sorted(visible(rows, user)[:20], key=lambda other: other.title != row.title)


def open_count(owner: Any = EVERYBODY) -> int:
    """Count queued and running recommendations of an owner, or of all."""
    rows = Recommendation.objects.filter(state__in=(State.QUEUED, State.RUNNING))
    return (rows if owner is EVERYBODY else rows.filter(owner=owner)).count()


def awaiting(survey: Survey) -> list[Recommendation]:
    """What waits for a survey to end."""
    return list(Recommendation.objects.filter(state=State.AWAITING, survey=survey))


def awaiting_ended() -> list[Recommendation]:
    """What waits for a survey that has ended, or is gone."""
    rows = Recommendation.objects.filter(state=State.AWAITING).select_related("survey")
    return list(rows.filter(Q(survey__state__in=FINAL_STATES) | Q(survey=None)))


def enqueue(
    row: Recommendation,
    files: Mapping[str, bytes],
    options: Mapping[str, Any],
    source: Mapping[str, Any],
) -> bool:
    """Queue a recommendation after its survey has ended; return false if another process did."""
    save_files(row, files)
    return bool(
        Recommendation.objects.filter(pk=row.pk, state=State.AWAITING).update(
            state=State.QUEUED,
            files=sorted({*row.files, *files}),
            options=dict(options),
            source=dict(source),
        )
    )


def fail_awaiting(row: Recommendation, error: str) -> None:
    """Fail a recommendation that awaits its survey."""
    Recommendation.objects.filter(pk=row.pk, state=State.AWAITING).update(
        state=State.FAILED, error=error[:2000], finished_at=timezone.now()
    )


def folder_of(token: str) -> Path:
    """Where the files of a question lie."""
    return Path(settings.DATA_DIR) / "recommendations" / token


def save_files(row: Recommendation, files: Mapping[str, bytes]) -> None:
    """Write the files of a question."""
    for name, data in files.items():
        stored_files.write(folder_of(row.token) / f"{name}.csv", data)


def paths_of(row: Recommendation) -> dict[str, Path]:
    """The files of a question by what they are."""
    stored_files.fetch_folder(folder_of(row.token))
    return {name: folder_of(row.token) / f"{name}.csv" for name in row.files}


def waiting() -> list[tuple[int, int]]:
    """Return (id, attempts) of recommendations that are queued or have an expired lease."""
    return list(_claimable().values_list("pk", "attempt"))


def claim(pk: int) -> Recommendation | None:
    """Lease a question; None where it is done or another worker has it."""
    now = timezone.now()
    taken = (
        _claimable()
        .filter(pk=pk)
        .update(
            state=State.RUNNING,
            attempt=F("attempt") + 1,
            started_at=now,
            leased_until=now + timedelta(seconds=LEASE_S),
        )
    )
    return Recommendation.objects.get(pk=pk) if taken else None


def _claimable() -> QuerySet[Recommendation]:
    silent = Q(state=State.RUNNING, leased_until__lt=timezone.now())
    return Recommendation.objects.filter(Q(state=State.QUEUED) | silent)


def renew(row: Recommendation, step: str, done: int, of: int, extra_s: float = 0.0) -> bool:
    """Store progress and renew the lease; return false if the lease was lost."""
    lease = timedelta(seconds=LEASE_S + extra_s)
    return _own(
        row, leased_until=timezone.now() + lease, progress={"step": step, "done": done, "of": of}
    )


def finish(row: Recommendation, result: Mapping[str, Any]) -> bool:
    """Store the answer, unless another worker has the question by now."""
    return _own(
        row, state=State.FINISHED, result=result, finished_at=timezone.now(), progress={}, error=""
    )


def fail(row: Recommendation, error: str) -> bool:
    """Store why there is no answer."""
    return _own(
        row, state=State.FAILED, error=error[:2000], finished_at=timezone.now(), progress={}
    )


def _own(row: Recommendation, **values: Any) -> bool:
    own = Recommendation.objects.filter(pk=row.pk, attempt=row.attempt, state=State.RUNNING)
    return bool(own.update(**values))


def delete(row: Recommendation) -> None:
    """Forget a question, its files and its answer."""
    row.delete()
    stored_files.remove(folder_of(row.token))


def _delete_expired() -> None:
    """Delete expired anonymous recommendations, to bound disk usage."""
    ended = Recommendation.objects.filter(
        owner=None, state__in=(State.FINISHED, State.FAILED)
    ).order_by("-created_at", "-id")
    oldest = timezone.now() - timedelta(days=KEPT_DAYS)
    surplus = ended.values_list("pk", flat=True)[MOST_OF_NOBODY - 1 :]
    for row in Recommendation.objects.filter(pk__in=list(surplus)) | ended.filter(
        created_at__lt=oldest
    ):
        delete(row)


def drop_orphans() -> None:
    """Remove folders without a row: those of accounts that were deleted."""
    root = Path(settings.DATA_DIR) / "recommendations"
    oldest = (timezone.now() - timedelta(hours=1)).timestamp()
    old = stored_files.old_folders(root, oldest)
    known = set(Recommendation.objects.values_list("token", flat=True)) if old else set()
    for folder in old:
        if folder.name not in known:
            stored_files.remove(folder)
