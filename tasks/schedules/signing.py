"""Signatures of webhooks, as Standard Webhooks defines them."""

import base64
import hashlib
import hmac
from collections.abc import Iterable

PREFIX = "whsec_"


def sign(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature: HMAC-SHA256 of id, time stamp (Unix seconds) and body."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers_of(
    secrets: Iterable[str], message_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """The three headers of a signed message; one signature for each secret in use."""
    signatures = " ".join(sign(secret, message_id, timestamp, body) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signatures,
    }
