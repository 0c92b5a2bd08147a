"""Summarise another tool's log into figures and a curve, within a visitor's limits.

Nothing is kept. Each process reads one log at a time, so that visitors cannot fill the machine.
"""

import math
from threading import BoundedSemaphore
from typing import Any

from core.errors import BadInput
from core.files import TooLarge, unpack
from screening.log_readers import read_log
from screening.log_readers.agent_report import is_report
from screening.log_readers.records import NS_PER_UNIT, Log, join_logs
from screening.log_readers.summaries import summarise_file, summarise_log

MOST_BYTES = 8_000_000
MOST_UNPACKED = 32_000_000
MOST_SERIES = 64
WAIT_S = 5.0
NS_PER_MS = 1e6
# Shares at which the curve is drawn, by how many of the samples lie beyond.
NINES = tuple(1 - 10 ** (-step / 4) for step in range(25))
_turn = BoundedSemaphore(1)


def summarise(data: bytes) -> list[dict[str, Any]]:
    """Summaries with curves of up to 64 series; BadInput for what is no log, or is too large."""
    if len(data) > MOST_BYTES:
        raise BadInput(f"a log has at most {MOST_BYTES // 1_000_000} MB here")
    if not _turn.acquire(timeout=WAIT_S):
        raise BadInput("another log is being read at the moment: send it again in a minute")
    try:
        return _summarise(_unpack(data))
    finally:
        _turn.release()


def _unpack(data: bytes) -> bytes:
    try:
        return unpack(data, MOST_UNPACKED)
    except TooLarge:
        limit_mb = MOST_UNPACKED // 1_000_000
        raise BadInput(f"a log has at most {limit_mb} MB when unpacked") from None


def _summarise(data: bytes) -> list[dict[str, Any]]:
    if is_report(data[:4096].decode("utf-8", "replace")):
        return [{**row, "curve": []} for row in summarise_file(data)]
    logs = read_log(data)
    if len(logs) <= MOST_SERIES:
        return [_describe(log) for log in logs]
    shown = logs[: MOST_SERIES - 1]
    rows = [_describe(log) for log in (join_logs(logs, f"all {len(logs):,}"), *shown)]
    rows[0]["reasons"].append(f"beside it the first {len(shown)} of {len(logs):,} series are shown")
    return rows


def _describe(log: Log) -> dict[str, Any]:
    row = summarise_log(log)
    per_ms = NS_PER_UNIT.get(log.unit, 0) / NS_PER_MS
    names = ("p50", "p99", "p999", "p9999", "max")
    row["in_ms"] = {name: row[name] * per_ms for name in names} if per_ms else None
    known = [share for share in NINES if log.samples * (1 - share) >= 1]
    points = [(share, log.find_percentile(share) * (per_ms or 1)) for share in known]
    row["curve"] = [(share, value) for share, value in points if math.isfinite(value)]
    return row


def plain(data: bytes) -> list[dict[str, Any]]:
    """Summaries as JSON can keep them, without figures that are no numbers; BadInput as above."""
    return [
        {name: None if _is_no_number(value) else value for name, value in row.items()}
        for row in summarise(data)
    ]


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
