"""Histograms of cyclictest (-h, -H, --histfile, --json) in, a log per thread out."""

import json
import re
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.logs.records import Log

ROW = re.compile(r"^(\d+)((?:\s+\d+)+)\s*$")
SUMMARY = re.compile(
    r"^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):\s*([\d\s]*)$"
)
MOST_THREADS = 4096


def is_cyclictest(text: str) -> bool:
    """Whether the text has cyclictest's summary lines, or is its JSON."""
    return "# Histogram" in text or _is_json(text)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") and '"num_threads"' in text and '"histogram"' in text


def read_cyclictest(text: str) -> list[Log]:
    """One log per thread; BadInput when there is no row, or a total disagrees with its rows."""
    return _read_json(text) if _is_json(text) else _read_text(text)


def _read_text(text: str) -> list[Log]:
    rows: list[tuple[int, list[int]]] = []
    summary: dict[str, list[int]] = {}
    rejected = []
    for number, line in enumerate(text.splitlines(), 1):
        if found := ROW.match(line):
            rows.append((int(found[1]), [int(word) for word in found[2].split()]))
        elif found := SUMMARY.match(line):
            summary[found[1]] = [int(word) for word in found[2].split()]
        elif line.strip() and not line.startswith(("#", "T:", "policy")):
            rejected.append((number, "neither a row nor a summary"))
    threads = len(summary.get("Total", rows[0][1] if rows else []))
    if not rows or not 1 <= threads <= MOST_THREADS:
        raise BadInput("no histogram of cyclictest: run it with -h and a number of microseconds")
    for value, counts in rows:
        if len(counts) < threads:
            raise BadInput(f"the row of {value} us has {len(counts)} columns, not {threads}")
    return [_make_thread(at, rows, summary, tuple(rejected)) for at in range(threads)]


def _make_thread(
    at: int,
    rows: list[tuple[int, list[int]]],
    summary: dict[str, list[int]],
    rejected: tuple[tuple[int, str], ...],
) -> Log:
    values = np.array([value for value, _ in rows], dtype=np.float64)
    counts = np.array([counts[at] for _, counts in rows], dtype=np.int64)
    overflows = _pick(summary, "Histogram Overflows", at) or 0
    total = _pick(summary, "Total", at)
    notes: tuple[str, ...] = ()
    if total is not None and total not in (int(counts.sum()), int(counts.sum()) + overflows):
        notes = (f"the file says {total:,} samples, its rows add up to {int(counts.sum()):,}",)
    used = np.flatnonzero(counts)
    largest = float(values[used[-1]]) if len(used) else 0.0
    maximum = _pick(summary, "Max Latencies", at)
    return Log("cyclictest", f"thread {at}", "us", 1, values, counts,
               largest if maximum is None else float(maximum), None, overflows, rejected,
               notes)  # fmt: skip


def _pick(summary: dict[str, list[int]], name: str, at: int) -> int | None:
    numbers = summary.get(name, [])
    return numbers[at] if at < len(numbers) else None


def _read_json(text: str) -> list[Log]:
    try:
        threads = json.loads(text)["thread"]
        return [_make_json_thread(name, thread) for name, thread in threads.items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"no JSON of cyclictest: {error!r}") from None


def _make_json_thread(name: str, thread: dict[str, Any]) -> Log:
    pairs = sorted((int(value), int(count)) for value, count in thread["histogram"].items())
    if any(value < 0 or count < 0 for value, count in pairs):
        raise ValueError("a negative number")
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    cycles = int(thread.get("cycles", counts.sum()))
    return Log("cyclictest", f"thread {name}", str(thread.get("unit", "us"))[:8], 1, values, counts,
               float(thread["max"]), None, max(cycles - int(counts.sum()), 0))  # fmt: skip
