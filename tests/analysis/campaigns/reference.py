"""The mean of each region, vantage point and round, row by row, and what follows by plain loops."""

import numpy as np
import pyarrow.parquet as pq

from analysis.optimization.model.samples import Samples
from core.errors import BadInput


def average_rounds(source):
    """The mean of the values of each cell as ``Samples``; a cell without values is nan."""
    tables = [source] if hasattr(source, "to_pylist") else [pq.read_table(path) for path in source]
    cells = {}
    for row in (row for table in tables for row in table.to_pylist()):
        key = row["region"], row["vantage"], str(row["round"])
        cells.setdefault(key, []).extend(row["values"])
    if not cells:
        raise BadInput("there are no such samples")
    names = [tuple(sorted({key[axis] for key in cells})) for axis in range(2)]
    rounds = tuple(sorted({key[2] for key in cells}, key=int))
    values = np.full((len(names[0]), len(names[1]), len(rounds)), np.nan)
    for (region, vantage, number), own in cells.items():
        if own:
            at = names[0].index(region), names[1].index(vantage), rounds.index(number)
            values[at] = np.mean(own)
    return Samples(names[0], names[1], rounds, values)


def count_regions(grid, higher_is_better=False):
    """By region: vantage points with a value, without one, and for which it is the best."""
    choose = max if higher_is_better else min
    best = [
        choose(own, key=lambda r: (r["mean"], 0))["region"] for own in _by_vantage(grid).values()
    ]
    vantages = len(set(grid["vantage"].to_pylist()))
    heard = [r["region"] for r in grid.to_pylist() if r["mean"] is not None]
    return {
        region: {
            "vantages": heard.count(region),
            "without_value": vantages - heard.count(region),
            "best_for": best.count(region),
        }
        for region in set(grid["region"].to_pylist())
    }


def find_factors(grid, higher_is_better=False):
    """By vantage point: its best and its worst region, and the factor between the two."""
    found = {}
    for vantage, own in _by_vantage(grid).items():
        low, high = min(own, key=lambda r: r["mean"]), max(own, key=lambda r: r["mean"])
        best, worst = (high, low) if higher_is_better else (low, high)
        found[vantage] = {
            "best": best["region"],
            "best_mean": best["mean"],
            "worst": worst["region"],
            "worst_mean": worst["mean"],
            "factor": high["mean"] / low["mean"],
        }
    return found


def _by_vantage(grid):
    found = {}
    for row in grid.to_pylist():
        if row["mean"]:
            found.setdefault(row["vantage"], []).append(row)
    return found
