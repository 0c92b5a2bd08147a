"""How commands end: errors as one line and an exit code, with or without Django."""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from core.errors import NephoscopeError, reason_of

INTERRUPTED = 130
_MEND_FIRST = 2
# A file or folder that is not as the command needs it; anything else may be better later.
_WRONG_PATHS = frozenset(
    {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EROFS}
)
Refuse = Callable[[str, int, Exception], NoReturn]


@contextmanager
def refusing(
    refuse: Refuse, write_note: Callable[[str], None], try_again_code: int = 1
) -> Iterator[None]:
    """Call ``refuse(text, exit code, error)`` for an error of the product or the system."""
    escape_unencodable()
    try:
        yield
        sys.stdout.flush()
    except NephoscopeError as error:
        refuse(str(error), _MEND_FIRST if error.permanent else try_again_code, error)
    except KeyboardInterrupt:
        write_note("interrupted; run the same command again to go on")
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader went away (as in `… | head`); nothing is wrong with the work.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:
        code = _MEND_FIRST if error.errno in _WRONG_PATHS else try_again_code
        refuse(_describe_os_error(error), code, error)


def escape_unencodable() -> None:
    """Escape characters that the terminal cannot encode, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _describe_os_error(error: OSError) -> str:
    reason = reason_of(error)
    return f"cannot use {error.filename}: {reason}" if error.filename else reason
