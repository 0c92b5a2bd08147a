"""Collect the call times of a pool's good and bad machines from its network tests."""

from functools import lru_cache

from screening.decision.pools import find_server
from screening.statistics.histograms import Pairs, merge
from tasks.screening.payoff import Measured
from webapp.store.models import PoolInstance, PoolReport
from webapp.store.screening.selectors import BAD, GOOD, PoolRow
from webapp.store.screening.views import read_report

# Reports that are read, the newest: each is unpacked and checked again.
MOST_REPORTS = 200


def measure_calls(pool: PoolRow) -> Measured:
    """Call times by the truth about who answered; empty where a kind has none."""
    return _measure(pool.id, pool.revision)


@lru_cache(maxsize=8)
def _measure(pool: int, _revision: int) -> Measured:
    rows = PoolInstance.objects.filter(pool=pool).values_list("name", "label", "truth").order_by()
    truths = {name.lower(): label or truth for name, label, truth in rows}
    kept: dict[str, list[Pairs]] = {GOOD: [], BAD: []}
    found = PoolReport.objects.filter(pool=pool, has_network=True).order_by("-started_at")
    for row in found[:MOST_REPORTS]:
        try:
            calls = read_report(row).network
        except (OSError, ValueError):
            continue
        for call in calls:
            truth = truths.get(find_server(call).lower(), "")
            if truth in kept and call.histogram:
                kept[truth].append(call.histogram)
    return Measured(tuple(merge(kept[GOOD])), tuple(merge(kept[BAD])))
