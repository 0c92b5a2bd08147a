"""Messages as people read them: plain text for e-mail, and Slack-compatible payloads."""

from collections.abc import Iterator
from typing import Any

from webapp.store.schedules import kinds

Payload = dict[str, Any]
TITLES = {
    kinds.REGION: "Regions changed",
    kinds.ZONE: "Zones changed",
    kinds.PATTERN: "Front ends changed",
    kinds.PROVIDER: "Providers changed",
    kinds.NAME_SERVERS: "Name servers changed",
    kinds.ISP: "ISPs changed",
    kinds.PATH: "Paths changed",
    kinds.LATENCY: "Latency changed",
    kinds.FINDING_NEW: "New finding",
    kinds.FINDING_RESOLVED: "Finding resolved",
    kinds.NO_DATA: "No data",
    kinds.RECOVERED: "Data again",
    kinds.TEST: "Test message",
    kinds.DIGEST: "Daily digest",
    kinds.RUN: "Changes",
}
# Lines of one message; the page has all of them.
MAX_LINES = 50
_MAX_VALUE = 200


def subject_of(payload: Payload) -> str:
    """Subject line of a message."""
    data, kind = payload["data"], payload["type"]
    if kind == kinds.TEST:
        return f"Nephoscope: test message to {data['name']}"
    counts = ", ".join(
        f"{n} × {TITLES[name].lower()}" for name, n in sorted(data["n_by_kind"].items())
    )
    about = data.get("schedule_name", "daily digest")
    return f"Nephoscope: {about}: {counts}"[:200]


def text_of(payload: Payload) -> str:
    """A message as plain text."""
    lines = [subject_of(payload), "", *_lines(payload), "", payload["data"]["links"]["page"], ""]
    return "\n".join(lines)


def _lines(payload: Payload) -> Iterator[str]:
    data = payload["data"]
    if payload["type"] == kinds.TEST:
        yield "Messages of this endpoint arrive."
        return
    for event in data["events"][:MAX_LINES]:
        yield line_of(event, is_named=payload["type"] == kinds.DIGEST)
    left = data["n_events"] - min(len(data["events"]), MAX_LINES)
    if left > 0:
        yield f"and {left:,} more"


def line_of(event: Payload, *, is_named: bool = False) -> str:
    """One event in one line."""
    name = f"{event['schedule_name']}: " if is_named else ""
    subject = f" {event['subject']}" if event["subject"] else ""
    change = _change(event)
    return f"- {name}{TITLES[event['kind']]}:{subject}{change}"


def _change(event: Payload) -> str:
    before, after = (_short(event[side]) for side in ("before", "after"))
    if before and after:
        return f": {before} → {after}"
    text = before or after
    return f": {text}" if text else ""


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= _MAX_VALUE else one_line[: _MAX_VALUE - 1] + "…"


def slack_payload(payload: Payload) -> Payload:
    """A message for incoming webhooks of Slack, Mattermost, Rocket.Chat and Zulip."""
    page = payload["data"]["links"]["page"]
    lines = "\n".join(_escape(line) for line in _lines(payload))
    head = _escape(subject_of(payload))
    return {"text": f"*{head}*\n{lines}\n<{page}|Open the page>"}


def _escape(text: str) -> str:
    """Text without control sequences of Slack, so that a name creates no mention and no link."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return text
