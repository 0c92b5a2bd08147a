"""What a unit has measured so far, line by line in a file, so that a killed process loses nothing.

One file per unit; a line that was cut off by the end of the process is no line.
"""

import json
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from core.errors import BadInput

log = logging.getLogger(__name__)
# Results lie here until long after the centre has them, for an order that comes again.
_KEPT_S = 86_400.0
_MOST_FILES = 2_000
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]{0,250}", re.IGNORECASE)


@dataclass(frozen=True)
class Entries:
    """What a journal holds of a unit."""

    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    missed: dict[int, str] = field(default_factory=dict)
    is_done: bool = False
    order: dict[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> frozenset[int]:
        """Slots that were run or missed."""
        return frozenset(self.results) | frozenset(self.missed)

    def columns(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """The results as columns, the slot first."""
        rows = [{"slot": slot, **entry} for slot, entry in self.results.items()]
        return {name: [row[name] for row in rows] for name in names}


class Journal:
    """Journals of one place; one is open at a time. Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._entries = Entries()
        self._file: TextIOWrapper | None = None
        self._key = ""

    def open(self, campaign: str, unit: str) -> Entries:
        """The header of a unit, followed by its entries; raises ``BadInput``."""
        key = f"{campaign}.{unit}"
        if not _SAFE.fullmatch(key):
            raise BadInput(f"{key!r} is not a name of a unit")
        if key == self._key:
            return self._entries
        self._leave()
        self._key = key
        self._entries = Entries()
        if self._folder is not None:
            try:
                self._open(self._folder, key)
            except OSError as error:
                self._disable(error)
        return self._entries

    def record_order(self, order: Mapping[str, Any]) -> None:
        """Record the order, so that the unit can be resumed without being sent again."""
        if not self._entries.order:
            self._entries.order.update(order)
            self._write(["order", dict(order)])

    def unfinished(self) -> list[dict[str, Any]]:
        """Orders of which not every slot was run or missed, the oldest first."""
        if self._folder is None or not self._folder.is_dir():
            return []
        found = [_read(path) for path in sorted(self._folder.glob("*.jsonl"), key=_age)]
        return [entries.order for entries in found if entries.order and not entries.is_done]

    def add(self, slot: int, entry: Mapping[str, Any]) -> None:
        """Keep the result of a slot."""
        self._entries.results[slot] = dict(entry)
        self._write([slot, dict(entry)])

    def miss(self, slot: int, reason: str) -> None:
        """Keep why a slot was not run."""
        self._entries.missed[slot] = reason
        self._write([slot, reason])

    def close(self) -> None:
        """All slots of the unit are there."""
        found = self._entries
        self._entries = Entries(found.results, found.missed, True, found.order)
        self._write(["done"])

    def _open(self, folder: Path, key: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{key}.jsonl"
        if path.exists():
            self._entries = _read(path)
        else:
            _remove_old(folder)
        self._file = path.open("a", encoding="utf-8")
        # What a killed process left without an end is ended here.
        self._file.write("\n")

    def _write(self, entry: list[Any]) -> None:
        if self._file:
            try:
                self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
                self._file.flush()
            except OSError as error:
                self._disable(error)

    def _disable(self, error: OSError) -> None:
        """A full disk stops no measurement: what is in memory is sent all the same."""
        log.warning("no journal is kept: %s", error)
        self._file = None

    def _leave(self) -> None:
        if self._file:
            self._file.close()
        self._file = None


def _read(path: Path) -> Entries:
    found = Entries()
    done = False
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        match _entry(line):
            case ["done"]:
                done = True
            case ["order", dict(order)]:
                found.order.update(order)
            case [int(slot), dict(entry)]:
                found.results[slot] = entry
            case [int(slot), str(reason)]:
                found.missed[slot] = reason
    return Entries(found.results, found.missed, done, found.order)


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _entry(line: str) -> list[Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return []
    return found if isinstance(found, list) else []


def _remove_old(folder: Path) -> None:
    """Remove journals that no order can refer to any more."""
    files = sorted(folder.glob("*.jsonl"), key=_age)
    old = [p for p in files if _age(p) < time.time() - _KEPT_S]
    for path in {*old, *files[: max(0, len(files) - _MOST_FILES)]}:
        path.unlink(missing_ok=True)
