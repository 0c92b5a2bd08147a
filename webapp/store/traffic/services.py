"""Store and delete uploads of traffic logs, and separate private imports from public ones."""

import hashlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from core.errors import BadInput, Conflict, Unavailable
from core.files import TooLarge, replace_file
from webapp.store.access.visibility import visible
from webapp.store.leases import JobTable, requested
from webapp.store.models import TrafficUpload
from webapp.store.object_storage import files as stored_files
from webapp.store.object_storage import nameless
from webapp.store.requests.idempotency import KeyReused, check_key
from webapp.store.requests.texts import slug_of

State = TrafficUpload.State
UPLOADS = JobTable(TrafficUpload)
# Uploads of an account that wait or run, and all that it keeps.
MAX_OPEN, MAX_KEPT = 2, 100
MAX_FILES = 12
MAX_BYTES = 64 * 2**20
# Of all files of an upload together, unpacked.
MAX_PLAIN_BYTES = 512 * 2**20
_NAME_CHARACTERS = 100
# A file in the import of an upload, which its owner alone may see.
PRIVATE = "private"
# Files without a row that are older were left by a process that ended amid an upload.
_ORPHAN_S = 3_600


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a request: its name as sent, and its bytes in pieces."""

    name: str
    pieces: Iterable[bytes]


def imports_root() -> Path:
    """The folder of all imports of logs, by name."""
    return Path(settings.DATA_DIR) / "packets"


def _uploads_root() -> Path:
    return Path(settings.DATA_DIR) / "traffic-uploads"


def create(
    owner: Any,
    name: str,
    sent: Sequence[SentFile],
    options: Mapping[str, Any],
    idempotency_key: str | None = None,
) -> TrafficUpload:
    """Store files to import; raises ``BadInput``, ``TooLarge`` and ``Conflict``.

    The same key with the same files and options returns the earlier upload.
    """
    check_key(idempotency_key)
    _check_sent(sent)
    title = name.strip()[:_NAME_CHARACTERS] or _title_of(sent[0].name)
    slug = slug_of(title, "capture")
    folder = _uploads_root() / slug
    is_stored = False
    try:
        files = list(_write_files(folder, sent))
        row = TrafficUpload(
            slug=slug,
            owner=owner,
            name=title,
            files=files,
            options=dict(options),
            idempotency_key=idempotency_key or None,
            **requested(),
        )
        known = _add(row)
        is_stored = known is None
        return known or row
    finally:
        if not is_stored:
            _erase(folder)


def _check_sent(sent: Sequence[SentFile]) -> None:
    if not sent:
        raise BadInput("choose at least one file", field="files")
    if len(sent) > MAX_FILES:
        raise BadInput(f"an import has at most {MAX_FILES} files", field="files")


def _title_of(name: str) -> str:
    return _file_name(name).removesuffix(".gz").rpartition(".")[0] or _file_name(name)


def _file_name(name: str) -> str:
    """The name of a sent file without folders and control characters."""
    base = name.replace("\\", "/").rpartition("/")[2]
    kept = "".join(c for c in base if c.isprintable())[-_NAME_CHARACTERS:].strip(". ")
    return kept or "log"


def _write_files(folder: Path, sent: Iterable[SentFile]) -> Iterator[dict[str, Any]]:
    left = MAX_BYTES
    for number, one in enumerate(sent):
        with _new_file(folder / str(number)) as temporary:
            size, digest = _write(temporary, one.pieces, left)
        left -= size
        yield {"name": _file_name(one.name), "bytes": size, "sha256": digest}


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file to write: kept as ``path`` here, or in object storage alone."""
    if stored_files.is_configured():
        with nameless.new_file(_uploads_root()) as temporary:
            yield temporary
            stored_files.publish(temporary, path)
    else:
        with replace_file(path, private=True) as temporary:
            yield temporary


def _write(path: Path, pieces: Iterable[bytes], max_bytes: int) -> tuple[int, str]:
    """Write a file and return its size and SHA-256; raises ``TooLarge``."""
    size, digest = 0, hashlib.sha256()
    with path.open("wb") as file:
        for piece in pieces:
            size += len(piece)
            if size > max_bytes:
                raise TooLarge(f"the files have more than {MAX_BYTES // 2**20} MiB", field="files")
            digest.update(piece)
            file.write(piece)
    return size, digest.hexdigest()


