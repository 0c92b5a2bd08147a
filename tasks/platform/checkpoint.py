"""State of an unfinished bulk run, beside its output, so that it can resume."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.errors import BadInput, Unavailable, reason_of
from core.files import write_text

_VERSION = 1
_HASHED_OCTETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What is done: all questions before ``next_tag`` but the open ones; ``mark`` is the sink's.

    ``names`` identifies the list of names, ``asked`` the queries for each.
    """

    names: str
    asked: list[str]
    next_tag: int
    open_tags: list[int]
    mark: dict[str, Any]
    by_status: dict[str, int] = field(default_factory=dict)
    version: int = _VERSION

    @property
    def done(self) -> int:
        """Questions that have their result."""
        return self.next_tag - len(self.open_tags)


def state_path(output: Path) -> Path:
    """Return the path of the state of a run that writes ``output``."""
    return output.with_name(f"{output.name}.state")


def identify_list(path: Path) -> str:
    """Size and digest of both ends of a list; raises ``BadInput`` where it cannot be read."""
    try:
        with path.open("rb") as handle:
            size = os.fstat(handle.fileno()).st_size
            digest = hashlib.sha256(handle.read(_HASHED_OCTETS))
            handle.seek(max(0, size - _HASHED_OCTETS))
            digest.update(handle.read(_HASHED_OCTETS))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    return f"{size}:{digest.hexdigest()}"


def save_checkpoint(checkpoint: Checkpoint, output: Path) -> None:
    """Replace the state in one step; raises ``Unavailable``."""
    path = state_path(output)
    try:
        write_text(path, json.dumps(asdict(checkpoint)))
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}") from error


def load_checkpoint(output: Path, names: str, asked: list[str]) -> Checkpoint:
    """The state of an unfinished run of the same questions; raises ``BadInput``."""
    path = state_path(output)
    try:
        found = Checkpoint(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise BadInput(
            f"there is no unfinished run of {output.name}; leave --resume out", field="resume"
        ) from error
    except (OSError, TypeError, ValueError) as error:
        raise BadInput(
            f"cannot use {path}: {reason_of(error)}; delete it to start again"
        ) from error
    if found.version != _VERSION or (found.names, found.asked) != (names, asked):
        raise BadInput(
            "the unfinished run asked other names or types; give the same list, --type and "
            f"--subnet, or delete {path.name} to start again",
            field="resume",
        )
    return found


def refuse_unfinished(output: Path) -> None:
    """Raise ``BadInput`` if a run of this output can still continue, so that nothing is lost."""
    if state_path(output).exists():
        raise BadInput(
            f"{output.name} belongs to an unfinished run; add --resume to resume it, or delete "
            f"{state_path(output).name} to start again",
            field="output",
        )
