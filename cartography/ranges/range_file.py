"""What every range file becomes, and the checks that all formats share."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple

from cartography.addresses.prefixes import read_prefix, write_prefix
from core.errors import BadInput
from core.statuses import AddressKind

# Wider prefixes are slips (a lost digit): they would turn half of the Internet into a cloud.
_SHORTEST = {4: 8, 6: 16}


# Azure lists eighty thousand, and a named tuple is made in a quarter of a dataclass's time.
class RangeEntry(NamedTuple):
    """One published prefix with the statements of the file on it.

    ``region`` is the provider's modern code, ``None`` where the file gives none or calls the block
    global; ``region_as_published`` is the text in the file, ``None`` for nothing.
    """

    prefix: str
    provider: str
    service: str
    region: str | None
    border_group: str | None = None
    kind: AddressKind = AddressKind.CLOUD
    region_as_published: str | None = None


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A whole file, with the file's own rows counted.

    A provider's files of different ``variant`` (Google's two, Azure's national clouds) are in force
    side by side; a newer one of the same variant replaces the older one. ``edition`` is the file's
    own mark of its publication, where it has one; ``doubt`` is what contradicts itself in the
    file's head. ``warnings`` list what was unusual when the file was accepted.
    """

    provider: str
    as_of: date
    entries: tuple[RangeEntry, ...]
    counts: dict[str, int] = field(default_factory=dict)
    variant: str = ""
    edition: str = ""
    doubt: str = ""
    warnings: tuple[str, ...] = ()


def count_entries(entries: Iterable[RangeEntry], **more: int) -> dict[str, int]:
    """``entries``, ``ipv4``, ``ipv6`` and ``regions`` of a file."""
    rows = list(entries)
    ipv6 = sum(":" in e.prefix for e in rows)
    regions = {e.region for e in rows if e.region}
    return {
        "entries": len(rows),
        "ipv4": len(rows) - ipv6,
        "ipv6": ipv6,
        "regions": len(regions),
        **more,
    }


def require_date(as_of: date | None) -> date:
    """The date itself; raises ``BadInput`` with ``field`` as-of when there is none."""
    if as_of is None:
        raise BadInput("the file carries no date; give --as-of", field="as-of")
    return as_of


def load_json(data: bytes) -> dict[str, Any]:
    """The file's JSON object; raises ``BadInput`` with the position of the error."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"the file is not UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"the JSON is damaged or cut off: {error.msg}", line=error.lineno) from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"the JSON cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise BadInput("the file holds no JSON object")
    return document


def list_of(document: dict[str, Any], name: str, where: str = "the file") -> list[Any]:
    """A list member; raises ``BadInput`` when it is missing or no list."""
    found = document.get(name)
    if not isinstance(found, list):
        raise BadInput(f"{where}: the list {name!r} is missing; is it a file of another kind?")
    return found


def text_of(row: dict[str, Any], name: str, where: str) -> str | None:
    """An optional text member; raises ``BadInput`` when it is something else."""
    found = row.get(name)
    if found is not None and not isinstance(found, str):
        raise BadInput(f"{where}: {name} is not a text")
    return found


def check_prefix(text: Any, where: str, family: int | None = None) -> str:
    """A prefix in canonical form; raises ``BadInput`` that names the entry."""
    if not isinstance(text, str):
        raise BadInput(f"{where}: there is no prefix")
    try:
        found, length, canonical = _parse_prefix(text)
    except ValueError as error:
        raise BadInput(f"{where}: {text!r} is not a prefix: {error}") from error
    if family not in (None, found):
        raise BadInput(f"{where}: {text!r} is not an IPv{family} prefix")
    if length < _SHORTEST[found]:
        raise BadInput(f"{where}: {text!r} is wider than anything a provider holds")
    return canonical


def clear_prefix_cache() -> None:
    """Let go of the prefixes of the file that was read last."""
    _parse_prefix.cache_clear()


# A block occurs in a file once for each of its services.
@lru_cache(maxsize=1 << 17)
def _parse_prefix(text: str) -> tuple[int, int, str]:
    """(family, length, canonical text) of a prefix; raises ``ValueError``."""
    if "/" not in text:
        raise ValueError("its length is missing")
    family, first, length = read_prefix(text)
    # What is read of an IPv4 address has one spelling.
    is_plain = family == 4 and text.endswith(f"/{length}")
    return family, length, text if is_plain else write_prefix(family, first, length)


def require_entries(entries: tuple[RangeEntry, ...]) -> tuple[RangeEntry, ...]:
    """The entries themselves; raises ``BadInput`` when there is none."""
    if not entries:
        raise BadInput("the file lists no prefix")
    return entries
