"""Typed readers of environment variables that fail loudly and name the variable."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from core.errors import BadInput, reason_of

Parsed = TypeVar("Parsed")
_TRUE, _FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def read_text(name: str, default: str, env: Mapping[str, str] = os.environ) -> str:
    """The variable's text, or ``default`` where it is unset or empty."""
    return env.get(name) or default


def read_secret(name: str, env: Mapping[str, str] = os.environ) -> str:
    """The variable, or the content of the file that ``NAME_FILE`` names; empty without either.

    Secrets of containers and of systemd's credentials are files.
    """
    path = env.get(f"{name}_FILE")
    if env.get(name) or not path:
        return env.get(name, "")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {reason_of(error)}", field=f"{name}_FILE") from error


def read_flag(name: str, default: bool, env: Mapping[str, str] = os.environ) -> bool:
    """A yes-or-no variable; anything else raises ``BadInput``."""
    raw = env.get(name)
    if raw is None:
        return default
    value = raw.strip().lower()
    if value in _TRUE | _FALSE:
        return value in _TRUE
    raise BadInput(f"{raw!r} is neither yes nor no; use 1 or 0", field=name)


def read_int(name: str, default: int, env: Mapping[str, str] = os.environ) -> int:
    """A whole number; anything else raises ``BadInput``."""
    raw = env.get(name)
    if not raw:
        return default
    try:
        return int(raw)
    except ValueError as error:
        raise BadInput(f"{raw!r} is not a whole number", field=name) from error


def read_choice(
    name: str, choices: Sequence[str], default: int = 0, env: Mapping[str, str] = os.environ
) -> str:
    """One of a few words, by default the one at ``default``; others raise ``BadInput``."""
    value = (env.get(name) or choices[default]).strip().lower()
    if value not in choices:
        raise BadInput(f"{value!r} is not one of {', '.join(choices)}", field=name)
    return value


def read_list(name: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Values separated by commas or white space."""
    return env.get(name, "").replace(",", " ").split()


def read_parsed(
    name: str,
    default: str,
    parse: Callable[[str], Parsed],
    env: Mapping[str, str] = os.environ,
) -> Parsed:
    """What ``parse`` makes of a variable; its ``ValueError`` becomes ``BadInput``."""
    try:
        return parse(read_text(name, default, env))
    except ValueError as error:
        raise BadInput(f"cannot be read: {error}", field=name) from error


def create_folder(name: str, folder: Path) -> None:
    """A variable's folder, made for its owner alone; raises ``BadInput`` where it cannot be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder {folder}: {error.strerror}", field=name) from error
