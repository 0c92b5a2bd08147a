"""From a report to the plain description of its chart, which the page's script draws.

``bars``: ``labels`` and one or more ``panels`` of shares. ``steps``: cumulative curves.
``stack``: counts that add up per label. Shares are fractions of one.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from core.tables import Table
from webapp.pages import words
from webapp.pages.grids import key_of, published_by_key
from webapp.store.selectors import ReportRow

Chart = dict[str, Any]
# One bar with its label takes this much; the box is reserved before the library is there.
BAR_PX, FRAME_PX, STEP_PX = 34, 76, 360


def chart_of(report: ReportRow) -> Chart | None:
    """The chart that proves a report's headline; ``None`` where the table says it better."""
    maker = _CHARTS.get(report.table_id)
    if maker is None or not report.rows:
        return None
    chart = maker(report)
    return {
        **chart,
        "id": report.table_id,
        "height": _height(chart),
        "compared": _is_compared(chart),
    }


def _is_compared(chart: Chart) -> bool:
    """Whether a published figure is drawn anywhere."""
    parts = chart.get("panels") or chart.get("series") or []
    return any(v is not None for part in parts for v in part.get("published", []))


def _height(chart: Chart) -> int:
    """Pixels, rounded up to the 40 px classes of the style sheet."""
    wanted = STEP_PX
    if chart["kind"] != "steps":
        wanted = FRAME_PX + BAR_PX * len(chart["labels"])
    return min(760, -(-wanted // 40) * 40)


def _dicts(table: ReportRow | Table) -> list[dict[str, Any]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _label(text: str, provider: str | None = None, unknown: bool = False) -> dict[str, Any]:
    return {"text": text, "provider": provider, "unknown": unknown}


def _panel(
    title: str, rows: list[dict[str, Any]], column: str, before: list[Any]
) -> dict[str, Any]:
    counts = [r.get("subdomains", r.get("name_servers")) for r in rows]
    values = [r[column] for r in rows]
    return {"title": title, "values": values, "published": before, "counts": counts}


def _providers(report: ReportRow) -> Chart:
    rows = [r for r in _dicts(report) if "total" not in r["class"]]
    was = _published_of(report, "domains_share")
    labels = [_label(words.class_name(r["class"]), words.providers_in(r["class"])[0]) for r in rows]
    return {
        "kind": "bars",
        "labels": labels,
        "panels": [
            _panel("of subdomains", rows, "subdomains_share", _before(report, rows)),
            _panel("of domains", rows, "domains_share", [was.get(r["class"]) for r in rows]),
        ],
    }


def _published_of(report: ReportRow, column: str) -> dict[Any, Any]:
    if report.published is None:
        return {}
    return {next(iter(r.values())): r.get(column) for r in _dicts(report.published)}


def _before(report: ReportRow, rows: list[dict[str, Any]]) -> list[Any]:
    known = published_by_key(report.table_id, report.published)
    return [known.get(key_of(report.table_id, r)) for r in rows]


def _patterns(report: ReportRow) -> Chart:
    rows = _dicts(report)
    labels = [
        _label(words.feature(r["feature"]), r["provider"], r["feature"] == "unclassified")
        for r in rows
    ]
    panel = _panel("of the provider’s subdomains", rows, "subdomains_share", _before(report, rows))
    return {"kind": "bars", "labels": labels, "panels": [panel]}


def _regions(report: ReportRow) -> Chart:
    rows = _dicts(report)[:20]
    labels = [_label(r["region"], r["provider"]) for r in rows]
    panel = _panel("of the provider’s subdomains", rows, "subdomains_share", _before(report, rows))
    return {"kind": "bars", "labels": labels, "panels": [panel]}


def _name_servers(report: ReportRow) -> Chart:
    rows = [r for r in _dicts(report) if r["location"] != "total"]
    labels = [
        _label(
            words.location(r["location"]),
            next(iter(words.providers_in(r["location"])), None),
            r["location"] == "unresolved",
        )
        for r in rows
    ]
    panel = _panel("of name servers", rows, "share", _before(report, rows))
    return {"kind": "bars", "labels": labels, "panels": [panel]}


def _steps(group: str | None, x: str, x_label: str, y_label: str) -> Callable[[ReportRow], Chart]:
    """A maker of cumulative curves, one per value of ``group``."""

    def make(report: ReportRow) -> Chart:
        now = _curves(_dicts(report), group, x)
        before = _curves(_dicts(report.published), group, x) if report.published else {}
        series = [
            {**_series_name(key), "points": points, "published": before.get(key, [])}
            for key, points in now.items()
        ]
        return {"kind": "steps", "series": series, "x_label": x_label, "y_label": y_label}

    return make


def _curves(rows: list[dict[str, Any]], group: str | None, x: str) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in rows:
        if row["cumulative_share"] is not None:
            found[row[group] if group else ""].append([row[x], row["cumulative_share"]])
    return dict(found)


def _series_name(key: str) -> dict[str, Any]:
    if key in ("vm", "elb"):
        return {"name": words.feature(key), "provider": "aws" if key == "vm" else None}
    return {"name": words.provider_name(key) if key else "", "provider": key or None}


def _top_domains(report: ReportRow) -> Chart:
    rows = _dicts(report)
    return {
        "kind": "stack",
        "labels": [_label(f"{r['domain']}") for r in rows],
        "series": [
            {"name": "on Amazon", "provider": "aws", "values": [r["aws_subdomains"] for r in rows]},
            {
                "name": "elsewhere",
                "provider": None,
                "values": [r["subdomains"] - r["aws_subdomains"] for r in rows],
            },
        ],
    }


def _top_regions(report: ReportRow) -> Chart:
    rows = _dicts(report)
    names: Mapping[str, str] = {
        "k1": "one region",
        "k2": "two regions",
        "k3_or_more": "three or more",
    }
    return {
        "kind": "stack",
        "labels": [_label(r["domain"]) for r in rows],
        "series": [
            {"name": name, "level": at, "values": [r[key] for r in rows]}
            for at, (key, name) in enumerate(names.items())
        ],
    }


_CHARTS: dict[str, Callable[[ReportRow], Chart]] = {
    "providers": _providers,
    "patterns": _patterns,
    "regions": _regions,
    "name-servers": _name_servers,
    "region-counts": _steps("provider", "regions", "regions used, at most", "of subdomains"),
    "domain-region-means": _steps(
        "provider", "mean_at_most", "mean regions per subdomain, at most", "of domains"
    ),
    "instance-counts": _steps("feature", "instances", "instances, at most", "of subdomains"),
    "name-server-counts": _steps(None, "name_servers", "name servers, at most", "of subdomains"),
    "zone-counts": _steps("provider", "zones", "zones used, at most", "of subdomains"),
    "domain-zone-means": _steps(
        "provider", "mean_at_most", "mean zones per subdomain, at most", "of domains"
    ),
    "elb-sharing": _steps(None, "names_at_most", "subdomains, at most", "of addresses"),
    "name-server-sharing": _steps(None, "domains_at_most", "domains, at most", "of name servers"),
    "top-domains": _top_domains,
    "top-regions": _top_regions,
}
