"""Bodies of reports in append-only pack files, located by file, offset and length.

Each process appends to its own files, so that no lock is needed; incomplete writes of a killed
process are beyond all stored offsets.
"""

import itertools
import json
import os
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from core.errors import Damaged, MissingData
from core.files import DamagedStream, decompress, sync_folder
from webapp.store.object_storage import files

LEVEL = 1
# A pack is closed at this size, so that a copy or a backup never meets one huge file.
MOST_BYTES = 256_000_000
# Bodies are bounded when they arrive; a pack that was altered may not ask for more memory.
LONGEST_BODY = 16_000_000
OURS = uuid.uuid4().hex[:12]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a body lies."""

    pack: str
    offset: int
    length: int


def folder_of(pool: int) -> Path:
    """Where the bodies of one pool lie."""
    return Path(settings.DATA_DIR) / "screening" / str(pool)


def append(pool: int, bodies: Sequence[bytes]) -> list[Place]:
    """Write compressed bodies and sync them to disk before returning their positions."""
    if not bodies:
        return []
    folder = folder_of(pool)
    folder.mkdir(parents=True, exist_ok=True)
    if files.is_configured():
        return _store(folder, bodies)
    name = _choose(folder)
    is_new = not (folder / name).exists()
    places = []
    with (folder / name).open("ab") as file:
        offset = file.seek(0, os.SEEK_END)
        for body in bodies:
            file.write(body)
            places.append(Place(name, offset, len(body)))
            offset += len(body)
        file.flush()
        os.fdatasync(file.fileno())
    if is_new:
        sync_folder(folder)
    return places


def _store(folder: Path, bodies: Sequence[bytes]) -> list[Place]:
    """Write a pack of its own for bodies that arrived together: objects never grow."""
    path = folder / f"{uuid.uuid4().hex}.pack"
    files.write(path, b"".join(bodies))
    ends = list(itertools.accumulate(map(len, bodies)))
    return [
        Place(path.name, end - len(body), len(body)) for end, body in zip(ends, bodies, strict=True)
    ]


def _choose(folder: Path) -> str:
    number = 0
    # A forked server process has the same OURS but another pid.
    while (path := folder / f"{OURS}-{os.getpid()}-{number:04d}.pack").exists():
        if path.stat().st_size < MOST_BYTES:
            break
        number += 1
    return path.name


def compress(body: bytes) -> bytes:
    """What :func:`append` takes."""
    return zlib.compress(body, LEVEL)


def read(pool: int, place: Place) -> bytes:
    """The body that lies there; OSError or ValueError when the file was lost or altered.

    Raises ``Unavailable`` where object storage does not answer.
    """
    path = folder_of(pool) / Path(place.pack).name
    try:
        files.fetch(path)
    except (Damaged, MissingData) as error:
        raise ValueError(str(error)) from error
    with path.open("rb") as file:
        file.seek(place.offset)
        data = file.read(place.length)
    try:
        return decompress(data, LONGEST_BODY)
    except DamagedStream as error:
        raise ValueError(f"the pack is damaged: {error}") from None


def read_document(pool: int, place: Place) -> dict[str, Any]:
    """The report that lies there."""
    document: dict[str, Any] = json.loads(read(pool, place))
    return document
