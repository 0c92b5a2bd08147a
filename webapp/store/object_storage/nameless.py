"""Copies of files that end with the process that reads or writes them, also when it is killed.

Uploads with addresses of clients pass through object storage in them: no machine keeps a copy.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from django.conf import settings

from core.errors import MissingData, Unavailable
from webapp.store.models import StoredFile
from webapp.store.object_storage import bucket, files

_DESCRIPTORS = Path("/proc/self/fd")


@contextmanager
def new_file(folder: Path) -> Iterator[Path]:
    """Yield the path of an empty file on the file system of ``folder``, of which no name is left.

    The path is valid in this process alone. Systems without ``/proc`` give the file a name, which
    is removed at the end. Raises ``Unavailable`` where the disk refuses.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made = tempfile.TemporaryFile if _DESCRIPTORS.is_dir() else tempfile.NamedTemporaryFile
        file = made(dir=folder)
    except OSError as error:
        raise Unavailable(f"cannot write a temporary file: {error.strerror or error}") from error
    with file:
        name = file.name
        yield _DESCRIPTORS / str(file.fileno()) if isinstance(name, int) else Path(name)


@contextmanager
def copies_of(stored: Sequence[tuple[Path, str]]) -> Iterator[list[tuple[Path, str]]]:
    """Yield, for each path and name of a stored file, the path of a nameless copy with the name.

    Without object storage they are the files' own paths. Raises as ``files.fetch``, and
    ``MissingData`` with the name of a file that is not in the manifest.
    """
    if not files.is_configured():
        yield list(stored)
        return
    with ExitStack() as held:
        yield [(_copy(path, name, held), name) for path, name in stored]


def _copy(path: Path, name: str, held: ExitStack) -> Path:
    relative = path.relative_to(settings.DATA_DIR).as_posix()
    row = StoredFile.objects.filter(path=relative).first()
    if row is None:
        raise MissingData(f"the stored file {name} is gone")
    copy = held.enter_context(new_file(path.parent.parent))
    bucket.download(row.key, row.sha256, copy)
    return copy
