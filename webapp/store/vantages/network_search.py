"""Searches at public networks and their results, stored for a day by a secret key.

A worker fills it in; pages and API read it as often as they like.
"""

import json
import re
import secrets
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import timezone

from webapp.store.object_storage import files

KEPT = timedelta(days=1)
WAITING, ASKING, READY, FAILED = "waiting", "asking", "ready", "failed"
Search = dict[str, Any]


def create_search(wanted: dict[str, Any]) -> Search:
    """A new one that waits for a worker."""
    _drop_old()
    search: Search = {"key": secrets.token_hex(16), "state": WAITING, "wanted": wanted, "error": ""}
    search |= {"credits": None, "credits_error": "", "places": [], "matching": 0}
    search |= {"asked_at": timezone.now().isoformat(), "said_at": None}
    save(search)
    return search


def load(key: str) -> Search | None:
    """One by its key, if it is not too old."""
    if not re.fullmatch("[0-9a-f]{32}", key):
        return None
    files.fetch(_path(key))
    try:
        return dict(json.loads(_path(key).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def save(search: Search) -> None:
    """Replace what is known."""
    files.write(_path(search["key"]), json.dumps(search).encode())


def _path(key: str) -> Path:
    return Path(settings.UPLOADS_DIR) / "finds" / f"{key}.json"


def _drop_old() -> None:
    oldest = (timezone.now() - KEPT).timestamp()
    files.drop_older(Path(settings.UPLOADS_DIR) / "finds", oldest)
