"""Deferred shards: queueing, and waiting for disk space or name servers.

A shard with an external failure waits without using up an attempt. Its counters give the reason
(``waits``) and the start; meanwhile no other shard of its survey is handed out.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models, transaction
from django.utils import timezone

from core.statuses import SurveyState
from webapp.store.models import Shard, Survey

# Shards of one survey in the queue at a time. More would keep every other task waiting until the
# whole survey is done.
AHEAD = 4
# One that no worker claimed for so long may have been lost by the broker, and is queued again.
_QUEUED = timedelta(seconds=30)
# The waiting time doubles from ``RETRY_WAIT_S`` up to so many times it.
_LONGEST_FACTOR = 12
_OPEN = (Shard.State.WAITING, Shard.State.RUNNING)


def defer(shard: Shard, reason: str) -> None:
    """Defer a claimed shard until its resource may be available again.

    It is given up only after ``MAX_WAIT_H`` without any progress.
    """
    now = timezone.now()
    before = _previous_wait(shard)
    since = before.get("since", now.isoformat())
    tries = before.get("tries", 0) + 1
    is_over = now - datetime.fromisoformat(since) > timedelta(hours=settings.MAX_WAIT_H)
    wait_s = settings.RETRY_WAIT_S * min(_LONGEST_FACTOR, 2 ** (tries - 1))
    Shard.objects.filter(pk=shard.pk, attempt=shard.attempt, state=Shard.State.RUNNING).update(
        state=Shard.State.FAILED if is_over else Shard.State.WAITING,
        error=reason[:2000],
        attempt=max(0, shard.attempt - 1),
        leased_until=now + timedelta(seconds=wait_s),
        counters={} if is_over else {"waits": reason[:500], "since": since, "tries": tries},
    )


def _previous_wait(shard: Shard) -> dict[str, Any]:
    """What the shard waited for before, unless it has asked anything since."""
    counters = Shard.objects.values_list("counters", flat=True).get(pk=shard.pk)
    return counters if "since" in counters else {}


def lease_for_queue(survey_id: int) -> list[int]:
    """Shards of a running survey to be queued now, so that a few lie in the queue.

    While one waits for something outside, it alone is tried again, when its time has come.
    """
    now = timezone.now()
    with transaction.atomic():
        shards = Shard.objects.filter(
            survey=survey_id, survey__state=SurveyState.RUNNING, state__in=_OPEN
        ).exclude(key__startswith="v.")
        troubled = shards.filter(counters__has_key="waits")
        if troubled.filter(leased_until__gt=now).exists():
            return []
        waiting = shards.filter(state=Shard.State.WAITING)
        room = AHEAD - waiting.filter(leased_until__gt=now).count()
        free = troubled if troubled.exists() else waiting
        if free is troubled:
            room = 1
        free = free.filter(models.Q(leased_until=None) | models.Q(leased_until__lte=now))
        found = list(free.order_by("first").values_list("pk", flat=True)[: max(0, room)])
        Shard.objects.filter(pk__in=found, state=Shard.State.WAITING).update(
            leased_until=now + _QUEUED
        )
    return found


def expired_leases() -> list[tuple[int, int]]:
    """(id, attempt) of shards of running surveys with a silent worker.

    Batches of the second pass are sent to their vantages by others (``batches.free_batches``).
    """
    rows = Shard.objects.filter(
        state=Shard.State.RUNNING,
        leased_until__lt=timezone.now(),
        survey__state=SurveyState.RUNNING,
    ).exclude(key__startswith="v.")
    return list(rows.order_by("survey_id", "first").values_list("pk", "attempt")[:5_000])


def claimable_shards(survey: Survey) -> list[int]:
    """Shards that a process may claim now which runs the survey alone."""
    rows = survey.shards.filter(state=Shard.State.WAITING)
    now = timezone.now()
    rows = rows.filter(models.Q(leased_until=None) | models.Q(leased_until__lte=now))
    return list(rows.values_list("pk", flat=True))


def save_error(survey: Survey, reason: str) -> None:
    """Store the reason why a survey as a whole waits."""
    rows = Survey.objects.filter(pk=survey.pk).exclude(error=reason[:2000])
    rows.filter(state__in=[SurveyState.QUEUED, SurveyState.RUNNING]).update(error=reason[:2000])


def find_blocker(survey: Survey) -> str:
    """Return the reason why an open survey waits; empty if it runs."""
    if survey.is_final:
        return ""
    rows = survey.shards.filter(state__in=_OPEN, counters__has_key="waits")
    counters = rows.values_list("counters", flat=True).first()
    return str(counters["waits"]) if counters else survey.error


def lost_domains(survey: Survey) -> int:
    """Count domains of failed shards."""
    rows = survey.shards.filter(state=Shard.State.FAILED).exclude(key__startswith="v.")
    return sum(last - first for first, last in rows.values_list("first", "last"))
