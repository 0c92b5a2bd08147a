# ruff: noqa: D101
"""Response schemas of traffic captures and their uploads."""

from datetime import datetime
from typing import Literal

from ninja import Schema

from webapp.api.framework.replies.details import CaptureQuality, RangeTableVersion
from webapp.api.framework.replies.surveys import ReportTable


class RejectedRows(Schema):
    """Rows of a log that were left out for one reason, and the first of their lines."""

    count: int
    first_lines: list[int]


class LogSummary(Schema):
    """An imported log: its file's name, rows read and rejected."""

    path: str
    kind: str | None
    rows: int
    rejected: int
    reasons: dict[str, RejectedRows]
    damage: str | None


class CaptureTableContent(ReportTable):
    title: str
    source: str
    method: str


class Capture(Schema):
    """The whole report of a capture, as the command ``packets report --json`` gives it."""

    name: str
    logs: list[LogSummary]
    tables: dict[str, CaptureTableContent]
    quality: CaptureQuality
    checks: list[str]
    range_tables: list[RangeTableVersion]


class CaptureTable(CaptureTableContent):
    id: str


class UploadedLog(Schema):
    """A file of an upload; the file itself is deleted once it is read."""

    name: str
    bytes: int
    sha256: str


class CaptureUploadLinks(Schema):
    self: str
    capture: str
    page: str


class CaptureUpload(Schema):
    """An upload of traffic logs; ``progress`` is the share of bytes read, 0 to 1."""

    capture: str
    name: str
    status: Literal["waiting", "running", "finished", "failed"]
    progress: float
    error: str
    files: list[UploadedLog]
    client_networks: list[str]
    as_of: str
    requested_at: datetime
    finished_at: datetime | None
    links: CaptureUploadLinks
