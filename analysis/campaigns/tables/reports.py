"""What a page or a command shows in one piece: the wide-area report and the ISP report.

Both are plain data, ready to be written as JSON or a page; numbers are not rounded here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.aggregation.rounds import means_by_round
from analysis.campaigns.importers.csv_columns import Source, column_names
from analysis.campaigns.routes import diversity
from analysis.campaigns.tables import best_region, figures, zones
from analysis.optimization.single_regions import Alone

Report = dict[str, Any]
BOUNDS = (
    "Distinct ISPs are a lower bound: one that carried no measured route was not seen.",
    "Ends cut off are an upper bound: they may have ways that no traceroute took.",
    "Doubtful routes, with a silent or unannounced hop before the AS, are counted apart.",
)
# Said only where it is so.
INBOUND = "These routes lead towards the cloud: the way out may be another one."


def performance_report(
    source: Source,
    *,
    higher_is_better: bool = False,
    vantages: Sequence[str] = (),
    regions: Sequence[str] = (),
) -> Report:
    """Grid, Figures 14 or 15, the changing choice and zones; raises ``BadInput``.

    ``vantages`` and ``regions`` choose the bars of the figure; all else is about all of them.
    """
    grid = summarise(source)
    bars = figures.bars(grid)
    samples = means_by_round(source)
    alone = Alone(higher_is_better=higher_is_better)
    alone.add(samples)
    counts = figures.count_regions(bars, higher_is_better=higher_is_better)
    found = best_region.choose(samples, higher_is_better=higher_is_better)
    with_zones = "zone" in column_names(source)
    return {
        "grid": grid.to_pylist(),
        "figure": figures.bars(grid, vantages, regions),
        "averages": [{**row, **alone.means()[row["region"]]} for row in counts],
        "factors": figures.factors(bars, higher_is_better=higher_is_better),
        "choices": best_region.rows(found),
        "choice": best_region.summary(found),
        "zones": [asdict(c) for c in zones.compare_zones(source)] if with_zones else [],
        "regions_apart": zones.spread_of_regions(samples),
    }


def isp_report(routes: pa.Table, names: Mapping[int, str] | None = None) -> Report:
    """Table 14, shares, failures and reasons of the routes that ``isps.find_isps`` gave.

    ``names`` are those of ASes, as far as they are known.
    """
    known = names or {}
    by_zone, by_region = diversity.table(routes), diversity.table(routes, diversity.REGION)
    inbound = "to" in routes["direction"].unique().to_pylist()
    return {
        "totals": diversity.totals(routes),
        "table": diversity.zone_columns(by_zone),
        "zones": [_named(row, known, "largest") for row in by_zone],
        "regions": [_named(row, known, "largest") for row in by_region],
        "shares": [_named(row, known, "isp") for row in diversity.shares(routes)],
        "failures": [_named(row, known, "isp") for row in diversity.failures(routes)],
        "reasons": diversity.reasons(routes, diversity.REGION),
        "notes": [*BOUNDS, *([INBOUND] if inbound else [])],
    }


def _named(row: Report, names: Mapping[int, str], field: str) -> Report:
    return {**row, "name": names.get(row[field], "") if row[field] is not None else ""}
