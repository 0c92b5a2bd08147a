"""Read heartbeats of vantage points from the broker, validate them, and store them."""

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from core.clock import Clock
from tasks.protocol import vantage_queues
from webapp.store.vantages import services

_LONGEST = 4_096
# As the vantage point sets it; the remaining time gives the age of the heartbeat by the broker's
# clock, independent of the vantage point's clock.
_KEPT_MS = 3_600_000
_LOAD = ("rss_mb", "cpu_s", "up_s", "parcels", "spent_bytes")
_MOST = 1e15


def store_heartbeats(names: Sequence[str], clock: Clock) -> int:
    """Store the newest heartbeats; how many there were; raises ``Unavailable``."""
    pipe = vantage_queues.client().pipeline(transaction=False)
    for name in names:
        key = vantage_queues.key(name, "pulse")
        pipe.getrange(key, 0, _LONGEST)
        pipe.pttl(key)
    found = iter(vantage_queues.asked(pipe.execute))
    heard = 0
    for name, (text, left_ms) in zip(names, zip(found, found, strict=True), strict=True):
        word = parse_heartbeat(text)
        if word and 0 < left_ms <= _KEPT_MS:
            services.record_heartbeat(name, word, _moment(clock, left_ms))
            heard += 1
    return heard


def _moment(clock: Clock, left_ms: int) -> datetime:
    return clock.now() - timedelta(milliseconds=_KEPT_MS - left_ms)


def parse_heartbeat(text: bytes) -> dict[str, Any] | None:
    """The fields of the store from a heartbeat; ``None`` for anything that is none."""
    try:
        word = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(word, dict):
        return None
    load = word.get("load")
    return {
        "instance": str(word.get("instance", ""))[:64],
        "version": str(word.get("version", ""))[:40],
        "clock_offset_ms": _number(word, "clock_offset_ms"),
        "clock_doubt_ms": _number(word, "clock_doubt_ms"),
        "load": {k: _number(load, k) for k in _LOAD} if isinstance(load, dict) else {},
    }


def _number(values: Mapping[str, Any], key: str) -> float | None:
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) and abs(value) < _MOST else None
