"""Regions compared: Figures 14 and 15, the choice that moves, and zones of one region."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from webapp.pages.campaigns.frame import Frame, frame_or_404, paginate, round_start
from webapp.pages.ui.charts.svg import Axis, consecutive_runs
from webapp.pages.ui.links import with_query
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
# The figures show 15 places and three regions.
SHOWN_VANTAGES, SHOWN_REGIONS = 15, 3
BAR_PX, GAP_PX = 9.0, 9.0
VANTAGES_A_PAGE = 50
_THE_PAPERS = ("us-east-1", "us-west-1", "us-west-2")
# IMC'13 section 4.5.1, by region: mean latency in ms and mean rate in bytes per second.
PUBLISHED = {
    "latency": {"us-west-1": 130.0, "us-west-2": 145.0},
    "throughput": {"us-west-1": 1_143_000.0, "us-west-2": 895_000.0},
}
# Figure 16 at k = 1: the best single region for all clients.
PUBLISHED_BEST = {"latency": 184.0, "throughput": 845_000.0}


@dataclass(frozen=True, slots=True)
class _Shape:
    """The layout of the bars, in units of the drawing: labels are to their left, or above them."""

    name: str
    bars_px: float
    left_px: float
    right_px: float
    above_px: float
    ticks: int


# The page shows the tall one on phones.
_SHAPES = (
    _Shape("wide", 520.0, left_px=150.0, right_px=70.0, above_px=0.0, ticks=6),
    _Shape("tall", 310.0, left_px=4.0, right_px=26.0, above_px=18.0, ticks=4),
)


@require_GET
def figures(request: HttpRequest, slug: str) -> HttpResponse:
    """Bars of chosen places and regions, with their spread, beside what was published."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    stored = selectors.some_tables(frame.row, f"{metric}-regions")
    lead = stored.get(f"{metric}-regions")
    averages = lead.dicts() if lead else []
    names = selectors.grid_vantages(frame.row, metric)
    points = vantage_places(frame.row, names)
    chosen = _chosen(request, names, points, [r["region"] for r in averages])
    more = {
        "lead": lead,
        "averages": [_average(frame, r, averages) for r in averages],
        "published_best": PUBLISHED_BEST[metric],
        "chosen": chosen,
        "chart": _bars(frame, chosen, points),
        "factors": _factors(frame, points),
        "all_regions": [r["region"] for r in averages],
        "shown_query": "&".join(
            [f"region={r}" for r in chosen["regions"]]
            + [f"vantage={v}" for v in chosen["vantages"]]
        ),
    }
    return render(request, "campaigns/figures.html", frame.context(request, **more))


def _average(frame: Frame, row: Row, rows: list[Row]) -> Row:
    most = max((r["vantage_mean"] or 0 for r in rows), default=0) or 1
    published = PUBLISHED[frame.metric.id].get(row["region"])
    mean = row["vantage_mean"]
    return {
        **row,
        "published": published,
        "part": (mean or 0) / most,
        "mark": min(1.0, published / most) if published else None,
    }


def _chosen(
    request: HttpRequest, names: list[str], points: dict[str, Any], regions: list[str]
) -> Row:
    """Which places and regions are drawn: those asked for, or the paper's as far as they are."""
    asked = [v for v in request.GET.getlist("vantage") if v in set(names)]
    wanted = [r for r in request.GET.getlist("region") if r in regions]
    papers = [r for r in _THE_PAPERS if r in regions]
    vantages = asked[:40] or _spread(names, points)
    return {
        "vantages": vantages,
        "regions": (wanted or papers or regions)[:8][: 8 if wanted else SHOWN_REGIONS],
    }


