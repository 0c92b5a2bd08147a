"""Analyse all reports of a pool into one document of findings, each with a headline.

A section that cannot be computed has the cause in ``reason``. Pages and API
show this document as it is.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from core.errors import BadInput
from core.wording import SMALL, number, p_text, share_of
from screening.decision import calibration, heatmap
from screening.statistics import persistence
from screening.statistics.status_errors import remove_errors
from tasks.screening.ground_truth import Tested
from tasks.screening.time_of_day import find_daily_window
from webapp.store.models import Pool, PoolInstance, PoolReport
from webapp.store.screening.selectors import BAD, GOOD, UNKNOWN

# Reports that the findings over time look at, the newest.
MOST_REPORTS = 100_000
MOST_NODES = 300
FEWEST_ROUNDS, FEWEST_INSTANCES = 3, 4
# A machine takes part in the rounds when it reported in so many of them.
PRESENT = 0.8
MOST_ROUNDS = 2_000
COLUMNS = ("instance_id", "started_at", "verdict", "summary")
Row = tuple[int, float, str, Mapping[str, Any]]


def find(pool: Pool, tested: Tested | None) -> dict[str, Any]:
    """All findings; without ``tested`` those of network tests stay as they are."""
    rows = _load(pool)
    machines = list(PoolInstance.objects.filter(pool=pool))
    before = pool.findings.get("heatmap", {"reason": "no network test has arrived yet"})
    return {
        "causes": _causes(rows),
        "calibration": _try(lambda: _calibrate(machines)),
        "persistence": _try(lambda: _persist(rows)),
        "nights": _try(lambda: find_daily_window([(at, summary) for _, at, _, summary in rows])),
        "heatmap": _try(lambda: _heatmap(machines, tested)) if tested else before,
    }


def _try(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    except BadInput as error:
        return {"reason": str(error)}


def _load(pool: Pool) -> list[Row]:
    found = PoolReport.objects.filter(pool=pool, has_sleeps=True).order_by("-started_at", "-id")
    rows = found.values_list(*COLUMNS)[:MOST_REPORTS].iterator(chunk_size=2_000)
    return [(pk, at.timestamp(), verdict, summary) for pk, at, verdict, summary in rows][::-1]


def _causes(rows: Sequence[Row]) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    machines: dict[str, set[int]] = defaultdict(set)
    for pk, _, _, summary in rows:
        for cause, own in summary["causes"].items():
            entry = found.setdefault(cause, {"stalls": 0, "ms": 0.0})
            entry["stalls"] += own["stalls"]
            entry["ms"] = round(entry["ms"] + own["ms"], 3)
            machines[cause].add(pk)
    total = sum(entry["stalls"] for entry in found.values())
    if not total:
        return {"reason": "nothing has stalled for 10 ms yet" if rows else "no report yet"}
    for cause, entry in found.items():
        entry["machines"] = len(machines[cause])
    most = max(found, key=lambda cause: found[cause]["stalls"])
    part = found[most]["stalls"]
    return {
        "headline": f"{part:,} of {number(total, 'stall')} {'is' if part == 1 else 'are'} of the "
        f"cause {most}",
        "n": total,
        "by_cause": dict(sorted(found.items(), key=lambda item: -item[1]["stalls"])),
    }


def _calibrate(machines: Sequence[PoolInstance]) -> dict[str, Any]:
    """The mark that separates machines with known truth, by label or by network test."""
    known = [
        (one.per_100s, one.label or one.truth, bool(one.label))
        for one in machines
        if one.per_100s is not None
    ]
    fit = [
        (rate, truth == GOOD, labelled) for rate, truth, labelled in known if truth in (GOOD, BAD)
    ]
    rates = np.array([rate for rate, _, _ in fit], dtype=np.float64)
    good = np.array([is_good for _, is_good, _ in fit], dtype=bool)
    found = calibration.calibrate(rates, good)
    chosen, held = found.chosen, found.held_out
    low, high = found.mark_interval
    return {
        "headline": f"A threshold of {chosen.low:g} stalls per 100 s ({low:g} to {high:g}) calls "
        f"{_describe_share(held.false_positive, found.bad)} bad ones good and misses "
        f"{_describe_share(held.false_negative, found.good)} good ones",
        "n": len(fit),
        "labelled": sum(labelled for _, _, labelled in fit),
        **asdict(found),
    }


def _describe_share(share: float, whole: int) -> str:
    """A share of machines before a noun: counts if they are few."""
    of = "" if whole < SMALL else " of the"
    return share_of(share, whole, lambda value: f"{100 * value:.0f} %") + of


def _persist(rows: Sequence[Row]) -> dict[str, Any]:
    series: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for pk, at, verdict, _ in rows:
        if verdict and verdict != UNKNOWN:
            series[str(pk)].append((at, verdict == GOOD))
    judged = persistence.find_periods(series)
    if not judged:
        raise BadInput("no machine has reported twice yet: run the agent again later")
    periods = persistence.find_periods(remove_errors(series))
    found = persistence.describe(periods)
    return {
        "headline": f"{100 * found.unchanged:.0f} % of {found.hours:,.0f} machine hours passed "
        f"without a change of status ({found.instances} machines, {found.changes} changes)",
        "n": found.instances,
        **asdict(found),
        # The same of the verdicts as they are, with their errors.
        "as_judged": asdict(persistence.describe(judged)),
        "distribution": persistence.find_distribution(periods),
        "test": _try(lambda: _check_memory(series)),
    }


def _check_memory(series: Mapping[str, Sequence[tuple[float, bool]]]) -> dict[str, Any]:
    table = _build_rounds(series)
    if len(table) < FEWEST_ROUNDS or table.shape[1] < FEWEST_INSTANCES:
        raise BadInput(
            f"the test needs {FEWEST_INSTANCES} machines that report at the same time, "
            f"{FEWEST_ROUNDS} times"
        )
    found = persistence.check_persistence(table)
    fewer = "fewer changes than" if found.p_value <= 0.05 else "no fewer changes than"
    return {
        "headline": f"{found.changes} changes where {found.expected_changes:.0f} are expected "
        f"without memory: {fewer} by chance ({p_text(found.p_value)})",
        **asdict(found),
    }


def _build_rounds(series: Mapping[str, Sequence[tuple[float, bool]]]) -> Any:
    """Statuses by round (rows) and machine, of those that are there in nearly all rounds."""
    gaps = [
        b[0] - a[0] for points in series.values() for a, b in zip(points, points[1:], strict=False)
    ]
    length_s = max(float(np.median(gaps)) if gaps else 0.0, 60.0)
    table: dict[int, dict[str, bool]] = defaultdict(dict)
    for name, points in series.items():
        for at, good in points:
            table[int(at // length_s)][name] = good
    rounds = [table[at] for at in sorted(table)[-MOST_ROUNDS:]]
    there = [
        name for name in series if sum(name in each for each in rounds) >= PRESENT * len(rounds)
    ]
    full = [each for each in rounds if all(name in each for name in there)]
    return np.array([[each[name] for name in there] for each in full], dtype=bool).reshape(
        len(full), len(there)
    )


def _heatmap(machines: Sequence[PoolInstance], tested: Tested) -> dict[str, Any]:
    names = {one.pk: one.name for one in machines}
    # Two machines may have one name; their numbers are what the table is made by.
    cells = [
        (str(a), str(b), value)
        for (a, b), value in tested.cells.items()
        if a in names and b in names
    ]
    if not cells:
        raise BadInput("no network test has arrived yet: run the agent with --server and --client")
    keys, matrix = heatmap.build_matrix(cells)
    if len(keys) > MOST_NODES:
        raise BadInput(f"the heat map shows at most {MOST_NODES} machines, not {len(keys)}")
    shown = [[None if math.isnan(x) else round(float(x), 3) for x in row] for row in matrix]
    labels = [names[int(key)] for key in keys]
    return {
        "n": len(cells),
        "reports": tested.reports,
        "slow_callers": sorted(names[pk] for pk in tested.slow_callers if pk in names),
        "ids": [int(key) for key in keys],
        "names": labels,
        "p999_ms": shown,
        **_describe_nodes(labels, matrix),
    }


def _describe_nodes(labels: Sequence[str], matrix: Any) -> dict[str, Any]:
    try:
        found = heatmap.check_nodes(matrix)
    except BadInput as error:
        return {
            "headline": f"{len(labels)} machines called each other",
            "test": None,
            "bad": [],
            "test_reason": str(error),
        }
    stated = {
        "node": "Long tails follow machines, for all of their callers",
        "path": "Long tails are alike in both directions, those of paths or of machines that stall "
        "as clients too",
        "nothing": "Neither machines nor paths stand out",
    }[found.property_of]
    bad = [labels[at] for at in found.bad]
    return {
        "headline": f"{stated}; {len(bad)} of {len(labels)} have a p99.9 of 10 ms or more",
        "test": asdict(found),
        "bad": bad,
    }
