"""Files that are derived from finished surveys: where they stand, and how far their making is.

They can be made again at any time, so they live beside the lake. A folder is put in place by one
rename when it is whole, and is then in the object storage, too, where there is one.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from core.files import replace_folder, write_text
from webapp.store.models import Survey
from webapp.store.object_storage import files

# Builders report progress at each step; after this time without a report they count as dead.
SILENT_S = 120.0
# A failed build is retried on request after this time.
FORGIVEN_S = 900.0
READY, RUNNING, WAITING, FAILED, MISSING = "ready", "running", "waiting", "failed", "missing"


@dataclass(frozen=True, slots=True)
class Derived:
    """One folder of derived files."""

    folder: Path

    @property
    def is_ready(self) -> bool:
        """Whether it is here, or another machine has built it; raises as ``files.fetch``."""
        return self.folder.is_dir() or files.fetch_whole(self.folder)

    @property
    def _status_file(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.json")

    def state(self) -> dict[str, Any]:
        """``{state, step, done, of, error}``; a maker that fell silent counts as missing."""
        if self.is_ready:
            return {"state": READY}
        try:
            note: dict[str, Any] = json.loads(self._status_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {"state": MISSING}
        limit_s = FORGIVEN_S if note["state"] == FAILED else SILENT_S
        if time.time() - note["at"] > limit_s:
            return {"state": MISSING}
        return note

    def write_progress(
        self, state: str, step: str = "", done: int = 0, of: int = 0, error: str = ""
    ) -> None:
        """Leave word of how far the making is."""
        note = {"state": state, "step": step, "done": done, "of": of, "error": error}
        write_text(self._status_file, json.dumps({**note, "at": time.time()}))

    @contextmanager
    def build(self) -> Iterator[Path]:
        """A folder to fill; it is put in place when all went well, else the reason is kept."""
        try:
            with replace_folder(self.folder) as work:
                yield work
                files.publish_folder(work, self.folder)
            self._status_file.unlink(missing_ok=True)
        except Exception as error:
            self.write_progress(FAILED, error=str(error)[:500])
            raise


def root() -> Path:
    """Where all derived files stand."""
    return Path(settings.LAKE_DIR) / ".derived"


def _stamp(end: datetime | None) -> str:
    """What changes when a survey is closed again, so that no old file is taken for its own."""
    return f"{int(end.timestamp() * 1e6):x}" if end else "open"


def index_folder(slug: str, finished_at: datetime | None) -> Path:
    """Where the index of a survey is, once it has been built."""
    return root() / slug / f"index-{_stamp(finished_at)}"


def index_of(survey: Survey) -> Derived:
    """The index of one survey."""
    return Derived(index_folder(survey.slug, survey.finished_at))


def comparison_of(before: Survey, after: Survey) -> Derived:
    """The comparison of two surveys."""
    name = f"{_stamp(before.finished_at)}-{_stamp(after.finished_at)}"
    return Derived(root() / before.slug / "against" / after.slug / name)
