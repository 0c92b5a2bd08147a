"""The outbox: which messages wait for which endpoint, in order, and how attempts ended."""

import hashlib
import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from webapp.store.models import AlertDelivery, AlertEndpoint, ScheduleEvent, ScheduleRun
from webapp.store.schedules import kinds, payloads, timing

State = AlertDelivery.State
# Pauses after failed attempts, in seconds; the last one repeats. Within the first two hours no
# pause is longer than ten minutes, so that a receiver of an hour's outage catches up soon.
PAUSES_S = (5, 30, 120, 300, *([600] * 11), 1800)
JITTER = 0.2
# Standard Webhooks asks for days of attempts; older messages are given up.
GIVE_UP_AFTER = timedelta(days=3)
# A receiver that refuses a message will refuse it again, and holds up those behind it.
MAX_REFUSALS = 10
MAX_RETRY_AFTER_S = 3600
KEPT_ATTEMPTS = 20
KEPT_DAYS = 90
LEASE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt ended; ``status`` is that of HTTP where a receiver answered."""

    is_accepted: bool
    status: int | None = None
    reason: str = ""
    duration_ms: int = 0
    retry_after_s: float = 0.0
    # The receiver asked for nothing more, or repeating cannot help.
    is_final: bool = False

    @property
    def is_refusal(self) -> bool:
        """Whether the receiver refused this message, rather than not being there."""
        return (
            self.status is not None
            and 400 <= self.status < 500
            and self.status not in (408, 425, 429)
        )


def pause_s(attempts: int, chance: random.Random) -> float:
    """The pause after so many failed attempts, in seconds, with jitter."""
    base = PAUSES_S[min(attempts, len(PAUSES_S)) - 1]
    return base * chance.uniform(1 - JITTER, 1 + JITTER)


def enqueue(run: ScheduleRun, rows: Sequence[ScheduleEvent], now: datetime) -> None:
    """Queue the events of a run for the endpoints that ask for them at once.

    Called in the transaction that stores the events.
    """
    endpoints = AlertEndpoint.objects.filter(
        Q(schedule=None) | Q(schedule=run.schedule_id),
        owner=run.schedule.owner,
        state=AlertEndpoint.State.ACTIVE,
        digest_hour=None,
    )
    for endpoint in endpoints:
        wanted = [row for row in rows if is_wanted(endpoint, row)]
        messages: list[tuple[str, str, ScheduleEvent | None, payloads.Payload]] = []
        if endpoint.format == AlertEndpoint.Format.WEBHOOK:
            messages = [(e.event_id, e.kind, e, payloads.event_payload(e)) for e in wanted]
        elif wanted:
            mid = _message_id(endpoint.slug, run.schedule.slug, run.due_at.isoformat())
            messages = [(mid, kinds.RUN, None, payloads.run_payload(run, wanted))]
        AlertDelivery.objects.bulk_create(
            AlertDelivery(
                endpoint=endpoint,
                message_id=mid,
                kind=kind,
                event=event,
                payload=payload,
                queued_at=now,
                next_attempt_at=now,
            )
            for mid, kind, event, payload in messages
        )


def is_wanted(endpoint: AlertEndpoint, event: ScheduleEvent) -> bool:
    """Whether an endpoint asks for a kind of event, and it was not repeated too often."""
    is_quiet = 0 < endpoint.quiet_after < event.repeats
    return event.kind in endpoint.kinds and not is_quiet


def _message_id(*parts: str) -> str:
    return f"msg_{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:40]}"


def enqueue_digests(now: datetime) -> int:
    """Queue the daily message of each endpoint at its hour; return their number."""
    due = AlertEndpoint.objects.filter(
        state=AlertEndpoint.State.ACTIVE, next_digest__lte=now, owner__is_active=True
    )
    return sum(_enqueue_digest(endpoint, now) for endpoint in due)


def _enqueue_digest(endpoint: AlertEndpoint, now: datetime) -> bool:
    """One message about all events since the digest before; none where there are none."""
    assert endpoint.next_digest is not None
    with transaction.atomic():
        same = AlertEndpoint.objects.filter(pk=endpoint.pk, next_digest=endpoint.next_digest)
        if not same.update(next_digest=next_digest(endpoint, now), last_digest=now):
            return False
        since = endpoint.last_digest or endpoint.created_at
        rows = ScheduleEvent.objects.filter(
            owner=endpoint.owner_id, created_at__gte=since, created_at__lt=now
        ).select_related("schedule", "run")
        if endpoint.schedule_id:
            rows = rows.filter(schedule=endpoint.schedule_id)
        wanted = [row for row in rows.order_by("created_at", "id") if is_wanted(endpoint, row)]
        if not wanted:
            return False
        AlertDelivery.objects.create(
            endpoint=endpoint,
            message_id=_message_id(endpoint.slug, endpoint.next_digest.isoformat()),
            kind=kinds.DIGEST,
            payload=payloads.digest_payload(wanted, now),
            queued_at=now,
            next_attempt_at=now,
        )
    return True


def next_digest(endpoint: AlertEndpoint, now: datetime) -> datetime | None:
    """The next moment of an endpoint's digest, or None where it has none."""
    if endpoint.digest_hour is None:
        return None
    times = timing.due_times(f"0 {endpoint.digest_hour} * * *", None, endpoint.time_zone, now)
    return next(times, None)


