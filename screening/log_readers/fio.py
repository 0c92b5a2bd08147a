"""Parse fio's JSON (json, json+; versions 2 and 3) into one log per job and direction."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.log_readers.records import Log

MARKER = '"fio version"'
DIRECTIONS = ("read", "write", "trim", "mixed")
# Names of completion times and their units; version 2 wrote microseconds. Then the same from the
# submission on, which is all that lat_percentiles or a report of several clients keeps.
TIMES = {
    "clat_ns": "ns",
    "clat_us": "us",
    "clat_ms": "ms",
    "clat": "us",
    "lat_ns": "ns",
    "lat": "us",
}
# A run with status reports in between writes a document for each.
MOST_DOCUMENTS = 3
# Slots of version 2, numbered as its source does: 64 to each power of two.
SLOT_BITS = "FIO_IO_U_PLAT_BITS"
ONLY_PERCENTILES = "only percentiles are known: run fio with --output-format=json+"


def is_fio(text: str) -> bool:
    """Whether fio wrote this."""
    return MARKER in text


def read_fio(text: str) -> list[Log]:
    """Completion times of every job that did something; BadInput for damaged JSON.

    With ``json+`` every bin counts; plain JSON has only percentiles, which become steps.
    """
    try:
        document = _find_document(text)
        jobs = document.get("jobs") or document["client_stats"]
        logs = [log for job in jobs for log in _read_job(job)]
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise BadInput(f"no JSON of fio: {error!r}"[:200]) from None
    if not logs:
        raise BadInput("no job of this fio run completed anything, or none kept its percentiles")
    return logs


def _find_document(text: str) -> dict[str, Any]:
    """The last whole document: warnings and a normal report may stand before and after it."""
    problem = ValueError("it holds no document")
    marks = [found.start() for found in re.finditer(re.escape(MARKER), text)]
    for mark in marks[-MOST_DOCUMENTS:][::-1]:
        start = text.rfind("{", 0, mark)
        try:
            document, _ = json.JSONDecoder().raw_decode(text[start:] if start >= 0 else "")
            return dict(document)
        except ValueError as error:
            problem = error
    raise problem


def _read_job(job: dict[str, Any]) -> Iterator[Log]:
    name = f"{job['jobname']} {job.get('hostname', '')}".strip()
    for direction in DIRECTIONS:
        part = job.get(direction) or {}
        found = _pick_times(part)
        if found is not None:
            yield _build_log(f"{name} {direction}", part, *found)


def _pick_times(part: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The first times with a known distribution."""
    for name in TIMES:
        times = part.get(name) or {}
        if times.get("max", 0) > 0 and (times.get("bins") or times.get("percentile")):
            return name, times
    return None


def _build_log(name: str, part: Mapping[str, Any], kind: str, times: Mapping[str, Any]) -> Log:
    bins = times.get("bins")
    pairs = _read_bins(bins) if bins else _build_steps(times, _count(part, times))
    pairs = sorted(pair for pair in pairs if pair[1] > 0)
    if not pairs or any(not 0 <= value < math.inf for value, _ in pairs):
        raise ValueError("no time, or one below zero")
    notes = [] if bins else [ONLY_PERCENTILES]
    if kind.startswith("lat"):
        notes.append("times from submission on, since fio kept no others")
    return Log(
        "fio",
        name[:200],
        TIMES[kind],
        1,
        np.array([value for value, _ in pairs]),
        np.array([count for _, count in pairs], dtype=np.int64),
        float(times["max"]),
        part.get("runtime", 0) / 1000 or None,
        notes=tuple(notes),
        details=_details(part, times),
    )


def _details(part: Mapping[str, Any], times: Mapping[str, Any]) -> dict[str, Any]:
    # Version 2 counts bandwidth in KiB per second only.
    rate = part["bw_bytes"] if "bw_bytes" in part else part.get("bw", 0) * 1024
    return {
        "iops": part.get("iops"),
        "mb_per_s": rate / 1e6,
        "mean": times.get("mean"),
        "deviation": times.get("stddev"),
    }


def _count(part: Mapping[str, Any], times: Mapping[str, Any]) -> int:
    """How many were timed; the first versions report only the number per second."""
    known = times.get("N") or part.get("total_ios")
    return int(known or round(part.get("iops", 0) * part.get("runtime", 0) / 1000))


def _read_bins(bins: Mapping[str, Any]) -> list[tuple[float, int]]:
    bits = bins.get(SLOT_BITS)
    pairs = [(int(key), int(count)) for key, count in bins.items() if not key.startswith("FIO_")]
    if any(count < 0 for _, count in pairs):
        raise ValueError("a negative count")
    if bits is None:
        return [(float(value), count) for value, count in pairs]
    return [(_find_middle(slot, int(bits)), count) for slot, count in pairs]


def _find_middle(slot: int, bits: int) -> float:
    """Middle of a slot of version 2; the first two powers are kept one by one."""
    if not 1 <= bits <= 16 or not 0 <= slot < 1 << 20:
        raise ValueError("a slot that cannot be")
    if slot < 2 << bits:
        return float(slot)
    shift = (slot >> bits) - 1
    return float((1 << (shift + bits)) + int((slot % (1 << bits) + 0.5) * (1 << shift)))


def _build_steps(times: Mapping[str, Any], total: int) -> list[tuple[float, int]]:
    steps, seen = [], 0
    ranked = sorted((float(p), float(v)) for p, v in times["percentile"].items())
    for percent, value in [*ranked, (100.0, float(times["max"]))]:
        # The first sample at which that share is reached, as fio itself counts.
        upto = min(math.ceil(total * percent / 100 - 1e-6), total)
        steps.append((value, max(upto - seen, 0)))
        seen = max(seen, upto)
    return steps
