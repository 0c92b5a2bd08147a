"""Domain lists between the plan and the run: kept for a day, by a key of their sender."""

import re
import secrets
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from core.errors import BadInput

KEPT = timedelta(days=1)


def save_draft(data: bytes) -> str:
    """Keep ``data`` and return its key, which nobody else can guess, not even from the list."""
    key = secrets.token_hex(32)
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    _drop_old(folder)
    temporary = folder / f"{key}.tmp"
    temporary.write_bytes(data)
    temporary.replace(folder / f"{key}.list")
    return key


def load_draft(key: str) -> bytes:
    """The list of a key; raises ``BadInput`` when it is not there any more."""
    path = _folder() / f"{key}.list"
    if not re.fullmatch(r"[0-9a-f]{64}", key) or not path.exists():
        raise BadInput("this plan is older than a day and its list is gone; send the list again")
    return path.read_bytes()


def _folder() -> Path:
    return Path(settings.UPLOADS_DIR) / "drafts"


def _drop_old(folder: Path) -> None:
    oldest = (timezone.now() - KEPT).timestamp()
    for path in folder.glob("*.list"):
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
