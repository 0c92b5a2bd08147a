"""Parse one result of RIPE Atlas with the ``json`` module and rewrite it as plain JSON.

A field of the wrong type is dropped; the rest of the result is kept.
"""

import json
import math
import struct
from typing import Any

from analysis.campaigns.importers.ripe_atlas_scan import (
    BITS_KEY,
    INTEGERS,
    MAX_HOP,
    MAX_LATE,
    TEXTS,
    bounds_of,
)

# Characters that plain strings may not contain are escaped by a noncharacter (U+FDD0).
MARK = BITS_KEY
_SHIFT = 0x100
_MARKED = {c: MARK + chr(_SHIFT + c) for c in (*range(32), 34, 92)}
_MARKED[ord(MARK)] = MARK + chr(_SHIFT + 127)
_UNMARKED = {text[1]: chr(code) for code, text in _MARKED.items()}
_MAX_TEXT = 1 << 18


def rewrite(octets: bytes) -> bytes:
    """Rewrite a result; raise ``ValueError`` or ``RecursionError`` if it is no JSON object."""
    found = json.loads(octets.decode(), parse_constant=_refuse)
    kept: dict[str, Any] = {}
    for name in TEXTS:
        if (text := _text(found.get(name))) is not None:
            kept[name] = text
    for name in INTEGERS:
        least, greatest = bounds_of(name)
        if type(found.get(name)) is int and least <= found[name] <= greatest:
            kept[name] = found[name]
    if isinstance(found.get("result"), list):
        kept["result"] = [_element(entry) for entry in found["result"]]
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode()


def unmark(text: str) -> str:
    """Undo the escapes of a rewritten text."""
    first, *rest = text.split(MARK)
    return first + "".join(_UNMARKED[part[0]] + part[1:] for part in rest)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _element(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        return {}
    kept = _rtt(entry) | _duplicate_flag(entry)
    if "error" in entry:
        kept["error"] = 0
    if type(entry.get("hop")) is int and 0 <= entry["hop"] <= MAX_HOP:
        kept["hop"] = entry["hop"]
    if isinstance(entry.get("result"), list):
        kept["result"] = [_reply(reply) for reply in entry["result"]]
    return kept


def _reply(reply: Any) -> dict[str, Any]:
    if not isinstance(reply, dict):
        return {}
    kept = _rtt(reply) | _duplicate_flag(reply)
    if (text := _text(reply.get("from"))) is not None:
        kept["from"] = text
    if type(reply.get("late")) is int and abs(reply["late"]) <= MAX_LATE:
        kept["late"] = reply["late"]
    return kept


def _rtt(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a round-trip time as the bits of a float32; nothing if it is not finite."""
    value = entry.get("rtt")
    if type(value) not in (int, float):
        return {}
    try:
        bits = struct.pack("<f", value)
    except OverflowError:
        return {}
    if not math.isfinite(struct.unpack("<f", bits)[0]):
        return {}
    return {BITS_KEY: struct.unpack("<i", bits)[0]}


def _duplicate_flag(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the flag of a duplicate reply: true or a non-zero integer."""
    value = entry.get("dup")
    return {"dup": 1} if value is True or (type(value) is int and value) else {}


def _text(value: Any) -> str | None:
    """Return a text with escapes; None if it is too long or not valid Unicode."""
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value.translate(_MARKED)
