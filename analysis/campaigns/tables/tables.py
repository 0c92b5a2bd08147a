"""Samples and routes of one campaign go in; the tables that its pages show come out.

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
from analysis.campaigns.aggregation.grouped_values import Held
from analysis.campaigns.aggregation.pivot import Pivot, pivot
from analysis.campaigns.importers.csv_columns import Equal, Source
from analysis.campaigns.routes.isp_tables import isp_tables
from analysis.campaigns.tables import best_region, failures, zones
from analysis.campaigns.tables.headlines import headline_of
from analysis.campaigns.tables.table_spec import MeasuredTable
from analysis.optimization.single_regions import Alone

Row = dict[str, Any]
THROUGHPUT_PROBES = ("throughput", "mlab-throughput")
# Probes whose values are round trips in milliseconds; others have pages of their own.
LATENCY_PROBES = ("tcp-ping", "icmp-echo", "globalping-ping", "matrix-rtt", "mlab-min-rtt")
# Pings of others are called by their method: ``ping-icmp``, ``ping-tcp-ack``.
PING_PREFIX = "ping-"


# Cells of vantage point, region and round whose means are held at once; more are no faster.
MOST_CELLS = 2_000_000
# Of a campaign with more such cells, no file by rounds is kept: each takes 100 bytes, and pages can
# read the rounds of a pair from its samples.
MOST_ROUNDS = 3_000_000
# Rows of a course over time, by region and round; of longer ones each so-manieth round is told.
MOST_COURSE = 20_000
# Vantage points that are told to fail, the worst first; the file of failed runs holds all.
MOST_FAILING = 300


class Metric(NamedTuple):
    """One thing that is measured: its probes, its unit, and whether more of it is better."""

    id: str
    unit: str
    probes: tuple[str, ...]
    higher_is_better: bool


METRICS = (
    Metric("latency", "ms", LATENCY_PROBES, False),
    Metric("throughput", "B/s", THROUGHPUT_PROBES, True),
)


@dataclass
class Built:
    """All tables of a campaign: ``reports`` are small, ``files`` are not."""

    reports: list[MeasuredTable] = field(default_factory=list)
    files: dict[str, pa.Table] = field(default_factory=dict)


def build(
    samples: Source, routes: pa.Table | None = None, names: Mapping[int, str] | None = None
) -> Built:
    """Every table that the samples and routes give; raises ``BadInput`` for foreign files."""
    built = Built()
    if isinstance(samples, pa.Table) or samples:
        _add_samples(built, samples)
    if routes is not None and routes.num_rows:
        for table_id, rows in isp_tables(routes, names or {}).items():
            built.reports.append(_told(table_id, rows))
    return built


def _is_of(probe: str, metric: Metric) -> bool:
    return probe in metric.probes or (metric.id == "latency" and probe.startswith(PING_PREFIX))


def _by_failures(row: Row) -> tuple[float, str, str]:
    return -row["share"], row["vantage"], row["probe"]


def _add_samples(built: Built, samples: Source) -> None:
    whole = counting.count(samples, {m.id: partial(_is_of, metric=m) for m in METRICS})
    for metric in METRICS:
        if metric.id in whole.metrics:
            own = tuple(sorted({p for p, _ in whole.ends if _is_of(p, metric)}))
            _add_metric(built, whole.metrics.pop(metric.id), metric, (samples, {"probe": own}))
    if len(whole.runs):
        built.files["failed-runs"] = failures.failed_runs(whole)
        built.reports.append(_told("failures", failures.by_region(whole)))
        worst = sorted(failures.by_vantage(whole), key=_by_failures)[:MOST_FAILING]
        built.reports.append(_told("failing-vantages", [r for r in worst if r["failed"]]))


def _add_metric(built: Built, held: Held, metric: Metric, rows: tuple[Source, Equal]) -> None:
    read = _read_parts(held, metric)
    means = pivot(read.grid, higher_is_better=metric.higher_is_better)
    built.files[f"{metric.id}-grid"] = read.grid
    if read.grid.num_rows * len(held.rounds) <= MOST_ROUNDS:
        rounds = summarise(rows[0], ("vantage", "region", "round"), rows[1])
        built.files[f"{metric.id}-rounds"] = _by_vantage(rounds)
    built.files[f"{metric.id}-vantages"] = _vantages(read.vantages, means, read.chosen)
    course, regions = read.across or _across(*rows)
    told: dict[str, Iterable[Row]] = {
        "regions": _regions(regions, means, read.alone),
        "course": _thinned(course, len(held.rounds)).to_pylist(),
        "choice": [best_region.summary(read.chosen)],
        "zones": [asdict(c) for c in zones.compare_means(read.zones)],
        "apart": [zones.median_apart(np.concatenate(read.apart))],
    }
    built.reports += [_told(f"{metric.id}-{name}", rows) for name, rows in told.items()]


def _thinned(course: pa.Table, rounds: int) -> pa.Table:
    """A course that is not too long; what it tells of a round stays what it was."""
    step = -(-course.num_rows // MOST_COURSE)
    if step <= 1:
        return course
    order = pc.rank(course["round"], tiebreaker="dense").to_numpy() - 1
    return course.filter(pa.array(order % min(step, rounds) == 0))


class _Read(NamedTuple):
    """What the values of all vantage points gave.

    ``across`` is the course and the regions, where all could be held at once.
    """

    grid: pa.Table
    vantages: pa.Table
    zones: pa.Table
    chosen: list[best_region.Choice]
    apart: list[Any]
    alone: Alone
    across: tuple[pa.Table, pa.Table] | None


def _read_parts(held: Held, metric: Metric) -> _Read:
    grids, vantages, by_zone, chosen, apart = [], [], [], list[best_region.Choice](), []
    across, alone = None, Alone(higher_is_better=metric.higher_is_better)
    for part in held.parts():
        grids.append(part.grid())
        vantages.append(part.by_vantage())
        by_zone.append(part.by_zone())
        for means in part.means(MOST_CELLS):
            chosen += best_region.choose(means, higher_is_better=metric.higher_is_better)
            apart.append(zones.apart_by_vantage(means))
            alone.add(means)
        if len(part.vantages) == len(held.vantages) and held.has_own_names:
            across = part.across()
    grid, told, zone_means = (pa.concat_tables(own) for own in (grids, vantages, by_zone))
    return _Read(grid, told, zone_means, chosen, apart, alone, across)


def _across(samples: Source, equal: Equal) -> tuple[pa.Table, pa.Table]:
    """The same, cell by cell from the files."""
    return (
        summarise(samples, ("region", "round"), equal),
        summarise(samples, ("provider", "region"), equal),
    )


def _told(table_id: str, rows: Iterable[Row]) -> MeasuredTable:
    kept = list(rows)
    columns = tuple(kept[0]) if kept else ()
    cells = [[_plain(row[c]) for c in columns] for row in kept]
    if table_id.endswith("-choice"):
        return MeasuredTable(
            table_id, columns, cells, kept[0]["vantages"], headline_of(table_id, kept)
        )
    counted = "routes" if "routes" in columns else "runs" if "runs" in columns else "n"
    n = sum(row[counted] or 0 for row in kept) if counted in columns else len(kept)
    return MeasuredTable(table_id, columns, cells, n, headline_of(table_id, kept))


def _plain(value: Any) -> Any:
    """What is no number is unknown: JSON knows no other way to say it."""
    return None if isinstance(value, float) and value != value else value


def _by_vantage(table: pa.Table) -> pa.Table:
    """In the order in which pages read: the vantage point first."""
    keys = [k for k in ("vantage", "region", "round") if k in table.column_names]
    rest = [c for c in table.column_names if c not in keys]
    return table.select([*keys, *rest]).sort_by([(k, "ascending") for k in keys])


def _regions(found: pa.Table, means: Pivot, alone: Alone) -> list[Row]:
    counts, values = means.counts(), alone.means()
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
        made = best_region.as_row(choice[name])
        # The mean of the best region, and the mean of the best of each round, are two figures.
        made["moving_mean"] = made.pop("best_mean")
        yield {**row, **own, **made}
