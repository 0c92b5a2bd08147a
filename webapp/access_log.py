"""Redaction of the web server's access log: secrets are masked, and senders of beacon reports.

Long addresses are truncated.

Share links carry their secret in the address. The store keeps only hashes of them, so a copy of the
log must not grant more access than a copy of the store.
"""

import logging
import re

# Longer addresses are truncated, so that requests cannot fill the disk.
MAX_CHARACTERS = 500
# The address of an invitation is also a parameter of the sign-in page, where "/" is "%2F".
_SECRET = re.compile(
    r"(/shared/|/welcome/[^/]+/|/recommendations/|/invitations/|%2Finvitations%2F)"
    r"(?!shared/)[A-Za-z0-9_-]{16,}"
)
# Visitors of other sites, without their addresses: (client, method, address, …) of uvicorn.
_BEACON = "/beacon/"
# uvicorn's loggers keep their own handlers; all others propagate to the root logger.
_WITH_HANDLERS = ("", "uvicorn", "uvicorn.access")


class RedactingFilter(logging.Filter):
    """Mask secrets in addresses and truncate very long values."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = redact(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(
                _truncate(redact(part)) if isinstance(part, str) else part
                for part in _without_sender(record.args)
            )
        return True


def _without_sender(values: tuple[object, ...]) -> tuple[object, ...]:
    if len(values) > 2 and str(values[2]).startswith(_BEACON):
        return ("-", *values[1:])
    return values


def redact(address: str) -> str:
    """Return the address with each secret replaced by ``…``."""
    return _SECRET.sub(r"\1…", address)


def _truncate(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}… ({len(text)} characters)"


def install_redaction() -> None:
    """Add the filter to the handlers of all loggers of the server.

    A filter on a logger would not see records that its children propagate.
    """
    for name in _WITH_HANDLERS:
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(RedactingFilter())
