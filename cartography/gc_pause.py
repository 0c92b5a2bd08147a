"""A rest for Python's collector of cycles while a file becomes a hundred thousand small rows."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def many_rows() -> Iterator[None]:
    """No search for cycles meanwhile: rows hold none, and looking through them again and again
    takes a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
