"""Find the truth about each called machine, and the heat map's cells, from network tests.

A call names its server by name or address; a server that never reported is added as a machine, so
that no measurement is dropped.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from screening.decision.ground_truth import Truth, find_slow_callers, find_truth
from screening.decision.pools import find_server
from screening.report.parsing import CallTiming, Report
from screening.statistics.histograms import find_percentile_ms
from webapp.store.models import Pool, PoolInstance, PoolReport
from webapp.store.screening.views import read_report

# Network reports that are read at most, the newest; each is unpacked and checked again.
MOST_REPORTS = 5_000
MOST_STRANGERS = 1_000


@dataclass(frozen=True, slots=True)
class Tested:
    """Calls and p99.9 by caller and server (numbers of machines).

    The ground truth leaves out the calls of ``slow_callers``.
    """

    calls: dict[tuple[int, int], list[CallTiming]]
    slow_callers: frozenset[int]
    cells: dict[tuple[int, int], float]
    reports: int
    unreadable: int


def settle_truth(pool: Pool) -> Tested:
    """Read every network test and bring the truth of all machines up to date."""
    rows = PoolReport.objects.filter(pool=pool, has_network=True).select_related("instance")
    known = _Directory(pool)
    calls: dict[tuple[int, int], list[CallTiming]] = {}
    cells: dict[tuple[int, int], float] = {}
    reports = unreadable = 0
    for row, report in _read(rows.order_by("-started_at", "-id")[:MOST_REPORTS]):
        if report is None:
            unreadable += 1
            continue
        reports += 1
        _add_calls(row.instance_id, report, known, calls, cells)
    slow = find_slow_callers(calls)
    answered: dict[int, list[CallTiming]] = {}
    for (caller, server), own in calls.items():
        if caller not in slow:
            answered.setdefault(server, []).extend(own)
    _save(pool, {server: find_truth(own) for server, own in answered.items()})
    return Tested(calls, slow, cells, reports, unreadable)


def _read(rows: Iterable[PoolReport]) -> Iterable[tuple[PoolReport, Report | None]]:
    for row in rows:
        try:
            yield row, read_report(row)
        except (OSError, ValueError):
            yield row, None


def _add_calls(
    caller: int,
    report: Report,
    known: "_Directory",
    calls: dict[tuple[int, int], list[CallTiming]],
    cells: dict[tuple[int, int], float],
) -> None:
    worst: dict[tuple[int, int], float] = {}
    for call in report.network:
        server = known.find(find_server(call))
        if server is None:
            continue
        calls.setdefault((caller, server), []).append(call)
        p999_ms = find_percentile_ms(call.histogram, 0.999)
        if server != caller and not math.isnan(p999_ms):
            worst[caller, server] = max(worst.get((caller, server), 0.0), p999_ms)
    # Reports come newest first, and the heat map shows the newest test of each pair.
    cells.update({pair: value for pair, value in worst.items() if pair not in cells})


class _Directory:
    """Machines of a pool by name and by address, those seen last first."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._made = pool, 0
        self._numbers: dict[str, int] = {}
        seen = PoolInstance.objects.filter(pool=pool).order_by("last_seen_at")
        rows = list(seen.values_list("pk", "name", "addresses"))
        for pk, _, addresses in rows:
            self._numbers.update(dict.fromkeys(map(str.lower, addresses), pk))
        # A name outranks an address that another machine once had.
        self._numbers.update({name.lower(): pk for pk, name, _ in rows})

    def find(self, server: str) -> int | None:
        """Number of a server's machine, which is made where there is none."""
        key = server.lower()
        if key not in self._numbers and self._made < MOST_STRANGERS:
            self._made += 1
            row, _ = PoolInstance.objects.get_or_create(
                pool=self._pool, name=server[:300], machine=""
            )
            self._numbers[key] = row.pk
        return self._numbers.get(key)


def _save(pool: Pool, truths: Mapping[int, Truth]) -> None:
    with transaction.atomic():
        # Only these three columns are written: reports that arrive meanwhile change the others.
        for one in PoolInstance.objects.filter(pool=pool).only("truth", "truth_sure"):
            values = _columns(truths.get(one.pk))
            if (one.truth, one.truth_sure) != ("", False) or values["truth"]:
                PoolInstance.objects.filter(pk=one.pk).update(**values)


def _columns(truth: Truth | None) -> dict[str, Any]:
    if truth is None:
        return {"truth": "", "truth_sure": False, "truth_p999_ms": None}
    worst = [each.p999_ms for each in truth.rates if not math.isnan(each.p999_ms)]
    return {
        "truth": truth.status,
        "truth_sure": truth.sure,
        "truth_p999_ms": max(worst) if worst else None,
    }
