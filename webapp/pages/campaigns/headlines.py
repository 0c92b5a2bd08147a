"""Sentences over a campaign's grid and map."""

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import Frame
from webapp.pages.ui import formatting
from webapp.store.campaigns import selectors

Row = dict[str, Any]


def grid_sentence(frame: Frame, figure: str) -> str:
    """Return the sentence that summarizes a figure over all pairs."""
    built = str(frame.row.reported_at or "")
    return _sentence(frame.row.pk, built, frame.metric.id, figure)


# One campaign in a million pairs takes tens of milliseconds; its tables change when they are built.
@lru_cache(maxsize=128)
def _sentence(pk: int, built: str, metric: str, figure: str) -> str:
    found = selectors.campaign_of(pk)
    columns = ["loss", "sent"] if figure == "loss" else [figure]
    table = selectors.read_table(found, f"{metric}-grid", columns)
    if figure == "loss":
        return describe_loss(table)
    values = table[figure].drop_null().to_numpy(zero_copy_only=False).astype(float)
    return describe(metric, figure, values, table.num_rows)


def describe(metric: str, figure: str, values: NDArray[np.float64], pairs: int) -> str:
    """The sentence of some values."""
    number = f"{formatting.count(pairs)} pair{'' if pairs == 1 else 's'}"
    if not len(values):
        return f"None of {number} has a value" if pairs else "No pair was measured"
    if figure == "n":
        return f"{number}, {formatting.count(int(values.sum()))} values"
    return _spread(metric, figure, values, pairs)


def describe_loss(table: pa.Table) -> str:
    """The sentence of what was lost, by ``loss`` and ``sent`` of each pair."""
    number = f"{formatting.count(table.num_rows)} pair{'' if table.num_rows == 1 else 's'}"
    known = table.filter(pc.is_valid(table["loss"]))
    if not known.num_rows:
        return f"None of {number} has a value" if table.num_rows else "No pair was measured"
    some = pc.sum(pc.greater(known["loss"], 0)).as_py()
    if not some:
        return f"Nothing was lost between {number}"
    worst = known.slice(np.argmax(known["loss"].to_numpy()), 1).to_pylist()[0]
    most = formatting.share_of(worst["loss"], worst["sent"])
    return f"{formatting.count(some)} of {number} lost something, the worst {most}"


_NAMES = {
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "mean": "mean",
    "sd": "spread",
}


def _spread(metric: str, figure: str, values: NDArray[np.float64], pairs: int) -> str:
    low, middle, high = (
        campaign_formatting.amount(metric, v) for v in np.quantile(values, (0.1, 0.5, 0.9))
    )
    of = f"{formatting.count(pairs)} pair{'' if pairs == 1 else 's'}"
    if len(values) < pairs:
        of = f"{formatting.count(len(values))} of {of}"
    what = f"a {_NAMES[figure]}"
    if len(values) == 1:
        return f"The one value of {of} is {what} of {middle}"
    if metric == "throughput" and figure != "sd":
        return f"Half of {of} have {what} of at least {middle}, one in ten below {low}"
    return f"Half of {of} have {what} within {middle}, one in ten beyond {high}"


def map_sentence(
    metric: campaign_formatting.Metric, chosen: Row, regions: list[Row], rows: list[Row]
) -> str:
    """What the map shows; ``rows`` are the far ends of what is chosen, the best first."""
    if not chosen:
        first = max(regions, key=lambda r: r["best_for"], default=None)
        of = sum(r["best_for"] for r in regions)
        if first is None or not of:
            return f"Every vantage point, by its {metric.best} region"
        who = f"{formatting.count(first['best_for'])} of {formatting.count(of)}"
        places = f"vantage point{'' if of == 1 else 's'}"
        return f"{first['region']} is the {metric.best} region for {who} {places}"
    known = [r for r in rows if r["p50"] is not None]
    if not known:
        return f"No answer between {chosen['title']} and {formatting.count(len(rows))} others"
    ends = [
        f"{campaign_formatting.amount(metric.id, r['p50'])} ({r['title']})"
        for r in (known[0], known[-1])
    ]
    spread = f"{ends[0]}" if len(known) == 1 else f"{ends[0]} to {ends[1]}"
    return f"{chosen['title']}: {spread}"
