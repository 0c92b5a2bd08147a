"""Deliver a report to its pool: retry while the site is unreachable, counted at most once.

Every try carries the id of the report, so that the site can distinguish a repetition from a new
report.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPORTS_PATH = "/api/v1/screening/reports"
TIMEOUT_S = 20.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
# Status codes after which a retry can succeed; after every other 4xx it cannot.
AGAIN = (408, 425, 429)


class Refused(Exception):
    """The site has read the report and does not want it; sending it again cannot help."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the report into a GET, and send the token elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def deliver(
    report: dict[str, Any],
    site: str,
    token: str,
    longest_wait_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """The site's answer; Refused when it refuses, OSError after the last retry."""
    deadline, wait_s = time.monotonic() + longest_wait_s, FIRST_WAIT_S
    while True:
        try:
            return post(report, site, token)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in AGAIN:
                raise Refused(_explain(error)) from None
            reason, asked_s = f"HTTP {error.code}", _read_wait(error)
        except (OSError, ValueError) as error:
            reason, asked_s = str(error), 0.0
        if time.monotonic() >= deadline:
            raise OSError("the site did not take the report: " + reason)
        if asked_s:
            # The site has given the time: it can be reached, so a longer back-off has no use.
            pause(asked_s * random.uniform(1, 1.5))
            continue
        pause(wait_s * random.uniform(0.5, 1.5))
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def post(report: dict[str, Any], site: str, token: str) -> dict[str, Any]:
    """Send once."""
    request = urllib.request.Request(
        site.rstrip("/") + REPORTS_PATH,
        data=json.dumps(report, separators=(",", ":")).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": "Bearer " + token,
            "Idempotency-Key": report["report_id"],
        },
    )
    with urllib.request.build_opener(NoRedirect).open(request, timeout=TIMEOUT_S) as reply:
        answer = json.loads(reply.read(1_000_000) or b"{}")
    return answer if isinstance(answer, dict) else {}


def _explain(error: urllib.error.HTTPError) -> str:
    text = error.read(2000).decode("utf-8", "replace")
    with contextlib.suppress(ValueError, AttributeError):
        text = str(json.loads(text).get("detail", text))
    return f"HTTP {error.code}: " + " ".join(text.split())[:300]


def _read_wait(error: urllib.error.HTTPError) -> float:
    word = error.headers.get("Retry-After", "") if error.headers else ""
    return min(float(word), 60.0) if word.isdigit() else 0.0


def save(report: dict[str, Any], path: str) -> None:
    """Write a result file as a whole."""
    draft = Path(f"{path}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(report, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
    finally:
        if draft.exists():
            draft.unlink()
