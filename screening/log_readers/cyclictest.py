"""Parse histograms of cyclictest (-h, -H, --histfile, --json) into one log per thread."""

import json
import re
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.log_readers.records import Log

ROW = re.compile(r"^(\d+)((?:\s+\d+)+)\s*$")
SUMMARY = re.compile(
    r"^# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):\s*([\d\s]*)$"
)
# Lines of cyclictest beside its histogram; without -q its table comes with the terminal's signs.
TALK = re.compile(r"^(?:#|T:|policy|INFO|WARN|\x1b\[)", re.IGNORECASE)
MOST_THREADS = 4096


def is_cyclictest(text: str) -> bool:
    """Whether the text has cyclictest's summary lines, or is its JSON."""
    return "# Histogram" in text or _is_json(text)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") and '"num_threads"' in text and '"thread"' in text


def read_cyclictest(text: str) -> list[Log]:
    """One log per thread; BadInput when there is no row, or a total disagrees with its rows."""
    return _read_json(text) if _is_json(text) else _read_text(text)


def _read_text(text: str) -> list[Log]:
    rows: list[tuple[int, list[int]]] = []
    summary: dict[str, list[int]] = {}
    rejected = []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if found := ROW.match(line):
            rows.append((int(found[1]), [int(word) for word in found[2].split()]))
        elif found := SUMMARY.match(line):
            summary[found[1]] = [int(word) for word in found[2].split()]
        elif line and not TALK.match(line):
            rejected.append((number, "neither a row nor a summary"))
    threads = _count_threads(rows, summary)
    for value, counts in rows:
        if len(counts) < threads:
            raise BadInput(f"the row of {value} us has {len(counts)} columns, not {threads}")
    rows = _join_rows(rows)
    return [_build_thread(at, rows, summary, tuple(rejected)) for at in range(threads)]


def _count_threads(rows: list[tuple[int, list[int]]], summary: dict[str, list[int]]) -> int:
    """With -H all rows and some summaries have a column more, for all threads together."""
    known = [len(summary[name]) for name in ("Min Latencies", "Total") if name in summary]
    threads = known[0] if known else len(rows[0][1]) if rows else 0
    if not rows or not 1 <= threads <= MOST_THREADS:
        raise BadInput("no histogram of cyclictest: run it with -h and a number of microseconds")
    return threads


def _join_rows(rows: list[tuple[int, list[int]]]) -> list[tuple[int, list[int]]]:
    """Rows by value; of a value that comes again, as when a file was appended to, both count."""
    joined: dict[int, list[int]] = {}
    for value, counts in rows:
        before = joined.get(value)
        joined[value] = [a + b for a, b in zip(before, counts, strict=False)] if before else counts
    return sorted(joined.items())


def _build_thread(
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
    unit = _find_unit(summary)
    if unit == "ns":
        notes += ("taken as nanoseconds (-N), as no wake-up took less than 1,000",)
    return Log(
        "cyclictest",
        f"thread {at}",
        unit,
        1,
        values,
        counts,
        largest if maximum is None else float(maximum),
        None,
        overflows,
        rejected,
        notes,
    )


def _find_unit(summary: dict[str, list[int]]) -> str:
    """Infer the unit that the text omits: shortest latencies of 1,000 µs or more are really ns."""
    shortest = [value for value in summary.get("Min Latencies", []) if value > 0]
    return "ns" if shortest and min(shortest) >= 1000 else "us"


def _pick(summary: dict[str, list[int]], name: str, at: int) -> int | None:
    numbers = summary.get(name, [])
    return numbers[at] if at < len(numbers) else None


def _read_json(text: str) -> list[Log]:
    try:
        document = json.loads(text)
        # With -N all times are nanoseconds.
        unit = "ns" if document.get("resolution_in_ns") else "us"
        threads = document["thread"].items()
        if not any(thread.get("histogram") for _, thread in threads):
            raise BadInput("cyclictest kept no histogram: run it with -h and a number")
        return [_build_json_thread(name, thread, unit) for name, thread in threads]
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise BadInput(f"no JSON of cyclictest: {error!r}"[:200]) from None


def _build_json_thread(name: str, thread: dict[str, Any], unit: str) -> Log:
    histogram = thread.get("histogram") or {}
    pairs = sorted((int(value), int(count)) for value, count in histogram.items())
    if any(value < 0 or count < 0 for value, count in pairs):
        raise ValueError("a negative number")
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    maximum, cycles = float(thread["max"]), int(thread.get("cycles", counts.sum()))
    # What the histogram has no space for is longer than all that it holds.
    ran_over = not len(values) or maximum > values[-1]
    overflows = max(cycles - int(counts.sum()), 0) if ran_over else 0
    return Log("cyclictest", f"thread {name}", unit, 1, values, counts, maximum, None, overflows)
