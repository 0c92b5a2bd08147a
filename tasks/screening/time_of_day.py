"""Find the time of day at which stalls recur, for a pool or for one machine."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from core.errors import BadInput
from core.wording import p_text
from screening.statistics import time_of_day
from webapp.store.screening.details import list_times

# A machine that reports every hour for a year has fewer.
MOST_REPORTS = 10_000
# A rest of the day that is nearly empty gives no figure worth a name.
MOST_TIMES = 100


def find_daily_window(reports: Iterable[tuple[float, Mapping[str, Any]]]) -> dict[str, Any]:
    """The window that is significant, of reports as (start, summary); BadInput for too few days."""
    stalls: dict[int, int] = defaultdict(int)
    measured_s: dict[int, float] = defaultdict(float)
    for at, summary in reports:
        for number, count in summary["stall_bins"]:
            stalls[number] += count
        end, n_cpus = at + summary["seconds"], summary.get("n_cpus", 1)
        for number in range(int(at // time_of_day.BIN_S), int(end // time_of_day.BIN_S) + 1):
            span = min(end, (number + 1) * time_of_day.BIN_S) - max(at, number * time_of_day.BIN_S)
            measured_s[number] += span * n_cpus
    found = time_of_day.detect_nightly(time_of_day.rate_stalls(stalls, measured_s))
    return {"headline": _describe(found), "n": found.of_days, **asdict(found)}


def find_instance_window(pool: int, instance: int) -> dict[str, Any]:
    """The same of one machine's reports; empty where it was not measured on enough days."""
    try:
        return find_daily_window(list_times(pool, instance, MOST_REPORTS))
    except BadInput:
        return {}


def _describe(found: time_of_day.Nightly) -> str:
    if not found.found:
        return f"No time of day differs in {found.of_days} days ({p_text(found.p_value)})"
    window = f"{_clock(found.start_minute)} to {_clock(found.end_minute)} UTC"
    often = f"{found.ratio:.1f}" if found.ratio < MOST_TIMES else f"over {MOST_TIMES}"
    return (
        f"Stalls return from {window}: {often} times the rest of the day, "
        f"on {found.days} of {found.of_days} days ({p_text(found.p_value)})"
    )


def _clock(minute: int) -> str:
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"
