"""What a vantage point asks of the site by HTTP: its identity for a token, and whether it is known.

Only the standard library: the process stays small.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request

from core.errors import BadInput, Unavailable
from core.files import TooLarge
from core.http import NoReply, Reply, send
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


def report_presence(identity: Identity) -> Presence:
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
    parts = urlsplit(site)
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
    request = Request(address, json.dumps(body).encode(), headers)
    try:
        reply = send(request, _WITHIN_S, _LARGEST_ANSWER)
        if not 200 <= reply.status < 300:
            raise _refusal(reply)
        return dict(json.loads(reply.body))
    except (NoReply, TooLarge, ValueError) as error:
        raise Unavailable(f"{address} does not answer: {error}") from error


def _refusal(reply: Reply) -> BadInput | Unavailable:
    try:
        detail = str(json.loads(reply.body)["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"HTTP {reply.status}"
    # Too many requests, and faults of the server, say nothing about the token.
    refused = 400 <= reply.status < 500 and reply.status != 429
    return BadInput(detail) if refused else Unavailable(detail)
