"""Compute and store a campaign's table of best region sets by size (Figure 16).

Solved by a worker once, after the campaign has its tables; pages and exports only read it.
"""

import logging
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from django.utils import timezone

from analysis.optimization import Measure, Objective, Samples, Study, static_study
from analysis.optimization.recommendations import unanswered
from analysis.optimization.uncertainty.figure16 import COLUMNS, SizeRow, k_regions
from tasks.platform.app import AWAY, app, queue
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign, CampaignReport

log = logging.getLogger(__name__)
METRICS = ("latency", "throughput")
# Regions times vantage points times rounds; larger campaigns are taken by the mean of their rounds.
MAX_CELLS = 20_000_000


def table_id(metric: str) -> str:
    """What the table of a metric is called."""
    return f"{metric}-k-regions"


def find(campaign: Campaign, metric: str) -> selectors.StoredTable | None:
    """The table, if it was solved after the campaign's newest tables, and has today's columns."""
    found = selectors.some_tables(campaign, table_id(metric)).get(table_id(metric))
    built = campaign.reported_at
    if found is None or tuple(found.columns) != COLUMNS:
        return None
    return found if built is None or found.computed_at >= built else None


def submit(campaign: Campaign, metric: str) -> bool:
    """Leave the table to a worker; false where no broker answers."""
    try:
        queue(solve, campaign.pk, metric)
    except AWAY as error:
        log.warning("best sets of %s wait for the broker: %s", campaign.slug, error)
        return False
    return True


@app.task(name="tasks.best_sets.solve")
def solve(pk: int, metric: str) -> None:
    """Solve and store the table, unless that has been done."""
    campaign = Campaign.objects.filter(pk=pk).first()
    if campaign is None or metric not in METRICS or find(campaign, metric):
        return
    build(campaign, metric)


def build(campaign: Campaign, metric: str) -> list[SizeRow]:
    """Solve all sizes and store the table; nothing is stored where nothing was measured."""
    samples = samples_of(campaign, metric)
    if samples is None:
        return []
    objective = Objective(Measure.LATENCY if metric == "latency" else Measure.THROUGHPUT)
    n = int(np.isfinite(samples.values).sum())
    rows = (
        k_regions(samples, objective)
        if samples.values.size <= MAX_CELLS
        else _by_clients(samples, objective)
    )
    cells = [[_cell(asdict(row)[name]) for name in COLUMNS] for row in rows]
    CampaignReport.objects.update_or_create(
        campaign=campaign,
        table_id=table_id(metric),
        defaults={
            "columns": list(COLUMNS),
            "rows": cells,
            "headline": headline_of(rows, metric),
            "n": n,
            "checks": [],
        },
    )
    # ``computed_at`` is of the first time; a table that was solved again is as new as its rows.
    table = CampaignReport.objects.filter(campaign=campaign, table_id=table_id(metric))
    table.update(computed_at=timezone.now())
    return rows


def _by_clients(samples: Samples, objective: Objective) -> list[SizeRow]:
    """Solve for the mean of each client's rounds, which for one region is the same figure."""
    whole = Study(samples, objective)
    rows = k_regions(static_study(whole).samples, objective)
    for place, row in enumerate(rows):
        _, silent = unanswered(samples, [samples.regions.index(name) for name in row.regions])
        rows[place] = replace(row, answered_share=1 - silent, left_out=whole.costs.left_out)
    return rows


def _cell(value: Any) -> Any:
    return "|".join(value) if isinstance(value, tuple) else value


def samples_of(campaign: Campaign, metric: str) -> Samples | None:
    """The mean of each region, vantage point and round; None where no value is known."""
    names = ["vantage", "region", "round", "mean"]
    table = selectors.read_table(campaign, f"{metric}-rounds", names)
    codes, orders = [], []
    for column in ("region", "vantage", "round"):
        words, numbers = np.unique(
            table[column].to_numpy(zero_copy_only=False), return_inverse=True
        )
        codes.append(numbers)
        orders.append(tuple(map(str, words.tolist())))
    shape = tuple(map(len, orders))
    if 0 in shape:
        return None
    values = np.full(shape, np.nan)
    values[tuple(codes)] = table["mean"].to_numpy(zero_copy_only=False).astype(np.float64)
    answered = ~np.isnan(values).all(axis=0)
    clients, rounds = answered.any(axis=1), answered.any(axis=0)
    if not clients.any():
        return None
    kept, periods = (
        tuple(n for n, is_heard in zip(order, heard, strict=True) if is_heard)
        for order, heard in zip(orders[1:], (clients, rounds), strict=True)
    )
    return Samples(orders[0], kept, periods, values[:, clients][:, :, rounds])


def headline_of(rows: list[SizeRow], metric: str) -> str:
    """The finding in one sentence."""
    if not rows:
        return ""
    first, third = rows[0], rows[min(2, len(rows) - 1)]
    if third.k == first.k:
        return f"{first.regions[0]} is the one region that serves all best"
    share = abs(third.per_round - first.per_round) / first.per_round if first.per_round else 0.0
    count = {2: "Two", 3: "Three"}[third.k]
    if metric == "latency":
        return f"{count} regions cut the mean latency of the best single one by {share * 100:.0f} %"
    return (
        f"{count} regions raise the mean throughput of the best single one by {share * 100:.0f} %"
    )
