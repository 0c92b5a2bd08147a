"""Documents of schedules, runs, endpoints of alerts and deliveries."""

from typing import Any

from django.urls import get_script_prefix

from webapp.store.models import AlertDelivery, AlertEndpoint, Schedule, ScheduleRun
from webapp.store.schedules import endpoints, services

_LIST = "domains"


def schedule_json(row: Schedule) -> dict[str, Any]:
    """A schedule; a long domain list of its request is counted and left out."""
    base = f"{get_script_prefix()}api/v1/schedules/{row.slug}"
    request = {k: v for k, v in row.request.items() if k != _LIST}
    if _LIST in row.request:
        request["n_lines"] = _count_lines(row.request[_LIST])
    return {
        "id": row.slug,
        "name": row.name,
        "kind": row.kind,
        "request": request,
        "cron": row.cron or None,
        "interval_minutes": row.interval_minutes,
        "time_zone": row.time_zone,
        "is_active": row.is_active,
        "next_due": [moment.isoformat() for moment in services.upcoming(row)],
        "created_at": row.created_at.isoformat(),
        "links": {
            "self": base,
            "runs": f"{base}/runs",
            "events": f"{base}/events",
            "page": f"{get_script_prefix()}schedules/{row.slug}/",
        },
    }


def _count_lines(given: Any) -> int:
    lines = given.splitlines() if isinstance(given, str) else given
    return sum(bool(str(line).strip()) for line in lines)


def run_json(row: ScheduleRun) -> dict[str, Any]:
    """A run, with what it started and how many events it has of each kind."""
    return {
        "id": row.pk,
        "due_at": row.due_at.isoformat(),
        "status": row.state,
        "missed": row.missed,
        "survey": row.survey.slug if row.survey else None,
        "campaign": row.campaign.slug if row.campaign else None,
        "audit": row.audit.slug if row.audit else None,
        "compared_with": row.previous.due_at.isoformat() if row.previous else None,
        "changes": row.changes,
        "error": row.error,
        "started_at": row.started_at.isoformat() if row.started_at else None,
        "finished_at": row.finished_at.isoformat() if row.finished_at else None,
    }


def endpoint_json(row: AlertEndpoint, secret: str | None = None) -> dict[str, Any]:
    """An endpoint; its signing secret is there only when it was made a moment ago."""
    base = f"{get_script_prefix()}api/v1/alert-endpoints/{row.slug}"
    document = {
        "id": row.slug,
        "name": row.name,
        "format": row.format,
        "target": endpoints.shown_target(row),
        "kinds": row.kinds,
        "schedule": row.schedule.slug if row.schedule else None,
        "quiet_after": row.quiet_after,
        "digest_hour": row.digest_hour,
        "time_zone": row.time_zone,
        "status": row.state,
        "disabled_reason": row.disabled_reason,
        "created_at": row.created_at.isoformat(),
        "links": {"self": base, "deliveries": f"{base}/deliveries"},
    }
    return document if secret is None else {**document, "secret": secret}


def delivery_json(row: AlertDelivery) -> dict[str, Any]:
    """A delivery with its message and its last attempts."""
    return {
        "id": row.message_id,
        "kind": row.kind,
        "status": row.state,
        "attempts": row.attempts,
        "queued_at": row.queued_at.isoformat(),
        "next_attempt_at": row.next_attempt_at.isoformat() if row.state == "waiting" else None,
        "delivered_at": row.delivered_at.isoformat() if row.delivered_at else None,
        "last_status": row.last_status,
        "last_reason": row.last_reason,
        "log": row.log,
        "payload": row.payload,
    }
