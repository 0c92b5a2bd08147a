"""Build all tables of one campaign from its samples and routes.

Small tables are plain rows with a headline; those that grow with vantage points or rounds are
Arrow tables, sorted by vantage point, of which a page reads a part.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.campaigns.aggregation import counting
from analysis.campaigns.aggregation.grid import summarise
from analysis.campaigns.aggregation.grouped_values import GroupedValues
from analysis.campaigns.aggregation.pivot import Pivot, build_pivot
from analysis.campaigns.importers.csv_columns import Equal, Source
from analysis.campaigns.probe_reports.summaries import build_probe_tables
from analysis.campaigns.routes.isp_tables import isp_tables
from analysis.campaigns.routes.path_runs import build_path_runs
from analysis.campaigns.tables import best_region, failures, zones
from analysis.campaigns.tables.headlines import headline_of
from analysis.campaigns.tables.latency_changes import latency_changes
from analysis.campaigns.tables.table_spec import MeasuredTable
from analysis.optimization.single_regions import SingleRegions

Row = dict[str, Any]
THROUGHPUT_PROBES = ("throughput", "mlab-throughput")
# Probes that measure round-trip times in milliseconds; others have a report of their own in
# ``analysis.campaigns.probe_reports``. Our own
# probes of a metric declare it as ``METRIC`` in ``probes/kinds/``, and a test compares both.
LATENCY_PROBES = ("tcp-ping", "icmp-echo", "globalping-ping", "matrix-rtt", "mlab-min-rtt")
# Imported pings are named after their method: ``ping-icmp``, ``ping-tcp-ack``.
PING_PREFIX = "ping-"


# Cells (vantage point, region, round) processed at once; more are no faster.
MAX_CELLS = 2_000_000
# A campaign with more such cells gets no file by rounds: each takes 100 bytes, and pages can
# read the rounds of a pair from its samples.
MAX_ROUND_ROWS = 3_000_000
# Rows of the time series by region and round; longer series are thinned to every n-th round.
MAX_COURSE_ROWS = 20_000
# Failing vantage points that are listed, worst first; the file of failed runs holds all.
MAX_FAILING_ROWS = 300


class Metric(NamedTuple):
    """A metric: its probes, its unit, and whether higher values are better."""

    id: str
    unit: str
    probes: tuple[str, ...]
    higher_is_better: bool


METRICS = (
    Metric("latency", "ms", LATENCY_PROBES, False),
    Metric("throughput", "B/s", THROUGHPUT_PROBES, True),
)


@dataclass
class CampaignTables:
    """All tables of a campaign: ``reports`` are small, ``files`` are not."""

    reports: list[MeasuredTable] = field(default_factory=list)
    files: dict[str, pa.Table] = field(default_factory=dict)


def build_tables(
    samples: Source,
    routes: pa.Table | None = None,
    names: Mapping[int, str] | None = None,
    paths: Source = None,
) -> CampaignTables:
    """Build every table that samples, routes and paths allow; raise ``BadInput`` for other files.

    ``routes`` has the ISPs of the traceroutes in ``paths``; ``names`` maps AS numbers to names.
    """
    tables = CampaignTables()
    if isinstance(samples, pa.Table) or samples:
        _add_samples(tables, samples)
        tables.files.update(build_probe_tables(samples))
    if paths:
        tables.files.update(build_probe_tables(build_path_runs(paths)))
    if routes is not None and routes.num_rows:
        for table_id, rows in isp_tables(routes, names or {}).items():
            tables.reports.append(_to_table(table_id, rows))
    return tables


def _is_of(probe: str, metric: Metric) -> bool:
    return probe in metric.probes or (metric.id == "latency" and probe.startswith(PING_PREFIX))


def _by_failures(row: Row) -> tuple[float, str, str]:
    return -row["share"], row["vantage"], row["probe"]


def _add_samples(tables: CampaignTables, samples: Source) -> None:
    whole = counting.count_samples(samples, {m.id: partial(_is_of, metric=m) for m in METRICS})
    for metric in METRICS:
        if metric.id in whole.metrics:
            own = tuple(sorted({p for p, _ in whole.ends if _is_of(p, metric)}))
            _add_metric(tables, whole.metrics.pop(metric.id), metric, (samples, {"probe": own}))
    if len(whole.runs):
        tables.files["failed-runs"] = failures.failed_runs(whole)
        tables.reports.append(_to_table("failures", failures.by_region(whole)))
        worst = sorted(failures.by_vantage(whole), key=_by_failures)[:MAX_FAILING_ROWS]
        tables.reports.append(_to_table("failing-vantages", [r for r in worst if r["failed"]]))


def _add_metric(
    tables: CampaignTables, grouped: GroupedValues, metric: Metric, rows: tuple[Source, Equal]
) -> None:
    read = _read_parts(grouped, metric)
    means = build_pivot(read.grid, higher_is_better=metric.higher_is_better)
    tables.files[f"{metric.id}-grid"] = read.grid
    if read.grid.num_rows * len(grouped.rounds) <= MAX_ROUND_ROWS:
        rounds = summarise(rows[0], ("vantage", "region", "round"), rows[1])
        tables.files[f"{metric.id}-rounds"] = _by_vantage(rounds)
        if metric.unit == "ms":
            changes = latency_changes(tables.files[f"{metric.id}-rounds"])
            tables.files[f"{metric.id}-changes"] = changes
    tables.files[f"{metric.id}-vantages"] = _vantages(read.vantages, means, read.chosen)
    course, regions = read.across or _across(*rows)
    rows_by_table: dict[str, Iterable[Row]] = {
        "regions": _regions(regions, means, read.single_regions),
        "course": _thinned(course, len(grouped.rounds)).to_pylist(),
        "choice": [best_region.summarise_choices(read.chosen)],
        "zones": [asdict(c) for c in zones.compare_means(read.zones)],
        "apart": [zones.median_spread(np.concatenate(read.spreads))],
    }
    tables.reports += [
        _to_table(f"{metric.id}-{name}", rows) for name, rows in rows_by_table.items()
    ]


def _thinned(course: pa.Table, rounds: int) -> pa.Table:
    """Thin a time series to every n-th round; the values of a round do not change."""
    step = -(-course.num_rows // MAX_COURSE_ROWS)
    if step <= 1:
        return course
    order = pc.rank(course["round"], tiebreaker="dense").to_numpy() - 1
    return course.filter(pa.array(order % min(step, rounds) == 0))


class _MetricTables(NamedTuple):
    """The tables of one metric over all vantage points.

    ``across`` is (time series, regions) where all values fit into memory at once, else None.
    """

    grid: pa.Table
    vantages: pa.Table
    zones: pa.Table
    chosen: list[best_region.Choice]
    spreads: list[Any]
    single_regions: SingleRegions
    across: tuple[pa.Table, pa.Table] | None


def _read_parts(grouped: GroupedValues, metric: Metric) -> _MetricTables:
    grids, vantages, by_zone, chosen, spreads = [], [], [], list[best_region.Choice](), []
    across, single_regions = None, SingleRegions(higher_is_better=metric.higher_is_better)
    for part in grouped.parts():
        grids.append(part.grid())
        vantages.append(part.by_vantage())
        by_zone.append(part.by_zone())
        for means in part.means(MAX_CELLS):
            chosen += best_region.choose_regions(means, higher_is_better=metric.higher_is_better)
            spreads.append(zones.relative_spreads(means))
            single_regions.add(means)
        if len(part.vantages) == len(grouped.vantages) and grouped.has_unique_regions:
            across = part.across()
    grid, vantage_table, zone_means = (pa.concat_tables(own) for own in (grids, vantages, by_zone))
    return _MetricTables(grid, vantage_table, zone_means, chosen, spreads, single_regions, across)


def _across(samples: Source, equal: Equal) -> tuple[pa.Table, pa.Table]:
    """Compute time series and regions from the files, where values do not fit into memory."""
    return (
        summarise(samples, ("region", "round"), equal),
        summarise(samples, ("provider", "region"), equal),
    )


def _to_table(table_id: str, rows: Iterable[Row]) -> MeasuredTable:
    kept = list(rows)
    columns = tuple(kept[0]) if kept else ()
    cells = [[_nan_to_none(row[c]) for c in columns] for row in kept]
    if table_id.endswith("-choice"):
        return MeasuredTable(
            table_id, columns, cells, kept[0]["vantages"], headline_of(table_id, kept)
        )
    counted = "routes" if "routes" in columns else "runs" if "runs" in columns else "n"
    n = sum(row[counted] or 0 for row in kept) if counted in columns else len(kept)
    return MeasuredTable(table_id, columns, cells, n, headline_of(table_id, kept))


def _nan_to_none(value: Any) -> Any:
    """Return None for NaN, which JSON cannot represent."""
    return None if isinstance(value, float) and value != value else value


def _by_vantage(table: pa.Table) -> pa.Table:
    """Sort rows by vantage point, region and round, the order in which pages read them."""
    keys = [k for k in ("vantage", "region", "round") if k in table.column_names]
    rest = [c for c in table.column_names if c not in keys]
    return table.select([*keys, *rest]).sort_by([(k, "ascending") for k in keys])


def _regions(found: pa.Table, means: Pivot, single_regions: SingleRegions) -> list[Row]:
    counts, values = means.counts(), single_regions.means()
    # A region to which nothing could be sent is in no pair.
    none = {"vantages": 0, "without_value": len(means.vantages), "best_for": 0}
    return [
        {**row, **values[row["region"]], **counts.get(row["region"], none)}
        for row in found.to_pylist()
    ]


def _vantages(found: pa.Table, means: Pivot, chosen: list[best_region.Choice]) -> pa.Table:
    choice = {c.vantage: c for c in chosen}
    return pa.Table.from_pylist(list(_vantage_rows(found, means.factors(), choice)))


def _vantage_rows(
    found: pa.Table, factors: Mapping[str, Row], choice: Mapping[str, best_region.Choice]
) -> Iterator[Row]:
    for row in found.to_pylist():
        name = row["vantage"]
        factor = factors.get(name, {})
        own = {k: factor.get(k) for k in ("best", "best_mean", "worst", "worst_mean", "factor")}
        fields = best_region.as_row(choice[name])
        # The mean of the best region, and the mean of the best of each round, are two figures.
        fields["moving_mean"] = fields.pop("best_mean")
        yield {**row, **own, **fields}
