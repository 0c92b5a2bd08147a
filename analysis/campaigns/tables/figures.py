"""Figures 14 and 15: average throughput or latency between vantage points and regions."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from core.errors import BadInput

Row = dict[str, Any]


def bars(grid: pa.Table, vantages: Sequence[str] = (), regions: Sequence[str] = ()) -> list[Row]:
    """One bar per vantage point and region, with its spread (standard deviation) and n.

    Without names, all of the grid; in the order in which names are given. A pair without a value
    has a bar without one. Raises ``BadInput`` for a name that the grid does not have.
    """
    found = {(r["vantage"], r["region"]): r for r in grid.to_pylist()}
    chosen = [_choose(grid, "vantage", vantages), _choose(grid, "region", regions)]
    return [_bar(v, r, found.get((v, r), {})) for v in chosen[0] for r in chosen[1]]


def count_regions(bars_of_all: Sequence[Row], *, higher_is_better: bool = False) -> list[Row]:
    """Per region: how many vantage points have a value, how many none, and where it is the best."""
    best = _best(bars_of_all, higher_is_better)
    by_region: dict[str, list[Row]] = {}
    for bar in bars_of_all:
        by_region.setdefault(bar["region"], []).append(bar)
    return [
        {
            "region": region,
            "vantages": sum(b["mean"] is not None for b in own),
            "without_value": sum(b["mean"] is None for b in own),
            "best_for": sum(name == region for name in best.values()),
        }
        for region, own in by_region.items()
    ]


def factors(bars_of_all: Sequence[Row], *, higher_is_better: bool = False) -> list[Row]:
    """Per vantage point: the best and the worst region, and the factor between the two."""
    by_vantage: dict[str, list[Row]] = {}
    for bar in bars_of_all:
        if bar["mean"]:
            by_vantage.setdefault(bar["vantage"], []).append(bar)
    rows = []
    for vantage, own in by_vantage.items():
        low, high = min(own, key=_value), max(own, key=_value)
        best, worst = (high, low) if higher_is_better else (low, high)
        factor = high["mean"] / low["mean"]
        rows.append(
            {
                "vantage": vantage,
                "best": best["region"],
                "best_mean": best["mean"],
                "worst": worst["region"],
                "worst_mean": worst["mean"],
                "factor": factor,
            }
        )
    return sorted(rows, key=lambda r: -r["factor"])


def _bar(vantage: str, region: str, row: Row) -> Row:
    figures = {name: row.get(name) for name in ("mean", "sd", "p50", "p95", "p99")}
    counts = {name: row.get(name, 0) for name in ("n", "sent", "lost")}
    return {"vantage": vantage, "region": region, **figures, **counts}


def _choose(grid: pa.Table, key: str, names: Sequence[str]) -> list[str]:
    known = sorted(set(grid[key].to_pylist()))
    strange = [n for n in names if n not in known]
    if strange:
        raise BadInput(f"{strange[0]!r} has no samples", field=key)
    return list(names) or known


def _best(bars_of_all: Sequence[Row], higher_is_better: bool) -> dict[str, str]:
    found: dict[str, Row] = {}
    for bar in bars_of_all:
        before = found.get(bar["vantage"])
        if bar["mean"] is None:
            continue
        better = bar["mean"] > (before or bar)["mean"]
        worse = bar["mean"] < (before or bar)["mean"]
        if before is None or (better if higher_is_better else worse):
            found[bar["vantage"]] = bar
    return {vantage: bar["region"] for vantage, bar in found.items()}


def _value(bar: Row) -> float:
    return float(bar["mean"])
