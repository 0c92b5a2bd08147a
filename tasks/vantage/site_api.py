"""What a vantage point asks of the site by HTTP: its identity for a token, and whether it is known.

Only the standard library: the process stays small.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from core.errors import BadInput, Unavailable
from core.http import check_site, read_json, request_site
from core.release import VERSION
from tasks.vantage.credentials import Identity
from tasks.vantage.self_check import check_machine

_WITHIN_S = 20.0
_LARGEST_ANSWER = 256 * 1024
_FIELDS = ("name", "host", "port", "user", "password", "authority", "limits")


class Presence(StrEnum):
    """The site's reply to the presence report of a vantage point."""

    KNOWN = "known"
    REVOKED = "revoked"
    SILENT = "silent"


def join(site: str, token: str, *, plain: bool = False) -> Identity:
    """Exchange a one-time token; raises ``BadInput`` where it is refused, else ``Unavailable``."""
    base = check_site(site, "SITE", plain=plain, plain_option="--plain")
    document = _post(f"{base}/api/v1/vantage-points/join", {"token": token, "version": VERSION})
    try:
        return Identity(site=base, **{name: document[name] for name in _FIELDS})
    except (KeyError, TypeError) as error:
        raise Unavailable(f"{site} answered something else than an identity: {error}") from error


def report_presence(identity: Identity) -> Presence:
    """Report this address and a self-check to the site; return whether it knows this machine."""
    address = f"{identity.site}/api/v1/vantage-points/{identity.name}/presence"
    try:
        _post(address, {**_about(identity), "password": identity.password})
    except BadInput:
        return Presence.REVOKED
    except Unavailable:
        return Presence.SILENT
    return Presence.KNOWN


def _about(identity: Identity) -> dict[str, Any]:
    host = urlsplit(identity.site).hostname or identity.host
    return {"version": VERSION, "self_check": check_machine(host).as_json()}


def _post(address: str, body: Mapping[str, Any]) -> dict[str, Any]:
    reply = request_site(address, body, timeout_s=_WITHIN_S, max_bytes=_LARGEST_ANSWER)
    return read_json(reply, address)
