"""Targets of webhooks: how a URL may be written, and which address of it may be connected to."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from django.conf import settings

from core.errors import BadInput
from core.http import PinnedAddress
from probes.net.ssrf_guard import Refusal, admit_all, why_forbidden
from probes.records import Target

MAX_URL_CHARACTERS = 1_000
_HOST = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?")
# Such a last label makes many parsers read the host as a number (WHATWG URL, ends in a number).
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)")
_PORTS = {"http": 80, "https": 443}


class Forbidden(BadInput):
    """A target that this installation never connects to."""


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """The parts of a checked URL that decide where a connection goes."""

    scheme: str
    host: str
    port: int

    @property
    def is_test_target(self) -> bool:
        """Whether the operator allows this host and port by name."""
        written = f"[{self.host}]" if ":" in self.host else self.host
        return f"{written}:{self.port}" in settings.WEBHOOK_TEST_TARGETS


def parse_target(url: str) -> WebhookTarget:
    """Check how a URL is written; raises ``BadInput`` with what to change.

    What parsers disagree about is refused: users, backslashes, control characters, numbers as
    hosts, characters outside ASCII.
    """
    if len(url) > MAX_URL_CHARACTERS:
        raise BadInput(f"a URL has at most {MAX_URL_CHARACTERS:,} characters", field="target")
    if not url.isascii() or not url.isprintable() or set(url) & set(' \\"<>^`{|}'):
        raise BadInput(
            "write the URL in ASCII without blanks, quotes and backslashes (names of other "
            "scripts as xn--…)",
            field="target",
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadInput(f"{url[:80]!r} is not a URL: {error}", field="target") from error
    if parts.scheme not in _PORTS or not parts.hostname or not url.startswith(f"{parts.scheme}://"):
        raise BadInput("give a URL such as https://alerts.example.com/hook", field="target")
    if "@" in parts.netloc or parts.fragment or port == 0:
        raise BadInput("a URL of a webhook has no user, fragment or port 0", field="target")
    host = _check_host(parts.hostname)
    return WebhookTarget(parts.scheme, host, port or _PORTS[parts.scheme])


def _check_host(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    labels = host.removesuffix(".").split(".")
    if not _HOST.fullmatch(host) or "" in labels or len(host) > 253:
        raise BadInput(f"{host[:80]!r} is not a host name", field="target")
    if _NUMBER.fullmatch(labels[-1]):
        raise BadInput(
            f"{host[:80]!r} is neither a host name nor an address of four decimal numbers",
            field="target",
        )
    return host


def check_url(url: str) -> None:
    """Refuse at once what no delivery could reach; raises ``BadInput``. No name is resolved."""
    target = parse_target(url)
    if target.is_test_target:
        return
    if target.scheme != "https":
        raise Forbidden("the URL of a webhook begins with https://", field="target")
    try:
        reason = why_forbidden(ip_address(target.host), (), ())
    except ValueError:
        return
    if reason:
        raise Forbidden(f"nothing is sent there: {reason}", field="target")


def pin_address(url: str, *, is_plain_allowed: bool = False) -> PinnedAddress:
    """Resolve the host of a URL once, and return the address to connect to.

    With ``is_plain_allowed`` also of an http URL.

    Raises ``BadInput`` for the way it is written, ``Forbidden`` where any of its addresses is
    private, reserved, of instance metadata or this machine's own, and ``OSError`` where it has
    none.
    """
    target = parse_target(url)
    allow: tuple[str, ...] = ()
    if target.is_test_target:
        allow = ("0.0.0.0/0", "::/0")
    found = admit_all(Target(target.host, target.port), allow)
    if isinstance(found, Refusal):
        if found.status == "FORBIDDEN":
            raise Forbidden(found.reason, field="target")
        raise OSError(found.reason)
    if target.scheme != "https" and not (target.is_test_target or is_plain_allowed):
        raise Forbidden("the URL of a webhook begins with https://", field="target")
    return PinnedAddress(found.address, found.port)
