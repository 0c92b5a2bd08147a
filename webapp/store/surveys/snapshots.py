"""Content-addressed snapshots of a survey's tables, for permanent links.

Tables may be recomputed; a snapshot stays as it was. Its id is a hash of the contents.
"""

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from webapp.store.object_storage import files
from webapp.store.surveys.selectors import ReportRow, reports

_ID = re.compile(r"[0-9a-f]{16}")
# Stored parts of a table; titles, sources and published figures belong to the product.
_KEPT = ("columns", "rows", "n", "headline", "method", "checks", "computed_at")


def root() -> Path:
    """Where all snapshots stand, a folder for each survey."""
    return Path(settings.LAKE_DIR) / ".snapshots"


def identify(tables: Mapping[str, ReportRow]) -> str:
    """The id of these tables; empty without any."""
    return hashlib.sha256(_write(tables)).hexdigest()[:16] if tables else ""


def open_snapshot(slug: str, key: str) -> dict[str, ReportRow] | None:
    """Return the tables of a snapshot; the present tables are stored on first request.

    ``None`` for an unknown id.
    """
    if not _ID.fullmatch(key):
        return None
    now = reports(slug)
    path = root() / slug / f"{key}.json.gz"
    if identify(now) == key:
        _store(path, now)
        return now
    files.fetch(path)
    return _read(path, now) if path.exists() else None


def _write(tables: Mapping[str, ReportRow]) -> bytes:
    rows = {name: asdict(row) for name, row in tables.items()}
    kept = {name: {part: row[part] for part in _KEPT} for name, row in rows.items()}
    return json.dumps(kept, sort_keys=True, default=datetime.isoformat).encode()


def _store(path: Path, tables: Mapping[str, ReportRow]) -> None:
    if not path.exists():
        files.write(path, gzip.compress(_write(tables), 6, mtime=0))


def _read(path: Path, now: Mapping[str, ReportRow]) -> dict[str, ReportRow]:
    """The kept tables, in the order of the present ones."""
    kept: dict[str, dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))
    found = {}
    for name in (n for n in now if n in kept):
        row = kept[name] | {"computed_at": datetime.fromisoformat(kept[name]["computed_at"])}
        found[name] = replace(now[name], **row)
    return found
