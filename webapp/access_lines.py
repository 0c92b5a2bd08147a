"""Lines of the web server's log go in; they come out without what opens something, and short.

Links that only read carry their secret in the address. The store keeps hashes of them, and so a
copy of the log shall open no more than a copy of the store.
"""

import logging
import re

# Longer addresses are cut, so that nobody can fill the disk with lines.
MAX_CHARACTERS = 500
_SECRET = re.compile(r"(/shared/|/welcome/[^/]+/|/recommendations/)(?!shared/)[A-Za-z0-9_-]{16,}")
# Those of uvicorn keep their own handlers; everything else comes to the root's.
_WITH_HANDLERS = ("", "uvicorn", "uvicorn.access")


class Discreet(logging.Filter):
    """Leaves the secret of an address out of the line, and cuts what is very long."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.msg, str):
            record.msg = hide(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(
                _cut(hide(part)) if isinstance(part, str) else part for part in record.args
            )
        return True


def hide(address: str) -> str:
    """An address with ``…`` for what opens something."""
    return _SECRET.sub(r"\1…", address)


def _cut(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}… ({len(text)} characters)"


def keep_secrets() -> None:
    """Have the server's own lines leave secrets out from now on.

    The filter belongs to handlers: one on a logger does not see what its children log.
    """
    for name in _WITH_HANDLERS:
        for handler in logging.getLogger(name).handlers:
            handler.addFilter(Discreet())
