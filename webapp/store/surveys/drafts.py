"""What was planned and not started yet, lists of domains mostly, kept for a day by a key.

So many of each sender and of all are kept, the newest ones.
"""

import hashlib
import re
import secrets
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from core.errors import BadInput
from webapp.store.object_storage import files

KEPT = timedelta(days=1)
# Lists of one sender, and octets of one and of all.
MOST_OF_SENDER, MOST_BYTES_OF_SENDER = 20, 32_000_000
MOST_BYTES = 512_000_000


def save_draft(data: bytes, sender: str = "") -> str:
    """Store ``data`` and return its unguessable key.

    The oldest of this ``sender``, and then the oldest of all, make space for it.
    """
    key = secrets.token_hex(32)
    folder = _folder()
    own = hashlib.blake2b(sender.encode(), key=settings.SECRET_KEY.encode()[:64], digest_size=8)
    _drop_old(folder, own.hexdigest(), len(data))
    files.write(folder / f"{key}.{own.hexdigest()}.list", data)
    return key


def load_draft(key: str) -> bytes:
    """The list of a key; raises ``BadInput`` when it is not there any more."""
    known = files.stored_in(_folder()) if re.fullmatch(r"[0-9a-f]{64}", key) else []
    found = [path for path in known if path.name.startswith(f"{key}.")]
    try:
        files.fetch(found[0])
        return found[0].read_bytes()
    except (IndexError, FileNotFoundError):
        raise BadInput(
            "this plan is older than a day, or newer ones took its place: send the list again"
        ) from None


def _folder() -> Path:
    return Path(settings.UPLOADS_DIR) / "drafts"


def _drop_old(folder: Path, sender: str, size: int) -> None:
    oldest = (timezone.now() - KEPT).timestamp()
    kept = files.drop_older(folder, oldest)
    own = [row for row in kept if row[2].name.endswith(f".{sender}.list")]
    files.remove(*(path for _, _, path in own[MOST_OF_SENDER - 1 :]))
    _drop_beyond(own, MOST_BYTES_OF_SENDER - size)
    _drop_beyond(kept, MOST_BYTES - size)


def _drop_beyond(rows: Iterable[tuple[int, int, Path]], most: int) -> None:
    """Drop those behind the first that reach ``most`` octets together."""
    total = 0
    for _, size, path in rows:
        total += size
        if total > most:
            files.remove(path)