def _spread(names: list[str], points: dict[str, Any]) -> list[str]:
    """Fifteen places, the two that the text speaks of among them, from all over the world."""
    named = [n for n in names if n in points and points[n].city in ("Seattle", "Boulder")]
    rest = [n for n in names if n not in named]
    order = sorted(rest, key=lambda n: (points[n].lon or 0.0) if n in points else 0.0)
    room = min(SHOWN_VANTAGES - len(named), len(order))
    return named + [order[i * len(order) // room] for i in range(room)]


def _bars(frame: Frame, chosen: Row, points: dict[str, Any]) -> Row | None:
    """One group of bars per place; the drawing is as high as it has bars."""
    equal = {"vantage": chosen["vantages"], "region": chosen["regions"]}
    columns = ["vantage", "region", "n", "mean", "sd"]
    if not chosen["vantages"] or not chosen["regions"]:
        return None
    found = selectors.read_table(frame.row, f"{frame.metric.id}-grid", columns, equal).to_pylist()
    cells = {(r["vantage"], r["region"]): r for r in found}
    tops = [r["mean"] + (r["sd"] or 0.0) for r in found if r["mean"] is not None]
    if not tops:
        return None
    labels = {v: p.city if (p := points.get(v)) and p.city else v for v in chosen["vantages"]}
    return {"shapes": [_drawing(shape, max(tops), cells, labels, chosen) for shape in _SHAPES]}


def _drawing(
    shape: _Shape,
    most: float,
    cells: dict[tuple[str, str], Row],
    labels: dict[str, str],
    chosen: Row,
) -> dict[str, Any]:
    axis = Axis(0.0, most, 0.0, shape.bars_px)
    groups, y = [], 0.0
    for name in chosen["vantages"]:
        start = y + shape.above_px
        bars = [
            _bar(axis, cells.get((name, region)), region, at, start + at * (BAR_PX + 2))
            for at, region in enumerate(chosen["regions"])
        ]
        height = len(bars) * (BAR_PX + 2)
        label_y = y + 9 if shape.above_px else y + height / 2
        groups.append({"label": labels[name], "bars": bars, "label_y": label_y})
        y = start + height + GAP_PX
    return {
        "name": shape.name,
        "groups": groups,
        "height": y,
        "lines": [{"x": axis.at(v), "value": v} for v in axis.ticks(shape.ticks)],
        "left": -shape.left_px,
        "width": shape.left_px + shape.bars_px + shape.right_px,
        "is_above": bool(shape.above_px),
    }


def _bar(axis: Axis, cell: Row | None, region: str, at: int, y: float) -> Row:
    made = {"region": region, "y": y, "kind": at % 8, "height": BAR_PX, "mean": None, "n": 0}
    if not cell or cell["mean"] is None:
        return made
    mean, sd = cell["mean"], cell["sd"] or 0.0
    return {
        **made,
        **cell,
        "x": axis.at(0),
        "width": round(axis.at(mean) - axis.at(0), 1),
        "low": axis.at(max(0.0, mean - sd)),
        "high": axis.at(mean + sd),
    }


def _factors(frame: Frame, points: dict[str, Any]) -> list[Row]:
    """Where the region matters most: the ten largest factors between worst and best."""
    columns = ["vantage", "best", "best_mean", "worst", "worst_mean", "factor"]
    names = selectors.grid_vantages(frame.row, frame.metric.id, figure="factor", descending=True)
    table = selectors.read_table(
        frame.row, f"{frame.metric.id}-vantages", columns, {"vantage": names[:10]}
    )
    rows = [r for r in table.to_pylist() if r["factor"]]
    for row in rows:
        point = points.get(row["vantage"])
        row["city"] = point.city if point and point.city else row["vantage"]
    return sorted(rows, key=lambda r: -r["factor"])


@require_GET
def choice(request: HttpRequest, slug: str) -> HttpResponse:
    """How often the best region is another than the usual one, and what moving would gain."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    stored = selectors.some_tables(frame.row, f"{metric}-choice")
    lead = stored.get(f"{metric}-choice")
    names = selectors.grid_vantages(frame.row, metric, figure="differs", descending=True)
    page = paginate(request, len(names), VANTAGES_A_PAGE)
    first = (page["page"] - 1) * VANTAGES_A_PAGE
    shown = names[first : first + VANTAGES_A_PAGE]
    rows = _choices(frame, shown)
    asked = request.GET.get("vantage", "")
    looked_at = asked if asked in set(names) else (shown[0] if shown else "")
    more = {
        "lead": lead,
        "summary": lead.dicts()[0] if lead and lead.rows else {},
        "rows": [
            {
                **r,
                "href": with_query(request, vantage=r["vantage"]) + "#rounds",
                "is_chosen": r["vantage"] == looked_at,
            }
            for r in rows
        ],
        "spread": _spread_of(frame),
        "strip": _strip(frame, looked_at) if looked_at else None,
        "pager": page,
        "params": f"metric={metric}",
    }
    return render(request, "campaigns/choice.html", frame.context(request, **more))


_CHOICE = [
    "vantage",
    "fixed",
    "rounds",
    "differs",
    "unanswered",
    "changes",
    "regions",
    "fixed_mean",
    "moving_mean",
    "gain",
    "gain_share",
]


def _choices(frame: Frame, names: list[str]) -> list[Row]:
    table = selectors.read_table(
        frame.row, f"{frame.metric.id}-vantages", _CHOICE, {"vantage": names}
    )
    points = vantage_places(frame.row, names)
    found = {r["vantage"]: r for r in table.to_pylist()}
    for name, row in found.items():
        row["city"] = points[name].city if name in points and points[name].city else name
    return [found[n] for n in names if n in found]


_STEPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def _spread_of(frame: Frame) -> list[Row]:
    """How many vantage points fall into each class of shares."""
    table = selectors.read_table(frame.row, f"{frame.metric.id}-vantages", ["differs"])
    values = [v for v in table["differs"].to_pylist() if v is not None] if table.num_rows else []
    if not values:
        return []
    classes = [("never", sum(v == 0 for v in values))]
    ends = [*_STEPS, 1.01]
    for low, high in zip(ends, ends[1:], strict=False):
        name = f"over {_STEPS[-1] * 100:.0f} %" if high > 1 else f"to {high * 100:.0f} %"
        classes.append((name, sum(low < v <= high for v in values)))
    most = max(n for _, n in classes) or 1
    return [{"name": n, "count": c, "part": c / most, "share": c / len(values)} for n, c in classes]


def _strip(frame: Frame, vantage: str) -> Row | None:
    """Which region was the best in which round; one line per region that ever was."""
    columns = ["region", "round", "n", "mean"]
    rows = selectors.read_table(
        frame.row, f"{frame.metric.id}-rounds", columns, {"vantage": vantage}
    ).to_pylist()
    best = _winners(rows, higher_is_better=frame.metric.higher_is_better)
    if not best:
        return None
    numbers = sorted({r["round"] for r in rows})
    across = Axis(numbers[0], numbers[-1] + 1, 0.0, 840.0)
    regions = sorted(set(best.values()), key=lambda r: -sum(b == r for b in best.values()))
    lanes = [_lane(region, best, across) for region in regions]
    point = vantage_places(frame.row, [vantage]).get(vantage)
    return {
        "vantage": vantage,
        "city": point.city if point and point.city else vantage,
        "lanes": lanes,
        "rounds": len(best),
        "height": 26 * len(lanes),
        "silent": len(numbers) - len(best),
        "first": round_start(frame.row, numbers[0]),
        "last": round_start(frame.row, numbers[-1] + 1),
        "href": reverse("campaign-pair", args=[frame.row.slug, vantage, regions[0]]),
    }


def _winners(rows: list[Row], *, higher_is_better: bool) -> dict[int, str]:
    sign = -1 if higher_is_better else 1
    best: dict[int, tuple[float, str]] = {}
    for row in rows:
        if row["mean"] is not None:
            own = (sign * row["mean"], row["region"])
            best[row["round"]] = min(best.get(row["round"], own), own)
    return {number: region for number, (_, region) in best.items()}


def _lane(region: str, best: dict[int, str], across: Axis) -> Row:
    runs = consecutive_runs(sorted(n for n, r in best.items() if r == region))
    ends = [(across.at(run[0]), across.at(run[-1] + 1)) for run in runs]
    drawn = [{"x": start, "width": max(1.5, round(end - start, 1))} for start, end in ends]
    won = sum(r == region for r in best.values())
    return {"region": region, "spans": drawn, "won": won, "share": won / len(best)}


@require_GET
def zones(request: HttpRequest, slug: str) -> HttpResponse:
    """Zones of a region, held against how far regions lie apart."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    stored = selectors.some_tables(frame.row, f"{metric}-zones", f"{metric}-apart")
    lead, apart = (stored.get(f"{metric}-{name}") for name in ("zones", "apart"))
    rows = lead.dicts() if lead else []
    reach = max(
        (abs(v) for r in rows for v in (r["low"], r["high"], r["difference"]) if v is not None),
        default=0,
    )
    axis = Axis(-reach, reach, 4.0, 216.0)
    more = {
        "lead": lead,
        "rows": [_zone_row(r, axis) for r in rows],
        "reach": reach,
        "middle": axis.at(0),
        "apart": apart.dicts()[0] if apart and apart.rows else {},
        "typical": sorted(r["relative"] for r in rows)[len(rows) // 2] if rows else None,
    }
    return render(request, "campaigns/zones.html", frame.context(request, **more))


def _zone_row(row: Row, axis: Axis) -> Row:
    is_clear = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
    known = row["low"] is not None
    return {
        **row,
        "is_clear": is_clear,
        "x": axis.at(row["difference"]),
        "from": axis.at(row["low"]) if known else None,
        "to": axis.at(row["high"]) if known else None,
    }
