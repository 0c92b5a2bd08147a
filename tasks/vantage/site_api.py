"""What a vantage point asks of the site by HTTP: its identity for a token, and whether it is known.

Only the standard library: the process stays small.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from core.errors import BadInput, Unavailable, reason_of
from core.release import VERSION
from tasks.vantage.credentials import Identity

_WITHIN_S = 20.0
_LARGEST_ANSWER = 256 * 1024
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_FIELDS = ("name", "host", "port", "user", "password", "authority", "limits")


class Presence(StrEnum):
    """What the site said when the vantage point said that it is there."""

    KNOWN = "known"
    REVOKED = "revoked"
    SILENT = "silent"


def join(site: str, token: str, *, plain: bool = False) -> Identity:
    """Exchange a one-time token; raises ``BadInput`` where it is refused, else ``Unavailable``."""
    base = _checked(site, plain)
    document = _post(f"{base}/api/v1/vantage-points/join", {"token": token, "version": VERSION})
    try:
        return Identity(site=base, **{name: document[name] for name in _FIELDS})
    except (KeyError, TypeError) as error:
        raise Unavailable(f"{site} answered something else than an identity: {error}") from error


def say_presence(identity: Identity) -> Presence:
    """Tell the site which address this is; whether it knows this vantage point."""
    address = f"{identity.site}/api/v1/vantage-points/{identity.name}/presence"
    try:
        _post(address, {"version": VERSION, "password": identity.password})
    except BadInput:
        return Presence.REVOKED
    except Unavailable:
        return Presence.SILENT
    return Presence.KNOWN


def _checked(site: str, plain: bool) -> str:
    parts = urllib.parse.urlsplit(site)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"{site!r} is no address like https://example.org", field="SITE")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK and not plain:
        raise BadInput(
            "a password would travel over http unencrypted; use https, or --plain in a lab",
            field="SITE",
        )
    return site.rstrip("/")


def _post(address: str, body: Mapping[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "User-Agent": f"nephoscope-vantage/{VERSION}"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=_WITHIN_S) as answer:
            return dict(json.loads(answer.read(_LARGEST_ANSWER)))
    except urllib.error.HTTPError as error:
        raise _refusal(error) from error
    except (OSError, ValueError) as error:
        inner = error.reason if isinstance(error, urllib.error.URLError) else error
        raise Unavailable(f"{address} does not answer: {reason_of(inner)}") from error


def _refusal(error: urllib.error.HTTPError) -> BadInput | Unavailable:
    try:
        detail = str(json.loads(error.read(_LARGEST_ANSWER))["detail"])
    except (OSError, ValueError, KeyError, TypeError):
        detail = f"HTTP {error.code}"
    # Too many requests, and faults of the server, say nothing about the token.
    refused = 400 <= error.code < 500 and error.code != 429
    return BadInput(detail) if refused else Unavailable(detail)
