# ruff: noqa: D101
"""Response schemas of schedules, their runs and events, and of alerts."""

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import JsonValue

from webapp.api.framework.replies.details import (
    AlertPayload,
    EventDetail,
)


class Schedule(Schema):
    """``next_due`` holds the next due times in UTC; none while the schedule is not active."""

    id: str
    name: str
    kind: Literal["survey", "campaign", "audit"]
    request: dict[str, JsonValue]
    cron: str | None
    interval_minutes: int | None
    time_zone: str
    is_active: bool
    next_due: list[datetime]
    created_at: datetime
    links: dict[str, str]


class ScheduleRun(Schema):
    """``missed`` is the number of due times that passed unnoticed; ``changes`` counts events."""

    id: int
    due_at: datetime
    status: Literal["due", "started", "compared", "failed", "skipped"]
    missed: int
    survey: str | None
    campaign: str | None
    audit: str | None
    compared_with: datetime | None
    changes: dict[str, int]
    error: str
    started_at: datetime | None
    finished_at: datetime | None


class ScheduleEvent(Schema):
    """A change between two runs; ``repeats`` counts consecutive runs with the same matter."""

    id: str
    kind: str
    subject: str
    before: str
    after: str
    repeats: int
    at: datetime
    detail: EventDetail
    schedule: str
    schedule_name: str
    due_at: datetime
    links: dict[str, str]


class AlertEndpoint(Schema):
    """The target of a Slack-compatible webhook is shown without its path, which is a secret."""

    id: str
    name: str
    format: Literal["webhook", "slack", "email"]
    target: str
    kinds: list[str]
    schedule: str | None
    quiet_after: int
    digest_hour: int | None
    time_zone: str
    status: Literal["active", "unconfirmed", "disabled"]
    disabled_reason: str
    created_at: datetime
    links: dict[str, str]


class NewAlertEndpoint(AlertEndpoint):
    """``secret`` signs webhooks and is shown once; other formats have none."""

    secret: str | None = None


class AlertAttempt(Schema):
    at: datetime
    status: int | None
    reason: str
    duration_ms: int


class AlertDelivery(Schema):
    id: str
    kind: str
    status: Literal["waiting", "delivered", "failed"]
    attempts: int
    queued_at: datetime
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    last_status: int | None
    last_reason: str
    log: list[AlertAttempt]
    payload: AlertPayload
