"""Descriptions of the charts of reports, which the page's script draws with ECharts.

``bars``: ``labels`` and one or more ``panels`` of shares. ``steps``: cumulative curves.
``stack``: counts that add up per label. Shares are fractions of one.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from core import wording
from core.denominators import wholes
from webapp.pages.ui import formatting
from webapp.pages.ui.charts.bars import BARS, Chart, label, records
from webapp.store.surveys.selectors import ReportRow

# One bar with its label takes this much; the box is reserved before the library is there.
BAR_PX, FRAME_PX, STEP_PX = 34, 76, 360


def chart_of(report: ReportRow) -> Chart | None:
    """Return the chart of a report's headline; ``None`` where the table is enough."""
    maker = _CHARTS.get(report.table_id)
    if maker is None or not report.rows:
        return None
    chart = maker(report)
    if not (chart.get("labels") or chart.get("series")):
        return None
    return {
        **chart,
        "id": report.table_id,
        "height": _height(chart),
        # When the figures were valid that these are compared with.
        "then": report.reference.when if report.reference else "",
        # What represents a published figure: a mark beside a bar, or a thin curve.
        "compared": ("curve" if chart["kind"] == "steps" else "mark")
        if _is_compared(chart)
        else "",
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


def _steps(group: str | None, x: str, x_label: str, y_label: str) -> Callable[[ReportRow], Chart]:
    """Return the builder of cumulative curves, one per value of ``group``."""

    def build(report: ReportRow) -> Chart:
        now = _curves(records(report), group, x)
        before = _curves(records(report.published), group, x) if report.published else {}
        few, texts = _texts(report, group, x)
        series = [
            {
                **_series_name(key),
                "points": points,
                "published": before.get(key, []),
                # Small denominators show counts, and a paler curve.
                "texts": texts[key],
                "few": few[key],
            }
            for key, points in now.items()
        ]
        return {"kind": "steps", "series": series, "x_label": x_label, "y_label": y_label}

    return build


def _curves(rows: list[dict[str, Any]], group: str | None, x: str) -> dict[str, list[list[Any]]]:
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in rows:
        if row["cumulative_share"] is not None:
            found[row[group] if group else ""].append([row[x], row["cumulative_share"]])
    return dict(found)


def _texts(
    report: ReportRow, group: str | None, x: str
) -> tuple[dict[str, bool], dict[str, list[str]]]:
    """Return by curve whether its denominator is small, and the texts of its points."""
    rows = records(report)
    few: dict[str, bool] = {}
    texts: dict[str, list[str]] = defaultdict(list)
    for row, whole in zip(rows, wholes(report.columns, rows), strict=True):
        if row["cumulative_share"] is not None:
            key, of = row[group] if group else "", whole["cumulative_share"]
            few[key] = of is not None and of < wording.SMALL
            texts[key].append(formatting.share_of(row["cumulative_share"], of))
    return few, texts


def _series_name(key: str) -> dict[str, Any]:
    if key in ("vm", "elb"):
        return {"name": formatting.feature(key), "provider": "aws" if key == "vm" else None}
    return {"name": formatting.provider_name(key) if key else "", "provider": key or None}


def _top_domains(report: ReportRow) -> Chart:
    rows = records(report)
    return {
        "kind": "stack",
        "labels": [label(f"{r['domain']}") for r in rows],
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
    rows = records(report)
    names: Mapping[str, str] = {
        "k1": "one region",
        "k2": "two regions",
        "k3_or_more": "three or more",
    }
    return _levels([r["domain"] for r in rows], rows, names)


def _top_zones(report: ReportRow) -> Chart:
    rows = records(report)
    names: Mapping[str, str] = {
        "z1": "one zone",
        "z2": "two zones",
        "z3_or_more": "three or more",
        "z0": "zone unknown",
    }
    return _levels([r["domain"] for r in rows], rows, names)


def _levels(domains: list[str], rows: list[dict[str, Any]], names: Mapping[str, str]) -> Chart:
    """Counts of each domain, one shade per column of ``names``."""
    return {
        "kind": "stack",
        "labels": [label(domain) for domain in domains],
        "series": [
            {**_shade(name, at), "values": [r[key] for r in rows]}
            for at, (key, name) in enumerate(names.items())
        ],
    }


def _shade(name: str, at: int) -> dict[str, Any]:
    return {"name": name, "unknown": True} if "unknown" in name else {"name": name, "level": at}


_CHARTS: dict[str, Callable[[ReportRow], Chart]] = {
    **BARS,
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
    "top-zones": _top_zones,
}
