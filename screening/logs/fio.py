"""fio's JSON (json, json+) in, a log of completion times per job and direction out."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from core.errors import BadInput
from screening.logs.records import Log

DIRECTIONS = ("read", "write", "trim")
UNITS = ("ns", "us", "ms")


def is_fio(text: str) -> bool:
    """Whether fio wrote this."""
    return '"fio version"' in text[:100_000]


def read_fio(text: str) -> list[Log]:
    """Completion times of every job that did something; BadInput for damaged JSON.

    With ``json+`` every bin counts; plain JSON has only percentiles, which become steps.
    """
    try:
        # Warnings of fio may stand before the document.
        document = json.loads(text[text.index("{") :])
        logs = [log for job in document["jobs"] for log in _read_job(job)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"no JSON of fio: {error!r}") from None
    if not logs:
        raise BadInput("no job of this fio run completed anything")
    return logs


def _read_job(job: dict[str, Any]) -> Iterator[Log]:
    for direction in DIRECTIONS:
        part = job.get(direction) or {}
        total = int(part.get("total_ios", 0))
        for unit in UNITS:
            times = part.get(f"clat_{unit}") or {}
            if total > 0 and times.get("max", 0) > 0:
                yield _make_log(f"{job['jobname']} {direction}", unit, total, part, times)


def _make_log(name: str, unit: str, total: int, part: dict[str, Any], times: dict[str, Any]) -> Log:
    bins = times.get("bins")
    pairs = [(float(v), int(n)) for v, n in bins.items()] if bins else _make_steps(times, total)
    pairs = sorted(pair for pair in pairs if pair[1] > 0)
    if any(value < 0 for value, _ in pairs):
        raise ValueError("a negative time")
    notes = () if bins else ("only percentiles are known: run fio with --output-format=json+",)
    details = {
        "iops": part.get("iops"), "mb_per_s": part.get("bw_bytes", 0) / 1e6,
        "mean": times.get("mean"), "deviation": times.get("stddev"),
    }  # fmt: skip
    return Log(
        "fio", name[:200], unit, 1, np.array([value for value, _ in pairs]),
        np.array([count for _, count in pairs], dtype=np.int64), float(times["max"]),
        part.get("runtime", 0) / 1000 or None, notes=notes, details=details,
    )  # fmt: skip


def _make_steps(times: dict[str, Any], total: int) -> list[tuple[float, int]]:
    steps, seen = [], 0
    ranked = sorted((float(p), float(v)) for p, v in (times.get("percentile") or {}).items())
    for percent, value in [*ranked, (100.0, float(times["max"]))]:
        upto = round(total * percent / 100)
        steps.append((value, max(upto - seen, 0)))
        seen = max(seen, upto)
    return steps
