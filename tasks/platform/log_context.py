"""Identifiers that every log line of a request or task carries, and JSON lines (RFC 8259).

``request`` identifies a request from the browser to the last task that it queued; ``task`` and
``task_id`` are those of Celery.
"""

import json
import logging
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

_EMPTY: Mapping[str, str] = MappingProxyType({})
_fields: ContextVar[Mapping[str, str]] = ContextVar("log_fields", default=_EMPTY)
# What a proxy or another service may send as the identifier of a request.
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


def log_fields() -> Mapping[str, str]:
    """The identifiers in force."""
    return _fields.get()


def set_log_fields(**fields: str) -> None:
    """Replace the identifiers of the request or task that runs now."""
    _fields.set(fields)


def add_log_fields(**fields: str) -> None:
    """Add identifiers until the request or task ends."""
    _fields.set({**_fields.get(), **fields})


class ContextFilter(logging.Filter):
    """Append the identifiers to a record, as `` key=value`` in ``record.context``."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.context = "".join(f" {key}={value}" for key, value in log_fields().items())
        return True


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, identifiers and traceback."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **log_fields(),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)
