"""Count failed runs by probe and status, per pair and per region or vantage point."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.campaigns.aggregation.counting import SampleCounts
from analysis.campaigns.aggregation.grouped_values import Integers
from analysis.campaigns.aggregation.keys import texts_of

Row = dict[str, Any]
OK = "OK"


def failed_runs(counted: SampleCounts) -> pa.Table:
    """Return failed runs of each pair, probe and status, sorted by vantage point."""
    regions, runs = _by_region(counted)
    owners = sorted(range(len(counted.vantages)), key=counted.vantages.__getitem__)
    ends = sorted(range(len(counted.ends)), key=counted.ends.__getitem__)
    wrong = [e for e in ends if counted.ends[e][1] != OK]
    own = runs[owners][:, :, wrong]
    at = np.nonzero(own)
    return pa.table(
        {
            "vantage": texts_of(at[0], [counted.vantages[i] for i in owners]),
            "region": texts_of(at[1], regions),
            "probe": texts_of(at[2], [counted.ends[e][0] for e in wrong]),
            "status": texts_of(at[2], [counted.ends[e][1] for e in wrong]),
            "runs": own[at],
        }
    )


def by_region(counted: SampleCounts) -> list[Row]:
    """Count failures by region, probe and reason; only the first row of a group has ``runs``.

    A region and probe without failures has one row without a reason.
    """
    regions, runs = _by_region(counted)
    return _rows_of("region", regions, runs.sum(axis=0), counted.ends)


def by_vantage(counted: SampleCounts) -> list[Row]:
    """Count failures by vantage point, probe and reason."""
    return _rows_of("vantage", counted.vantages, counted.runs.sum(axis=1), counted.ends)


def _by_region(counted: SampleCounts) -> tuple[list[str], Integers]:
    """Return sorted regions and runs, (n_vantages, n_regions, n_ends) int64."""
    names = [place[1] for place in counted.places]
    regions = sorted(set(names))
    order = sorted(range(len(names)), key=names.__getitem__)
    firsts = [i for i, at in enumerate(order) if i == 0 or names[at] != names[order[i - 1]]]
    found: Integers = np.add.reduceat(counted.runs[:, order], firsts, axis=1)
    return regions, found


def _rows_of(
    place: str, names: Sequence[str], runs: Integers, ends: Sequence[Sequence[str]]
) -> list[Row]:
    probes = sorted({probe for probe, _ in ends})
    own = {p: [i for i, (probe, _) in enumerate(ends) if probe == p] for p in probes}
    return [
        row
        for at in sorted(range(len(names)), key=names.__getitem__)
        for probe in probes
        if runs[at, own[probe]].any()
        for ended in [[(ends[e][1], int(runs[at, e])) for e in own[probe]]]
        for row in _rows(place, names[at], probe, ended)
    ]


def _rows(place: str, where: str, probe: str, ended: list[tuple[str, int]]) -> list[Row]:
    """Return the rows of one place and probe, the most frequent reason first."""
    runs = sum(n for _, n in ended)
    bad = sorted(((s, n) for s, n in ended if s != OK and n), key=lambda o: (-o[1], o[0]))
    return [
        {
            place: where,
            "probe": probe,
            "reason": status,
            "failed": failed,
            "share": failed / runs,
            "runs": 0 if at else runs,
        }
        for at, (status, failed) in enumerate(bad or [("", 0)])
    ]
