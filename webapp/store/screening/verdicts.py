"""A report in, the figures and the verdict that its row keeps out; judged again when marks change.

What a row keeps is enough to judge by other marks without opening a pack.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from screening.decision.rate_interval import Rate
from screening.decision.verdict import (
    Marks,
    Verdict,
    explain,
    find_chances,
    find_verdict,
    is_sure,
)
from screening.report.parsing import CpuTiming, Report
from screening.statistics.time_of_day import BIN_S
from webapp.store.models import Pool, PoolInstance, PoolReport

# Number of virtual CPUs with figures in the row, worst first; the pack has all.
KEPT_CPUS = 16
# Few enough that reports which arrive meanwhile hardly wait.
AT_ONCE = 200
CPU_FIGURES = (
    "cpu",
    "mode",
    "seconds",
    "wakeups",
    "stalls_10ms",
    "p50_us",
    "p99_us",
    "p999_us",
    "max_us",
    "steal_ms",
    "run_delay_ms",
    "throttled_ms",
    "busy_ms",
    "own_share",
    "pinned",
)
CALL_FIGURES = (
    "server",
    "rate",
    "seconds",
    "calls",
    "lost",
    "late",
    "over_10ms",
    "p50_us",
    "p99_us",
    "p999_us",
    "max_us",
)


def summarise(report: Report, marks: Marks) -> dict[str, Any]:
    """Columns of a report's row, ``summary`` among them."""
    judged = find_verdict(report, marks)
    return {
        "report_id": report.report_id,
        "fingerprint": report.fingerprint,
        "started_at": datetime.fromtimestamp(report.started_at, UTC),
        "has_sleeps": bool(report.cpus),
        "has_network": bool(report.network),
        "has_battery": bool(report.battery),
        "verdict": judged.verdict if report.cpus else "",
        "per_100s": judged.rate.per_100s if judged.rate else None,
        "cause": judged.attribution.cause if judged.attribution else "",
        "summary": _summary(report, judged),
    }


def _summary(report: Report, judged: Verdict) -> dict[str, Any]:
    cause = judged.attribution
    names = [name for name, count in cause.stalls.items() if count] if cause else []
    return {
        "seconds": report.seconds,
        "sleep_us": report.sleep_us,
        "agent_version": report.agent_version,
        "notes": list(report.notes),
        **_figures(judged),
        "causes": {
            name: {"stalls": cause.stalls[name], "ms": round(cause.stalled_ms[name], 3)}
            for name in names
        }
        if cause
        else {},
        "evidence": list(cause.sentences) if cause else [],
        "n_cpus": len(report.cpus),
        "cpus": _cpus(report.cpus),
        "network": [
            {name: getattr(call, name) for name in CALL_FIGURES}
            for call in report.network[:KEPT_CPUS]
        ],
        "rounds": len(report.battery),
        "stall_bins": _bins(report),
    }


def _figures(judged: Verdict) -> dict[str, Any]:
    if judged.rate is None:
        return {
            "rate": None,
            "cpu": None,
            "p999_ms": None,
            "sure": False,
            "chances": {},
            "reasons": [],
        }
    rate = judged.rate
    return {
        "rate": {name: getattr(rate, name) for name in Rate.__slots__},
        "cpu": judged.cpu,
        "p999_ms": None if math.isnan(judged.p999_ms) else judged.p999_ms,
        "sure": judged.sure,
        "chances": judged.chances,
        "reasons": list(judged.reasons),
    }


def _cpus(cpus: Iterable[CpuTiming]) -> list[dict[str, Any]]:
    worst = sorted(cpus, key=lambda cpu: -cpu.stalls_10ms / cpu.seconds)[:KEPT_CPUS]
    return [{name: getattr(cpu, name) for name in CPU_FIGURES} for cpu in worst]


def _bins(report: Report) -> list[list[int]]:
    found = Counter(
        int((report.started_at + stall.at_us / 1e6) // BIN_S)
        for cpu in report.cpus
        for stall in cpu.stalls
    )
    return [[at, count] for at, count in sorted(found.items())]


def reevaluate(pool_id: int) -> int:
    """Judge every report of a pool by its present marks; gives how many verdicts moved.

    Nothing is written for reports that arrive meanwhile: they are judged by the new marks.
    """
    pool = Pool.objects.get(pk=pool_id)
    marks, moved, last = Marks(pool.low, pool.high), 0, 0
    while True:
        with transaction.atomic():
            rows = _next_rows(pool_id, last)
            if not rows:
                break
            moved += sum(_reevaluate_row(row, marks) for row in rows)
            _save(PoolReport, rows, ["verdict", "summary"])
            _update_instances(rows)
        last = rows[-1].pk
    Pool.objects.filter(pk=pool_id).update(revision=F("revision") + 1)
    return moved


def _next_rows(pool_id: int, last: int) -> list[PoolReport]:
    found = PoolReport.objects.filter(pool=pool_id, has_sleeps=True, pk__gt=last).order_by("pk")
    return list(found.select_for_update()[:AT_ONCE])


def _save(model: Any, rows: list[Any], names: Sequence[str]) -> None:
    """Write some columns of many rows that are there and locked: one statement, and no search."""
    model.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["id"], update_fields=list(names)
    )


def _reevaluate_row(row: PoolReport, marks: Marks) -> bool:
    before, summary = row.verdict, row.summary
    rate = Rate(**summary["rate"])
    chances = find_chances(rate, marks)
    row.verdict = marks.place(rate.count, rate.seconds)
    pinned = all(cpu["pinned"] for cpu in summary["cpus"] if cpu["cpu"] == summary["cpu"])
    sentences = explain(summary["cpu"], rate, marks, pinned=pinned)
    summary["chances"], summary["sure"] = chances, is_sure(row.verdict, chances)
    summary["reasons"] = [*sentences, *summary["evidence"]]
    return row.verdict != before


def _update_instances(rows: list[PoolReport]) -> None:
    """Update the verdicts of machines with a newest report among the rows."""
    newest: dict[tuple[int, datetime | None], PoolReport] = {
        (row.instance_id, row.started_at): row for row in rows
    }
    numbers = {row.instance_id for row in rows}
    found = PoolInstance.objects.select_for_update().filter(pk__in=numbers)
    changed = []
    for one in found:
        row = newest.get((one.pk, one.judged_from))
        if row is not None:
            copy_verdict(one, {"verdict": row.verdict, "cause": row.cause, "summary": row.summary})
            changed.append(one)
    if changed:
        _save(PoolInstance, changed, VERDICT_FIELDS)


VERDICT_FIELDS = (
    "verdict",
    "sure",
    "stalls",
    "seconds",
    "per_100s",
    "rate_low",
    "rate_high",
    "p999_ms",
    "good_chance",
    "cause",
)


def copy_verdict(one: PoolInstance, columns: Mapping[str, Any]) -> None:
    """Make a report's verdict that of its machine."""
    summary = columns["summary"]
    rate = summary["rate"]
    one.verdict, one.cause, one.sure = columns["verdict"], columns["cause"], summary["sure"]
    one.stalls, one.seconds = rate["count"], rate["seconds"]
    one.per_100s, one.rate_low, one.rate_high = rate["per_100s"], rate["low"], rate["high"]
    one.p999_ms = summary["p999_ms"]
    one.good_chance = summary["chances"].get("good", 0.0)
