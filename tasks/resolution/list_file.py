"""The file of names that ``resolve`` reads."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from core.errors import BadInput

_HEAD_OCTETS = 4096


@contextmanager
def open_names(path: str) -> Iterator[BinaryIO]:
    """The list at ``path``, or standard input for ``-``; raises ``BadInput``."""
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        handle = Path(path).open("rb")  # noqa: SIM115 -- closed below, errors of the caller's stay his
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    with handle:
        _refuse_what_is_no_text(path, handle.peek(_HEAD_OCTETS))
        yield handle


def _refuse_what_is_no_text(path: str, head: bytes) -> None:
    """A packed or binary file would become thousands of lines that are left out."""
    if head.startswith(b"\x1f\x8b"):
        raise BadInput(f"{path} is packed by gzip; use: zcat {path} | manage.py resolve -")
    if b"\0" in head:
        raise BadInput(f"{path} is not plain text; save the list as UTF-8")


def count_lines(path: str) -> int:
    """Lines of a file, 1 at least."""
    with Path(path).open("rb") as handle:
        blocks = iter(lambda: handle.read(1 << 20), b"")
        return sum(block.count(b"\n") for block in blocks) or 1
