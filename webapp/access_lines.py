"""Lines of the web server's log go in; they come out without what opens something.

Links that only read carry their secret in the address. The store keeps hashes of them, and so a
copy of the log shall open no more than a copy of the store.
"""

import logging
import re

_SECRET = re.compile(r"(/shared/|/welcome/[^/]+/|/recommendations/)(?!shared/)[A-Za-z0-9_-]{16,}")
_LOGGERS = ("uvicorn.access", "django.request")


class Discreet(logging.Filter):
    """Leaves the secret of an address out of the line."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(
                hide(part) if isinstance(part, str) else part for part in record.args
            )
        return True


def hide(address: str) -> str:
    """An address with ``…`` for what opens something."""
    return _SECRET.sub(r"\1…", address)


def keep_secrets() -> None:
    """Have the server's own lines leave secrets out from now on."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(Discreet())
