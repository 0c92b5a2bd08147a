"""Samples go in; how many runs of which probe failed, where and why, comes out."""

from collections import Counter
from typing import Any

import pyarrow as pa

from analysis.wide_area.columns import Source, read_batches

Row = dict[str, Any]
OK = "OK"
_COLUMNS = ("region", "vantage", "probe", "status")


def tables(source: Source) -> dict[str, list[Row]]:
    """Failures by region and reason, and by vantage point and reason; raises ``BadInput``.

    A row without a failure stands where all runs went well, so that nobody is left out.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for batch in read_batches(source, _COLUMNS):
        grouped = (
            pa.Table.from_batches([batch]).group_by(list(_COLUMNS)).aggregate([([], "count_all")])
        )
        for row in grouped.to_pylist():
            counts[tuple(row[c] or "" for c in _COLUMNS)] += row["count_all"]
    return {
        "failures": _by(counts, 0, "region"),
        "failing-vantages": [r for r in _by(counts, 1, "vantage") if r["failed"]],
    }


def _by(counts: Counter[tuple[str, ...]], place: int, name: str) -> list[Row]:
    """One row per place, probe and reason; ``runs`` stands once per place and probe."""
    runs: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str, str]] = Counter()
    for key, n in counts.items():
        where, probe, status = key[place], key[2], key[3]
        runs[where, probe] += n
        if status != OK:
            failed[where, probe, status] += n
    rows = []
    for (where, probe), n in sorted(runs.items()):
        own = [(s, c) for (w, p, s), c in failed.items() if (w, p) == (where, probe)]
        for at, (status, count) in enumerate(sorted(own, key=lambda o: -o[1]) or [("", 0)]):
            rows.append(
                {name: where, "probe": probe, "reason": status, "failed": count,
                 "share": count / n, "runs": 0 if at else n}
            )  # fmt: skip
    return rows
