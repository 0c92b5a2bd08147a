"""What saved domain lists and saved policies share: names in addresses, limits, versions."""

import hashlib
from collections.abc import Mapping
from typing import Any, TypeVar

from django.utils import timezone

from core.errors import BadInput, Conflict
from webapp.store.models import SavedList, SavedPolicy
from webapp.store.requests.texts import is_printable

Saved = TypeVar("Saved", SavedList, SavedPolicy)
# Documents of one kind that an account may have.
MAX_DOCUMENTS = 200
_NAME_CHARACTERS = 200


def digest_of(data: bytes) -> str:
    """The hash that identifies a version of a document."""
    return hashlib.sha256(data).hexdigest()


def find(model: type[Saved], slug: str, user: Any) -> Saved | None:
    """The document of this account, or ``None``."""
    if user is None or not user.is_authenticated:
        return None
    return model._default_manager.filter(slug=slug, owner=user.pk).first()


def owned_by(model: type[Saved], user: Any) -> list[Saved]:
    """The documents of an account by name."""
    if user is None or not user.is_authenticated:
        return []
    return list(model._default_manager.filter(owner=user.pk))


def check_name(name: str) -> str:
    """The name without surrounding blanks; raises ``BadInput``."""
    name = name.strip()
    if not name or len(name) > _NAME_CHARACTERS or not is_printable(name):
        raise BadInput(
            f"give a name of at most {_NAME_CHARACTERS} printable characters", field="name"
        )
    return name


def check_count(model: type[Saved], owner: Any) -> None:
    """Raise ``BadInput`` at the limit of documents of one account."""
    if model._default_manager.filter(owner=owner).count() >= MAX_DOCUMENTS:
        raise Conflict(f"an account has at most {MAX_DOCUMENTS} of these; delete one first")


def store(row: Saved, values: Mapping[str, Any], digest: str) -> None:
    """Save a document; its version rises when the contents differ."""
    if row.pk is not None and row.sha256 != digest:
        row.version += 1
    for name, value in values.items():
        setattr(row, name, value)
    row.sha256 = digest
    row.changed_at = timezone.now()
    row.save()
