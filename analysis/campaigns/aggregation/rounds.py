"""Samples go in; the mean of each region, vantage point and round comes out as one matrix.

The matrix is that of the choice of regions, so both speak about the same values.
"""

import numpy as np

from analysis.campaigns.aggregation import kernels
from analysis.campaigns.aggregation.grid import Cells, rows_of, summarise
from analysis.campaigns.importers.csv_columns import Equal, Source
from analysis.optimization.model.samples import Samples
from core.errors import BadInput

_KEYS = ("region", "vantage", "round")


def means_by_round(source: Source, equal: Equal | None = None) -> Samples:
    """The mean of the values of each cell, lost ones left out; raises ``BadInput``.

    A cell without a value is not a number. Regions, vantage points and rounds are in order.
    """
    cells = Cells(_KEYS)
    if not cells.learn(source, equal):
        raise BadInput("there are no such samples")
    totals = np.zeros(cells.count)
    counts = np.zeros(cells.count, np.uint32)
    for rows in rows_of(source, cells, equal):
        kernels.sum_values(rows.cells, rows.ends, rows.values, totals, counts)
    totals[counts == 0] = np.nan
    np.divide(totals, counts, out=totals, where=counts > 0)
    values = totals.reshape(cells.shape)
    orders = cells.orders
    for axis, order in enumerate(orders):
        values = values if order == sorted(order) else np.take(values, order, axis=axis)
    names = [
        tuple(str(w.values[i]) for i in order) for w, order in zip(cells.words, orders, strict=True)
    ]
    return Samples(names[0], names[1], names[2], values)


def course(source: Source, region: str, vantage: str = "") -> list[dict[str, float | int]]:
    """The figures of each round of a region, of one vantage point or of all together."""
    equal: Equal = {"region": region}
    if vantage:
        equal["vantage"] = vantage
    found: list[dict[str, float | int]] = summarise(source, ("round",), equal).to_pylist()
    return found
