"""Arguments that name a file to read: ``-`` is standard input, in every command."""

import shutil
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.errors import BadInput

STANDARD_INPUT = Path("/dev/stdin")
_NAME = "stdin"


def input_file(text: str) -> Path:
    """The type of an argument that names a file to read."""
    return STANDARD_INPUT if text == "-" else Path(text)


def input_file_of(text: str) -> tuple[str, Path]:
    """The type of an argument ``NAME=FILE``; raises ``ArgumentTypeError``."""
    name, equals, path = text.partition("=")
    if not (name and equals and path):
        raise ArgumentTypeError(f"{text!r} is not PROVIDER=FILE, such as aws=ip-ranges.json")
    return name, input_file(path)


@contextmanager
def standard_input_as_file(options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The options, with a copy of standard input for the argument that names it.

    Readers look at the beginning of a file before they choose how to read it, which a pipe does
    not allow. Raises ``BadInput`` when several arguments name standard input.
    """
    n_named = sum(_count(value) for value in options.values())
    if not n_named:
        yield dict(options)
        return
    if n_named > 1:
        raise BadInput("standard input can be read for one file only")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / _NAME
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield {name: _replace(value, copy) for name, value in options.items()}


def _count(value: Any) -> int:
    if isinstance(value, list | tuple):
        return sum(map(_count, value))
    return int(value == STANDARD_INPUT)


def _replace(value: Any, copy: Path) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_replace(each, copy) for each in value)
    return copy if value == STANDARD_INPUT else value


def read_input(path: Path) -> bytes:
    """A file's bytes; raises ``BadInput`` with the reason."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
