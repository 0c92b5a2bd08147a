"""One attempt to deliver a message: a signed POST to a checked address, or an e-mail."""

import json
import smtplib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.request import Request

from django.conf import settings
from django.core import mail

from core.clock import Clock
from core.errors import BadInput, reason_of
from core.files import TooLarge
from core.http import NoReply, Reply, send
from core.release import VERSION
from tasks.schedules import messages
from tasks.schedules.signing import headers_of
from webapp.store.models import AlertDelivery, AlertEndpoint
from webapp.store.schedules import endpoints, targets
from webapp.store.schedules.deliveries import Attempt

TIMEOUT_S = 10.0
# Of a reply nothing but its status is used.
MAX_REPLY_BYTES = 65_536
GONE = 410
_BUSY = (429, 503)


def attempt(endpoint: AlertEndpoint, row: AlertDelivery, clock: Clock) -> Attempt:
    """Send a message once; never raises for what the receiver does."""
    began = clock.monotonic()
    by_mail = endpoint.format == AlertEndpoint.Format.EMAIL
    found = _mail(endpoint, row) if by_mail else _post(endpoint, row, clock)
    took_ms = round((clock.monotonic() - began) * 1000)
    return Attempt(**{**found, "duration_ms": took_ms})


def body_of(endpoint: AlertEndpoint, row: AlertDelivery) -> bytes:
    """The body of a message, the same on each repetition."""
    is_slack = endpoint.format == AlertEndpoint.Format.SLACK
    document = messages.slack_payload(row.payload) if is_slack else row.payload
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _post(endpoint: AlertEndpoint, row: AlertDelivery, clock: Clock) -> dict[str, Any]:
    body, now = body_of(endpoint, row), clock.now()
    headers = {"Content-Type": "application/json", "User-Agent": f"Nephoscope/{VERSION}"}
    if endpoint.format == AlertEndpoint.Format.WEBHOOK:
        secrets = endpoints.secrets_of(endpoint, now)
        headers |= headers_of(secrets, row.message_id, int(now.timestamp()), body)
    try:
        pin = targets.pin_address(endpoint.target)
        request = Request(endpoint.target, data=body, headers=headers, method="POST")
        reply = send(request, TIMEOUT_S, MAX_REPLY_BYTES, pin=pin)
    except TooLarge:
        # Only replies of success are read whole: the message was accepted.
        return {"is_accepted": True, "reason": "accepted, with a long reply"}
    except BadInput as error:
        return {"is_accepted": False, "reason": str(error)}
    except NoReply as error:
        return {"is_accepted": False, "reason": f"no reply: {error}"}
    except OSError as error:
        return {"is_accepted": False, "reason": reason_of(error)}
    return _attempt_of(reply, now)


def _attempt_of(reply: Reply, now: datetime) -> dict[str, Any]:
    """A status of success is an acceptance; a redirect is not followed and is none."""
    is_accepted = 200 <= reply.status < 300
    reason = "accepted" if is_accepted else f"status {reply.status} {reply.reason}".strip()
    if 300 <= reply.status < 400:
        reason += ": redirects are not followed"
    wait = reply.headers.get("retry-after", "") if reply.status in _BUSY else ""
    return {
        "is_accepted": is_accepted,
        "status": reply.status,
        "reason": reason,
        "retry_after_s": read_retry_after(wait, now),
        "is_final": reply.status == GONE,
    }


def read_retry_after(text: str, now: datetime) -> float:
    """Seconds of a ``Retry-After`` header, given as a number or a date; 0 without one."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _mail(endpoint: AlertEndpoint, row: AlertDelivery) -> dict[str, Any]:
    domain = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">") or "localhost"
    message = mail.EmailMessage(
        subject=" ".join(messages.subject_of(row.payload).split()),
        body=messages.text_of(row.payload),
        to=[endpoint.target],
        headers={"Message-ID": f"<{row.message_id}@{domain}>", "Auto-Submitted": "auto-generated"},
    )
    return _sent(message)


def send_confirmation(endpoint: AlertEndpoint) -> bool:
    """Ask the owner of an address whether alerts may be sent there; false where that failed."""
    link = f"{settings.SITE_URL}/alerts/confirm/{endpoints.confirmation_of(endpoint)}/"
    text = (
        f"An account of {settings.SITE_URL} asks to send alerts to this address.\n\n"
        f"To agree, open this link within three days:\n{link}\n\n"
        "If you do not know about it, do nothing: nothing more will be sent.\n"
    )
    message = mail.EmailMessage(
        subject="Nephoscope: confirm this address for alerts", body=text, to=[endpoint.target]
    )
    return bool(_sent(message)["is_accepted"])


def _sent(message: mail.EmailMessage) -> dict[str, Any]:
    try:
        message.send()
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        return {"is_accepted": False, "status": code, "reason": _decoded(text)}
    except smtplib.SMTPResponseException as error:
        return {"is_accepted": False, "reason": f"{error.smtp_code} {_decoded(error.smtp_error)}"}
    except (OSError, smtplib.SMTPException, ValueError) as error:
        return {"is_accepted": False, "reason": reason_of(error)}
    return {"is_accepted": True, "reason": "accepted by the mail server"}


def _decoded(text: bytes | str) -> str:
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
