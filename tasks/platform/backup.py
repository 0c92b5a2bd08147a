"""Copy the data folder into a backup from which another installation can continue.

The database is copied first and as of one moment. The files that it names are immutable and are
copied afterwards, so that the copy lacks nothing that existed at that moment.
"""

import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from core.errors import BadInput
from webapp.store.accounts.sqlite_copy import copy_database
from webapp.store.object_storage import files

# What is made again by itself: queues (the store knows what waits), logs, packed static files.
_LEFT_OUT = frozenset({"traffic-uploads", "valkey", "logs", "static", "packed", "beat-schedule"})
_DERIVED = frozenset({".derived", ".spill"})
_DATABASE = "nephoscope.sqlite3"
_OF_A_PROCESS = (".sock", ".pid", ".tmp", ".part")


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds."""

    folder: Path
    files: int
    octets: int
    with_database: bool


def back_up(folder: Path) -> Copied:
    """Copy the installation's data; raises ``BadInput`` for a folder that cannot take them."""
    data, target = settings.DATA_DIR, folder.resolve()
    _check(data, target)
    unfinished = target.with_name(f"{target.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    with_database = copy_database(unfinished / _DATABASE)
    # The copy is whole without the object storage.
    files.fetch_all(data)
    for entry in sorted(data.iterdir()):
        _copy(entry, unfinished / entry.name)
    unfinished.rename(target)
    found = [path for path in target.rglob("*") if path.is_file()]
    return Copied(target, len(found), sum(p.stat().st_size for p in found), with_database)


def _check(data: Path, target: Path) -> None:
    if target.exists():
        raise BadInput(f"{target} is there already; name a folder that is not")
    if not target.parent.is_dir():
        raise BadInput(f"there is no folder {target.parent}")
    if target.is_relative_to(data):
        raise BadInput(f"{target} is in the data folder itself; name one elsewhere")


def _copy(entry: Path, target: Path) -> None:
    if entry.name.split(".")[0] in _LEFT_OUT or entry.name.startswith(_DATABASE):
        return
    if entry.is_dir():
        shutil.copytree(entry, target, ignore=_ignored, copy_function=_copy_file)
    elif stat.S_ISREG(entry.stat().st_mode):
        _copy_file(str(entry), str(target))


def _ignored(folder: str, names: Iterable[str]) -> set[str]:
    return {n for n in names if n in _DERIVED or n.endswith(_OF_A_PROCESS)}


def _copy_file(source: str, target: str) -> None:
    try:
        shutil.copy2(source, target)
    except FileNotFoundError:
        # Renamed or deleted since the folder was read; the database's copy does not need it, or
        # knows it by its lasting name.
        return
