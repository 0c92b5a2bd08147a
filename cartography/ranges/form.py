"""What every range file becomes, and the checks that all formats share."""

import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from core.errors import BadInput
from core.statuses import AddressKind


@dataclass(frozen=True, slots=True)
class RangeEntry:
    """One published prefix with what the file says of it."""

    prefix: str
    provider: str
    service: str
    region: str | None
    border_group: str | None = None
    kind: AddressKind = AddressKind.CLOUD
    region_as_published: str | None = None


@dataclass(frozen=True, slots=True)
class RangeFile:
    """A whole file; files of different ``variant`` are in force side by side."""

    provider: str
    as_of: date
    entries: tuple[RangeEntry, ...]
    counts: dict[str, int] = field(default_factory=dict)
    variant: str = ""


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


def load_json(data: bytes) -> dict[str, Any]:
    """The file's JSON object; raises ``BadInput`` that says where it breaks."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise BadInput(f"the file is not UTF-8 at byte {error.start}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise BadInput(f"the JSON is damaged or cut off: {error}", line=line) from error
    if not isinstance(document, dict):
        raise BadInput("the file holds no JSON object")
    return document


def list_of(document: dict[str, Any], name: str) -> list[Any]:
    """A list member; raises ``BadInput`` when it is missing or no list."""
    found = document.get(name)
    if not isinstance(found, list):
        raise BadInput(f"the list {name!r} is missing; the file may be cut or of another kind")
    return found


def check_prefix(text: Any, where: str) -> str:
    """A prefix in canonical form; raises ``BadInput`` that names the entry."""
    try:
        return str(ipaddress.ip_network(text))
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where}: {text!r} is not a prefix ({error})") from error
