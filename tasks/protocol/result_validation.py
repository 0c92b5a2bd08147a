"""Validate probe results that another machine sent, and convert them to the lake's form.

A vantage point may be untrusted: no value is accepted that a probe cannot produce.
"""

import math
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from core.errors import BadInput
from probes.records import ProbeStatus

# More than any probe gives: 64 flows of 30 hops with three attempts are 5,760 replies.
_MOST_VALUES, _MOST_REPLIES, _MOST_FIELDS = 10_000, 20_000, 24
_LONGEST_TEXT = 300
_KINDS = frozenset({"hop", "target", "silent", "net", "host", "protocol", "prohibited", "other"})
# A clock that is further off than this is not asked when something was.
_CLOCK_DOUBT_S = 3_600.0


def sound_result(given: Any, probe: str, planned_at: float) -> dict[str, Any]:
    """A result of ``probe`` in the form of its record; raises ``BadInput``."""
    if not isinstance(given, Mapping) or given.get("probe") != probe:
        raise BadInput(f"this is no result of {probe}")
    kept = {k: v for k, v in given.items() if _is_plain(k, v)}
    if len(kept) > _MOST_FIELDS:
        raise BadInput("a result has too many fields")
    at = _number(given.get("at"), "at")
    kept |= {
        "status": _status(given.get("status")),
        "reason": str(given.get("reason") or "")[:_LONGEST_TEXT],
        "at": at if abs(at - planned_at) <= _CLOCK_DOUBT_S else planned_at,
        "sent": _whole(given.get("sent"), _MOST_REPLIES, "sent"),
        "values": _values(given.get("values")),
    }
    if len(kept["values"]) > kept["sent"]:
        raise BadInput("a result has more values than were sent")
    if "replies" in given:
        kept |= _path(given)
    return kept


def _is_plain(key: Any, value: Any) -> bool:
    """Whether a field may stand as it is among the details."""
    if not isinstance(key, str) or len(key) > 40:
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, int)) or isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _status(value: Any) -> str:
    try:
        return str(ProbeStatus(value))
    except ValueError as error:
        raise BadInput(f"{str(value)[:40]!r} is not a status of a probe") from error


def _values(given: Any) -> list[float]:
    if not isinstance(given, list) or len(given) > _MOST_VALUES:
        raise BadInput("values are no list, or too many")
    return [_number(v, "values") for v in given]


def _number(value: Any, field: str) -> float:
    right = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not right or not 0 <= value < 1e15:
        raise BadInput(f"{str(value)[:40]} is not a number", field=field)
    return float(value)


def _whole(value: Any, most: int, field: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadInput(f"{str(value)[:40]} is not from 0 to {most}", field=field)
    return value


def _path(given: Mapping[str, Any]) -> dict[str, Any]:
    replies = given["replies"]
    if not isinstance(replies, list) or len(replies) > _MOST_REPLIES:
        raise BadInput("replies are no list, or too many", field="replies")
    return {
        "source": _address(given.get("source")) or "",
        "address": _address(given.get("address")) or "",
        "replies": [_reply(r) for r in replies],
    }


def _reply(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping) or given.get("kind") not in _KINDS:
        raise BadInput("a reply is not an object of a known kind", field="replies")
    rtt = given.get("rtt_ms")
    return {
        "ttl": _whole(given.get("ttl"), 255, "ttl"),
        "flow": _whole(given.get("flow", 0), 1_000_000, "flow"),
        "address": _address(given.get("address")),
        "rtt_ms": None if rtt is None else _number(rtt, "rtt_ms"),
        "kind": given["kind"],
    }


def _address(given: Any) -> str | None:
    if given in (None, ""):
        return None
    try:
        return str(ip_address(str(given)[:64]))
    except ValueError as error:
        raise BadInput(f"{str(given)[:64]!r} is not an address") from error
