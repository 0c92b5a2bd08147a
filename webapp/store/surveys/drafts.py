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
from core.files import write_bytes

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
    folder.mkdir(parents=True, exist_ok=True)
    own = hashlib.blake2b(sender.encode(), key=settings.SECRET_KEY.encode()[:64], digest_size=8)
    _drop_old(folder, own.hexdigest(), len(data))
    write_bytes(folder / f"{key}.{own.hexdigest()}.list", data)
    return key


def load_draft(key: str) -> bytes:
    """The list of a key; raises ``BadInput`` when it is not there any more."""
    found = list(_folder().glob(f"{key}.*list")) if re.fullmatch(r"[0-9a-f]{64}", key) else []
    try:
        return found[0].read_bytes()
    except (IndexError, FileNotFoundError):
        raise BadInput(
            "this plan is older than a day, or newer ones took its place: send the list again"
        ) from None


def _folder() -> Path:
    return Path(settings.UPLOADS_DIR) / "drafts"


def _drop_old(folder: Path, sender: str, size: int) -> None:
    oldest = (timezone.now() - KEPT).timestamp()
    kept = []
    for path in folder.iterdir():
        try:
            about = path.stat()
        except FileNotFoundError:
            continue  # another request has dropped it
        if about.st_mtime < oldest:
            path.unlink(missing_ok=True)
        elif path.suffix == ".list":
            kept.append((about.st_mtime_ns, about.st_size, path))
    kept.sort(reverse=True)
    own = [row for row in kept if row[2].name.endswith(f".{sender}.list")]
    for _, _, path in own[MOST_OF_SENDER - 1 :]:
        path.unlink(missing_ok=True)
    _drop_beyond(own, MOST_BYTES_OF_SENDER - size)
    _drop_beyond(kept, MOST_BYTES - size)


def _drop_beyond(rows: Iterable[tuple[int, int, Path]], most: int) -> None:
    """Drop those behind the first that reach ``most`` octets together."""
    total = 0
    for _, size, path in rows:
        total += size
        if total > most:
            path.unlink(missing_ok=True)
