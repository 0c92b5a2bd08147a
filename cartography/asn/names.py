"""Names of autonomous systems: a published list in, a name for each number out.

pyasn's JSON object, iptoasn's table (with the name in the fifth column), and plain lines of a
number and a name, as in the registries' ``autnums`` and ``asn.txt``.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from cartography.ranges.gzip_file import unpack
from core.errors import BadInput

LAST_ASN = (1 << 32) - 1
# Longer names are whole sentences from a registry.
MAX_NAME = 200
_LINE = re.compile(r"^(?:AS)?(\d{1,10})[\s,;|]+(\S.*)$", re.IGNORECASE)
_UNWANTED = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
# Placeholders of lists that have no name for a number.
_NAMELESS = ("-reserved as-", "not routed", "-private use as-", "")
_IPTOASN_COLUMNS = 5


def read_as_names(data: bytes) -> dict[int, str]:
    """Names by number; raises ``BadInput`` that names the line or entry."""
    text = _text(unpack(data))
    found = dict(_of_json(text) if text.lstrip().startswith("{") else _of_lines(text))
    if not found:
        raise BadInput("the file names no autonomous system")
    return found


def is_name_file(data: bytes) -> bool:
    """Return whether bytes look like a list of AS names, not of prefixes."""
    head = unpack(data)[:4096].decode("utf-8", "replace").lstrip()
    first = next((line for line in head.splitlines() if line and line[0] not in ";#"), "")
    return head.startswith("{") or ("\t" not in first and bool(_LINE.match(first)))


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _of_json(text: str) -> Iterator[tuple[int, str]]:
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the file is not sound JSON: {error}") from error
    for key, name in document.items():
        if not str(key).isascii() or not str(key).isdigit() or not isinstance(name, str):
            raise BadInput(f"the entry {str(key)[:40]!r} is not a number with a name")
        yield from _entry(int(key), name, f"entry {str(key)[:40]!r}")


def _of_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        cells = line.split("\t")
        if len(cells) == _IPTOASN_COLUMNS and cells[2].isascii() and cells[2].isdigit():
            yield from _entry(int(cells[2]), cells[4], f"line {number}")
            continue
        found = _LINE.match(line.strip())
        if found is None:
            raise BadInput("it is not a number and a name", line=number)
        yield from _entry(int(found[1]), found[2].strip('" '), f"line {number}")


def _entry(asn: int, name: str, where: str) -> Iterator[tuple[int, str]]:
    if asn > LAST_ASN:
        raise BadInput(f"{where}: {asn} is not an AS number")
    stripped = " ".join(_UNWANTED.sub(" ", name).split())[:MAX_NAME]
    bare = stripped.removesuffix(", ZZ").lower()
    if asn and bare not in _NAMELESS:
        yield asn, stripped