def enqueue_test(endpoint: AlertEndpoint, now: datetime) -> AlertDelivery:
    """Queue a test message."""
    return AlertDelivery.objects.create(
        endpoint=endpoint,
        message_id=f"msg_{secrets.token_hex(20)}",
        kind=kinds.TEST,
        payload=payloads.test_payload(endpoint, now),
        queued_at=now,
        next_attempt_at=now,
    )


def resend(row: AlertDelivery, now: datetime) -> None:
    """Queue a message again, behind those that wait; its id stays."""
    AlertDelivery.objects.filter(pk=row.pk).exclude(state=State.WAITING).update(
        state=State.WAITING, attempts=0, queued_at=now, next_attempt_at=now, delivered_at=None
    )
    AlertDelivery.objects.filter(pk=row.pk, state=State.WAITING).update(next_attempt_at=now)


def due_endpoints(now: datetime) -> list[int]:
    """Endpoints with an oldest waiting message that may be sent now."""
    rows = AlertDelivery.objects.filter(
        state=State.WAITING,
        next_attempt_at__lte=now,
        endpoint__state=AlertEndpoint.State.ACTIVE,
        endpoint__owner__is_active=True,
    ).exclude(endpoint__leased_until__gt=now)
    return list(rows.values_list("endpoint", flat=True).distinct().order_by("endpoint"))


def head(endpoint: AlertEndpoint) -> AlertDelivery | None:
    """The oldest waiting message of an endpoint, which those behind it wait for."""
    rows = AlertDelivery.objects.filter(endpoint=endpoint, state=State.WAITING)
    return rows.order_by("queued_at", "id").first()


def claim(endpoint_id: int, now: datetime) -> AlertEndpoint | None:
    """Take an endpoint for sending; None where another worker has it or it takes no messages."""
    lease = secrets.token_hex(16)
    free = Q(leased_until=None) | Q(leased_until__lte=now)
    rows = AlertEndpoint.objects.filter(free, pk=endpoint_id, state=AlertEndpoint.State.ACTIVE)
    if not rows.update(lease=lease, leased_until=now + LEASE):
        return None
    return AlertEndpoint.objects.filter(pk=endpoint_id, lease=lease).first()


def renew(endpoint: AlertEndpoint, now: datetime) -> bool:
    """Keep an endpoint for another message; false where it was lost or disabled."""
    rows = AlertEndpoint.objects.filter(
        pk=endpoint.pk, lease=endpoint.lease, state=AlertEndpoint.State.ACTIVE
    )
    return bool(rows.update(leased_until=now + LEASE))


def release(endpoint: AlertEndpoint) -> None:
    """Let another worker have an endpoint."""
    rows = AlertEndpoint.objects.filter(pk=endpoint.pk, lease=endpoint.lease)
    rows.update(lease="", leased_until=None)


def record(row: AlertDelivery, attempt: Attempt, now: datetime) -> None:
    """Store how an attempt ended, and when the next one is due."""
    row.attempts += 1
    row.last_status, row.last_reason = attempt.status, attempt.reason[:300]
    entry = {
        "at": now.isoformat(),
        "status": attempt.status,
        "reason": row.last_reason,
        "duration_ms": attempt.duration_ms,
    }
    row.log = [*row.log, entry][-KEPT_ATTEMPTS:]
    if attempt.is_accepted:
        row.state, row.delivered_at = State.DELIVERED, now
    elif _is_over(row, attempt, now):
        row.state = State.FAILED
    else:
        chance = random.Random(f"{row.message_id}/{row.attempts}")
        wait_s = max(pause_s(row.attempts, chance), min(attempt.retry_after_s, MAX_RETRY_AFTER_S))
        row.next_attempt_at = now + timedelta(seconds=wait_s)
    row.save()


def _is_over(row: AlertDelivery, attempt: Attempt, now: datetime) -> bool:
    is_old = now - row.queued_at >= GIVE_UP_AFTER
    return attempt.is_final or is_old or (attempt.is_refusal and row.attempts >= MAX_REFUSALS)


def disable(endpoint: AlertEndpoint, reason: str) -> None:
    """Send nothing more to an endpoint, until its owner enables it again."""
    AlertEndpoint.objects.filter(pk=endpoint.pk).update(
        state=AlertEndpoint.State.DISABLED, disabled_reason=reason[:300]
    )


def log_of(endpoint: AlertEndpoint) -> QuerySet[AlertDelivery]:
    """The deliveries of an endpoint, the newest first."""
    return AlertDelivery.objects.filter(endpoint=endpoint)


def prune(now: datetime) -> int:
    """Delete final deliveries that are older than the log goes back; return their number."""
    old = AlertDelivery.objects.filter(queued_at__lt=now - timedelta(days=KEPT_DAYS))
    return old.exclude(state=State.WAITING).delete()[0]
