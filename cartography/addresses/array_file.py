"""Write compiled tables to files of arrays that are mapped into memory.

A file has a header with a digest, a JSON document and named arrays; a file that does not match its
digest is refused.
"""

import hashlib
import json
import mmap
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import BadInput
from core.files import replace_file

_MAGIC = b"NEPHMAP1"
# Arrays begin where cache lines and vector loads do.
_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An opened file; the arrays are read-only views of the mapped pages."""

    kind: str
    arrays: Mapping[str, NDArray[Any]]
    document: dict[str, Any]
    digest: str


def write_snapshot(
    path: Path, kind: str, arrays: Mapping[str, NDArray[Any]], document: Mapping[str, Any]
) -> str:
    """Write a file under a temporary name and rename it; returns the digest of its contents."""
    rows: list[dict[str, Any]] = []
    digest, at = hashlib.sha256(), 0
    for name, array in arrays.items():
        at += -at % _ALIGNMENT
        rows.append({"name": name, "type": array.dtype.str, "size": len(array), "at": at})
        at += array.nbytes
        digest.update(_buffer(array))
    head = {"kind": kind, "arrays": rows, "document": dict(document)}
    digest.update(_dump(head))
    header = _dump({**head, "sha256": digest.hexdigest()})
    with replace_file(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + len(header).to_bytes(8, "little") + header)
        begin = file.tell() + -file.tell() % _ALIGNMENT
        for row, array in zip(rows, arrays.values(), strict=True):
            file.seek(begin + row["at"])
            file.write(_buffer(array))
        file.truncate(max(begin + at, file.tell()))
    return digest.hexdigest()


def open_snapshot(path: Path) -> Snapshot:
    """Map a file; raises ``BadInput`` when it is damaged, ``OSError`` when it is not there."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) if size else b""
    try:
        return _read(memoryview(view))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"the compiled table {path.name} is damaged: {error}") from error


def _read(view: memoryview) -> Snapshot:
    if bytes(view[:8]) != _MAGIC:
        raise ValueError("it does not begin as one")
    size = int.from_bytes(view[8:16], "little")
    header = json.loads(bytes(view[16 : 16 + size]))
    begin = 16 + size + -(16 + size) % _ALIGNMENT
    claimed, digest = header.pop("sha256"), hashlib.sha256()
    arrays: dict[str, NDArray[Any]] = {}
    for row in header["arrays"]:
        kind = np.dtype(row["type"])
        array = np.frombuffer(view, dtype=kind, count=row["size"], offset=begin + row["at"])
        arrays[row["name"]] = array
        digest.update(_buffer(array))
    digest.update(_dump(header))
    if digest.hexdigest() != claimed:
        raise ValueError("its digest is another")
    return Snapshot(header["kind"], arrays, header["document"], claimed)


def _buffer(array: Any) -> memoryview:
    # The same bytes as the array's own, which the type checker does not know for a buffer.
    whole: Any = np.ascontiguousarray(array)
    return memoryview(whole).cast("B") if len(array) else memoryview(b"")


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), sort_keys=True).encode()
