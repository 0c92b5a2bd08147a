"""Files that several machines share: the manifest in the database, copies on each machine's disk.

A file of the data folder is published when it is written and fetched where it is read. Its row
names its object, with size and SHA-256. The copy on a disk is one that the row describes where
size and time of modification agree; any copy may be removed at any time. Without
``NEPHOSCOPE_LAKE_URL`` all of this does nothing.
"""

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum

from core.errors import NephoscopeError, Unavailable
from core.files import replace_file, replace_folder
from webapp.store.models import StoredFile
from webapp.store.object_storage import bucket

# A database that is restored as it was some days ago still finds its objects.
GRACE = timedelta(days=7)
# Folders of the data folder with files that are read once and then erased, since they contain
# addresses of clients: no machine and no backup has copies of all of them.
READ_ONCE = ("traffic-uploads",)


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
    if is_configured():
        _register(path, _upload(written, path))


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
            if path.is_file() and not _is_private(path, folder) and _relative(path) not in known:
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
    """Copy all files below a folder but those that are read once; raises as ``fetch``."""
    if is_configured():
        rows = _below(folder)
        for name in READ_ONCE:
            rows = rows.exclude(path__startswith=f"{name}/")
        _fetch_rows(rows)


def publish_folder(work: Path, folder: Path) -> None:
    """Store the files of ``work``, which will be renamed to ``folder``, in its place.

    Other machines see all of them or, as after an error, those of before. Raises ``Unavailable``.
    """
    if not is_configured():
        return
    written = [path for path in sorted(work.rglob("*")) if path.is_file()]
    places = [folder / path.relative_to(work) for path in written]
    stored = [_upload(path, place) for path, place in zip(written, places, strict=True)]
    with transaction.atomic():
        _below(folder).exclude(path__in=map(_relative, places)).delete()
        for place, values in zip(places, stored, strict=True):
            _register(place, values)


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


def stored_of(paths: Iterable[Path]) -> set[Path]:
    """Those of some files that are in the manifest or, without object storage, on the disk."""
    if not is_configured():
        return {path for path in paths if path.is_file()}
    places = {_relative(path): path for path in paths}
    rows = StoredFile.objects.filter(path__in=places).values_list("path", flat=True)
    return {places[found] for found in rows}


def stored_named(name: str, root: Path) -> list[Path]:
    """Files of this name in folders of ``root``, the newest first; as ``stored_of``."""
    if not is_configured():
        found = {path: path.stat().st_mtime_ns for path in root.glob(f"*/{name}")}
    else:
        rows = StoredFile.objects.filter(folder__startswith=f"{_relative(root)}/")
        rows = rows.filter(path__endswith=f"/{name}")
        found = {Path(settings.DATA_DIR) / row.path: row.modified_ns for row in rows}
        found = {path: at for path, at in found.items() if path.parent.parent == root}
    return sorted(found, key=found.__getitem__, reverse=True)


def stored_in(folder: Path) -> list[Path]:
    """Paths of all files below a folder that are in the manifest or on this machine, by name."""
    found = {path for path in folder.rglob("*") if path.is_file() and not _is_private(path, folder)}
    if is_configured():
        found.update(Path(settings.DATA_DIR) / row.path for row in _below(folder))
    return sorted(found)


def old_folders(root: Path, oldest: float) -> list[Path]:
    """Folders in ``root``, here or in the manifest, from before ``oldest``, in s since 1970."""
    found = {path for path in root.glob("*") if path.is_dir() and path.stat().st_mtime < oldest}
    if is_configured():
        n_parts = len(root.relative_to(settings.DATA_DIR).parts) + 1
        rows = _below(root).filter(modified_ns__lt=oldest * 1e9).values_list("folder", flat=True)
        names = ("/".join(name.split("/")[:n_parts]) for name in rows.distinct())
        found.update(Path(settings.DATA_DIR) / name for name in names)
        found.discard(root)
    return sorted(found)


def drop_older(folder: Path, oldest: float) -> list[tuple[int, int, Path]]:
    """Remove the files of a folder last written before ``oldest``, a time in s since 1970.

    Return (time of writing in ns, bytes, path) of the others, the newest first.
    """
    here = [(path.stat(), path) for path in folder.glob("*") if path.is_file()]
    found = [(about.st_mtime_ns, about.st_size, path) for about, path in here]
    for changed_ns, _, path in found:
        # Also copies of what another machine has removed.
        if changed_ns < oldest * 1e9:
            remove(path)
    if is_configured():
        rows = StoredFile.objects.filter(folder=_relative(folder))
        remove(*(Path(settings.DATA_DIR) / row.path for row in rows if _is_older(row, oldest)))
        found = [(row.modified_ns, row.size, Path(settings.DATA_DIR) / row.path) for row in rows]
    return sorted((one for one in found if one[0] >= oldest * 1e9), reverse=True)


def _is_older(row: StoredFile, oldest: float) -> bool:
    return row.modified_ns < oldest * 1e9


def remove(*places: Path) -> None:
    """Remove files or folders here and from the manifest; their objects become garbage."""
    unregister(*places)
    for place in places:
        if place.is_dir():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink(missing_ok=True)


def erase(*places: Path) -> None:
    """Remove files or folders at once with their objects; raises ``Unavailable``.

    A row is removed after its object: what was interrupted is found and erased again.
    """
    if is_configured():
        for place in places:
            for row in _below(place):
                bucket.delete(row.key)
                StoredFile.objects.filter(pk=row.pk, key=row.key).delete()
    remove(*places)


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


def _upload(written: Path, path: Path) -> dict[str, Any]:
    """Store an object; return the values of the row of ``path``."""
    key, sha256, size = bucket.upload(written)
    return {
        "folder": _relative(path).rpartition("/")[0],
        "key": key,
        "sha256": sha256,
        "size": size,
        "modified_ns": written.stat().st_mtime_ns,
    }


def _register(path: Path, values: dict[str, Any]) -> None:
    StoredFile.objects.update_or_create(path=_relative(path), defaults=values)


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


def _is_private(path: Path, folder: Path) -> bool:
    """Whether a file below a folder is temporary or derived; snapshots cannot be built again."""
    parts = path.relative_to(folder).parts
    return any(part.startswith(".") and part != ".snapshots" for part in parts)
