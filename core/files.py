"""Files that only their owner may read, written so that a reader never sees half of one."""

import contextlib
import os
import secrets
from pathlib import Path

_SECRET_BYTES = 48
# A shorter text is what an interrupted write left.
_LEAST_SECRET_CHARACTERS = 32


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, with mode 0600; raises ``OSError`` and leaves no debris."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(handle)
        temporary.replace(path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def kept_secret(path: Path) -> str:
    """The random text of a file, made where there is none; raises ``OSError``.

    An empty or short file is what an interrupted start left, and counts as none.
    """
    found = _read(path)
    if not found:
        write_private(path, secrets.token_urlsafe(_SECRET_BYTES))
        # Read again: of several processes that start at once, the last one to write counts.
        found = _read(path)
    return found


def _read(path: Path) -> str:
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return ""
    return text if len(text) >= _LEAST_SECRET_CHARACTERS else ""