def _add(row: TrafficUpload) -> TrafficUpload | None:
    """Store a row, or return the earlier one of its key; raises ``Conflict`` and ``KeyReused``."""
    known = _by_key(row)
    if known is None:
        _check_limits(row.owner)
        try:
            with transaction.atomic():
                row.save()
        except IntegrityError:
            # Another request with this key was faster.
            known = _by_key(row)
            if known is None:
                raise
    return known


def _by_key(row: TrafficUpload) -> TrafficUpload | None:
    if row.idempotency_key is None:
        return None
    own = TrafficUpload.objects.filter(owner=row.owner, idempotency_key=row.idempotency_key)
    known = own.first()
    same = known is None or (known.files, known.options) == (row.files, row.options)
    if not same:
        raise KeyReused
    return known


def _check_limits(owner: Any) -> None:
    own = TrafficUpload.objects.filter(owner=owner)
    if own.filter(state__in=(State.WAITING, State.RUNNING)).count() >= MAX_OPEN:
        raise Conflict(f"{MAX_OPEN} of your uploads have not ended; try again when one has")
    if own.count() >= MAX_KEPT:
        raise Conflict(f"an account has at most {MAX_KEPT} uploads of traffic; delete one first")


@contextmanager
def open_files(row: TrafficUpload) -> Iterator[list[tuple[Path, str]]]:
    """Path and name of each file of an upload, to be read while the context is open.

    Raises as ``nameless.copies_of``.
    """
    folder = _uploads_root() / row.slug
    sent = [(folder / str(number), str(one["name"])) for number, one in enumerate(row.files)]
    with nameless.copies_of(sent) as copies:
        yield copies


def remove_files(row: TrafficUpload) -> None:
    """Remove the files as they were sent: they contain addresses of clients.

    Where object storage does not answer, ``remove_orphans`` removes them later.
    """
    _erase(_uploads_root() / row.slug)


def _erase(folder: Path) -> None:
    with suppress(Unavailable):
        stored_files.erase(folder)


def import_folder(row: TrafficUpload) -> Path:
    """The folder with the import of an upload."""
    return imports_root() / row.slug


def delete(row: TrafficUpload) -> None:
    """Delete an upload with its files and its import; a worker that reads it stops."""
    TrafficUpload.objects.filter(pk=row.pk).delete()
    remove_files(row)
    remove_import(row)


def remove_import(row: TrafficUpload) -> None:
    """Remove what was imported."""
    stored_files.remove(import_folder(row))


def remove_orphans() -> None:
    """Remove files of uploads that have ended, and files and imports of uploads without a row."""
    open_rows = TrafficUpload.objects.filter(state__in=(State.WAITING, State.RUNNING))
    wanted = set(open_rows.values_list("slug", flat=True))
    oldest = time.time() - _ORPHAN_S
    for folder in stored_files.old_folders(_uploads_root(), oldest):
        if folder.name not in wanted:
            _erase(folder)
    known = set(TrafficUpload.objects.values_list("slug", flat=True))
    old = [
        folder
        for folder in stored_files.old_folders(imports_root(), oldest)
        if folder.name not in known
    ]
    for mark in stored_files.stored_of(folder / PRIVATE for folder in old):
        stored_files.remove(mark.parent)


def find(slug: str, user: Any) -> TrafficUpload | None:
    """The upload of this name, for its owner."""
    return visible(TrafficUpload.objects.filter(slug=slug), user).first()


def uploads_of(user: Any) -> list[TrafficUpload]:
    """Uploads of a user, newest first; none without an account."""
    if user is None or not user.is_authenticated:
        return []
    return list(TrafficUpload.objects.filter(owner=user.pk))


def hidden(names: Collection[str], user: Any) -> set[str]:
    """The names of imports that the reader may not see.

    The import of an upload has a mark: it stays hidden where the upload's row is deleted.
    """
    own = TrafficUpload.objects.filter(slug__in=names)
    private = set(own.values_list("slug", flat=True))
    marks = stored_files.stored_of(imports_root() / name / PRIVATE for name in names)
    private |= {mark.parent.name for mark in marks}
    return private - set(visible(own, user).values_list("slug", flat=True))
