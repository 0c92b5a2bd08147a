"""Saved domain lists: a row each, and the text as it was given as a file."""

import threading
from pathlib import Path
from typing import Any

from django.conf import settings

from core.errors import Damaged
from webapp.store.audits import documents
from webapp.store.models import SavedList
from webapp.store.object_storage import files
from webapp.store.requests.texts import slug_of
from webapp.store.surveys.services import plan_survey


def folder_of(slug: str) -> Path:
    """Where the versions of a list stand."""
    return Path(settings.DATA_DIR) / "domain-lists" / slug


def create_list(
    owner: Any, name: str, data: bytes, gone: threading.Event | None = None
) -> SavedList:
    """Save a domain list; raises ``BadInput`` where no line is usable or the account has too many.

    Large lists are read one at a time; once ``gone`` is set, reading ends (``ClientGone``).
    """
    name = documents.check_name(name)
    documents.check_count(SavedList, owner)
    row = SavedList(owner=owner, slug=slug_of(name, "list"))
    _store(row, name, data, gone)
    return row


def change_list(
    row: SavedList,
    name: str | None = None,
    data: bytes | None = None,
    gone: threading.Event | None = None,
) -> None:
    """Rename a list, or replace its domains; raises ``BadInput``."""
    name = row.name if name is None else documents.check_name(name)
    _store(row, name, read_list(row) if data is None else data, gone)


def _store(row: SavedList, name: str, data: bytes, gone: threading.Event | None) -> None:
    plan, _ = plan_survey(data, 0, gone)
    digest = documents.digest_of(data)
    files.write(_path(row.slug, digest), data)
    values = {
        "name": name,
        "n_domains": plan.accepted,
        "n_duplicates": plan.duplicates,
        "n_rejected": plan.n_rejected,
        "rejected": plan.rejected,
        "notes": plan.notes,
    }
    documents.store(row, values, digest)
    older = (path for path in files.stored_in(folder_of(row.slug)) if path.stem != digest)
    files.remove(*older)


def read_list(row: SavedList) -> bytes:
    """The text as it was given; raises ``Damaged`` where its file is gone."""
    path = _path(row.slug, row.sha256)
    files.fetch(path)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"the stored file {path.parent.name}/{path.name} is gone") from error


def _path(slug: str, digest: str) -> Path:
    return folder_of(slug) / f"{digest}.txt"


def delete_list(row: SavedList) -> None:
    """Delete a list with its file; audits of it stay."""
    row.delete()
    files.remove(folder_of(row.slug))
