"""How far orders at public networks are, and until when a network asked to wait, in files.

What is written here is there before anything is paid, so that nothing is paid for twice.
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.errors import Unavailable
from core.files import write_text
from tasks.protocol.work_order import Order
from webapp.store.campaigns import selectors


@dataclass
class Work:
    """How far one order is: tests by slot, and results of slots that have ended.

    A test without a name was created by a process that ended before the network's reply arrived.
    """

    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    raw: dict[str, Any] = field(default_factory=dict)
    attempt: int = 0


def path_of(order: Order) -> Path:
    """State of an order's work: the same for every attempt, so that nothing is paid twice."""
    name = f"{order.unit}.json".replace("/", "_")
    return selectors.lake_root() / order.campaign / "raw" / name


def read(path: Path) -> Work:
    """The work of an order; none where nothing was begun."""
    try:
        return Work(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return Work()


def write(path: Path, work: Work) -> None:
    """Keep how far an order is; raises ``Unavailable`` where the disk refuses."""
    _write(path, json.dumps(asdict(work)))


def hold(source: str, until: float) -> None:
    """Ask a network for nothing new until a moment, whichever process it is."""
    _write(_hold_path(source), str(until))


def held_until(source: str) -> float:
    """Until when a network wants to be left alone; 0 for one that does not."""
    try:
        return float(_hold_path(source).read_text())
    except (OSError, ValueError):
        return 0.0


def _hold_path(source: str) -> Path:
    return selectors.lake_root() / ".networks" / f"{source}.until"


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise Unavailable(f"cannot write {path.name}: {error.strerror or error}") from error
