"""Files that several machines share: the manifest in the database, copies on each machine's disk.

A file of the data folder is published when it is written and fetched where it is read. Its row
names its object, with size and SHA-256. The copy on a disk is one that the row describes where
size and time of modification agree; any copy may be removed at any time. Without
``NEPHOSCOPE_LAKE_URL`` all of this does nothing.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Q, QuerySet, Sum

from core.errors import NephoscopeError, Unavailable
from core.files import replace_file, replace_folder
from webapp.store.models import StoredFile
from webapp.store.object_storage import bucket

# A database that is restored as it was some days ago still finds its objects.
GRACE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Collected:
    """What a garbage collection removed."""

    objects: int
    octets: int


def is_configured() -> bool:
    """Whether files are shared by object storage."""
    return bool(settings.LAKE_URL)


def publish(written: Path, path: Path) -> None:
    """Store the file ``written`` as the content of ``path``; raises ``Unavailable``.

    Call it before ``written`` is renamed to ``path``: what is in place is then in the manifest.
    """
    if not is_configured():
        return
    key, sha256, size = bucket.upload(written)
    relative = _relative(path)
    StoredFile.objects.update_or_create(
        path=relative,
        defaults={
            "folder": relative.rpartition("/")[0],
            "key": key,
            "sha256": sha256,
            "size": size,
            "modified_ns": written.stat().st_mtime_ns,
        },
    )


def write(path: Path, data: bytes) -> None:
    """Replace a file of the data folder and publish it; raises ``OSError`` and ``Unavailable``."""
    with replace_file(path) as temporary:
        temporary.write_bytes(data)
        publish(temporary, path)


def publish_missing(folders: Iterable[Path]) -> int:
    """Publish the files below these folders that have no row; return how many."""
    n = 0
    for folder in folders:
        known = set(_below(folder).values_list("path", flat=True))
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file() and not _is_private(path) and _relative(path) not in known:
                publish(path, path)
                n += 1
    return n


def fetch(path: Path) -> None:
    """Copy a file from the storage unless its copy here is current.

    Raises ``Damaged``, ``MissingData`` and ``Unavailable``. A file without a row is left as it is.
    """
    if is_configured():
        _fetch_rows(StoredFile.objects.filter(path=_relative(path)))


def fetch_folder(folder: Path) -> None:
    """Copy the files of a folder, without those of folders in it; raises as ``fetch``."""
    if is_configured():
        _fetch_rows(StoredFile.objects.filter(folder=_relative(folder)))


def fetch_all(folder: Path) -> None:
    """Copy all files below a folder; raises as ``fetch``."""
    if is_configured():
        _fetch_rows(_below(folder))


def publish_folder(work: Path, folder: Path) -> None:
    """Store the files of ``work``, which will be renamed to ``folder``, in its place.

    Raises ``Unavailable``.
    """
    if not is_configured():
        return
    written = [path for path in sorted(work.rglob("*")) if path.is_file()]
    for path in written:
        publish(path, folder / path.relative_to(work))
    kept = [_relative(folder / path.relative_to(work)) for path in written]
    _below(folder).exclude(path__in=kept).delete()


def fetch_whole(folder: Path) -> bool:
    """Copy a folder that is not here, and put it in place at once; whether it is stored.

    Raises as ``fetch``.
    """
    rows = list(_below(folder)) if is_configured() else []
    if rows:
        with replace_folder(folder) as work:
            for row in rows:
                _copy(row, work / (Path(settings.DATA_DIR) / row.path).relative_to(folder))
    return bool(rows)


def unregister(*places: Path) -> None:
    """Take files, or all below folders, out of the manifest; their objects become garbage."""
    if is_configured():
        for place in places:
            _below(place).delete()


def unregister_containing(text: str) -> None:
    """Take all files with a text in their path out of the manifest."""
    if is_configured():
        StoredFile.objects.filter(path__contains=text).delete()


def collect_garbage(now: datetime) -> Collected:
    """Remove objects that no row names, once they are older than the grace; raises ``Unavailable``.

    The bucket is listed before rows are read, and a key is never named twice: an object without a
    row gets none any more.
    """
    old = [found for found in bucket.list_objects() if found.modified_at < now - GRACE]
    named = set(StoredFile.objects.values_list("key", flat=True))
    garbage = [found for found in old if found.key not in named]
    for found in garbage:
        bucket.delete(found.key)
    return Collected(len(garbage), sum(found.size for found in garbage))


def sizes() -> tuple[int, int]:
    """Number of files in the manifest and their bytes."""
    found = StoredFile.objects.aggregate(n=Count("pk"), octets=Sum("size"))
    return found["n"], found["octets"] or 0


def find_faults(with_contents: bool) -> Iterator[tuple[str, str]]:
    """Yield (path, fault) of rows with an object that is gone, of another size, or damaged.

    Objects are read as a whole for their SHA-256 where ``with_contents`` is set.
    """
    sizes = {found.key: found.size for found in bucket.list_objects()}
    for row in StoredFile.objects.order_by("path").iterator(chunk_size=1000):
        if row.key not in sizes:
            yield row.path, "its object is gone"
        elif sizes[row.key] != row.size:
            yield row.path, f"its object has {sizes[row.key]:,} bytes instead of {row.size:,}"
        elif with_contents and (fault := _read_fault(row)):
            yield row.path, fault


def _read_fault(row: StoredFile) -> str:
    try:
        bucket.download(row.key, row.sha256, Path(os.devnull))
    except NephoscopeError as error:
        return str(error)
    return ""


def _fetch_rows(rows: QuerySet[StoredFile]) -> None:
    for row in rows:
        path = Path(settings.DATA_DIR) / row.path
        if not _is_current(path, row):
            _copy(row, path)


def _is_current(path: Path, row: StoredFile) -> bool:
    try:
        about = path.stat()
    except OSError:
        return False
    return (about.st_size, about.st_mtime_ns) == (row.size, row.modified_ns)


def _copy(row: StoredFile, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as temporary:
            bucket.download(row.key, row.sha256, temporary)
            os.utime(temporary, ns=(row.modified_ns, row.modified_ns))
    except OSError as error:
        raise Unavailable(f"cannot write {path.name}: {error.strerror or error}") from error


def _below(place: Path) -> QuerySet[StoredFile]:
    relative = _relative(place)
    if relative == ".":
        return StoredFile.objects.all()
    return StoredFile.objects.filter(Q(path=relative) | Q(path__startswith=f"{relative}/"))


def _relative(path: Path) -> str:
    return path.relative_to(settings.DATA_DIR).as_posix()


def _is_private(path: Path) -> bool:
    """Whether a file is temporary or derived, which is built again; snapshots cannot be."""
    parts = path.relative_to(settings.DATA_DIR).parts
    return any(part.startswith(".") and part != ".snapshots" for part in parts)
