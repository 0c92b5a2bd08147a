"""Descriptions of the bar charts of reports."""

from collections.abc import Callable
from typing import Any

from core import wording
from core.denominators import wholes
from core.report_tables import Table
from webapp.pages.ui import formatting
from webapp.pages.ui.table_page import published_by_key, row_key
from webapp.store.ranges.region_places import country_name, place_name
from webapp.store.surveys.selectors import ReportRow

Chart = dict[str, Any]
# So many bars still read at a glance; the table below has them all.
MOST_BARS = 20


def records(table: ReportRow | Table) -> list[dict[str, Any]]:
    """Rows by column."""
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def label(text: str, provider: str | None = None, unknown: bool = False) -> dict[str, Any]:
    """The name of a bar; an unknown one is hatched."""
    return {"text": text, "provider": provider, "unknown": unknown}


def _region_label(code: str, provider: str | None) -> dict[str, Any]:
    """The code of a region, and its place for charts that have the space."""
    return {**label(code, provider), "place": place_name(code, provider or "")}


def _panel(
    title: str, rows: list[dict[str, Any]], column: str, before: list[Any]
) -> dict[str, Any]:
    known = wholes(list(rows[0]), rows) if rows else []
    values, counted = [r[column] for r in rows], [whole[column] for whole in known]
    return {
        "title": title,
        "values": values,
        "published": before,
        # Small denominators show counts, and a paler bar.
        "texts": [formatting.share_of(v, n) for v, n in zip(values, counted, strict=True)],
        "few": [n is not None and n < wording.SMALL for n in counted],
    }


def _bars(labels: list[dict[str, Any]], *panels: dict[str, Any]) -> Chart:
    return {"kind": "bars", "labels": labels, "panels": list(panels)}


def _unpublished(rows: list[dict[str, Any]]) -> list[Any]:
    return [None] * len(rows)


def _published(report: ReportRow, rows: list[dict[str, Any]]) -> list[Any]:
    known = published_by_key(report.table_id, report.published)
    return [known.get(row_key(report.table_id, r)) for r in rows]


def _providers(report: ReportRow) -> Chart:
    rows = [r for r in records(report) if "total" not in r["class"]]
    was = _published_of(report, "domains_share")
    return _bars(
        [
            label(formatting.class_name(r["class"]), formatting.providers_in(r["class"])[0])
            for r in rows
        ],
        _panel("of subdomains", rows, "subdomains_share", _published(report, rows)),
        _panel("of domains", rows, "domains_share", [was.get(r["class"]) for r in rows]),
    )


def _published_of(report: ReportRow, column: str) -> dict[Any, Any]:
    if report.published is None:
        return {}
    return {next(iter(r.values())): r.get(column) for r in records(report.published)}


def _patterns(report: ReportRow) -> Chart:
    rows = records(report)
    return _bars(
        [
            label(formatting.feature(r["feature"]), r["provider"], r["feature"] == "unclassified")
            for r in rows
        ],
        _panel("of the provider’s subdomains", rows, "subdomains_share", _published(report, rows)),
    )


def _regions(report: ReportRow) -> Chart:
    rows = records(report)[:MOST_BARS]
    return _bars(
        [_region_label(r["region"], r["provider"]) for r in rows],
        _panel("of the provider’s subdomains", rows, "subdomains_share", _published(report, rows)),
    )


def _zones(report: ReportRow) -> Chart:
    used = sorted(records(report), key=lambda r: -r["subdomains"])[:MOST_BARS]
    rows = sorted(used, key=lambda r: (r["provider"], r["region"], r["zone"]))
    return _bars(
        [label(f"{r['region']} {r['zone']}", r["provider"], r["zone"] == "unknown") for r in rows],
        _panel("of the provider’s subdomains", rows, "subdomains_share", _published(report, rows)),
    )


def _name_servers(report: ReportRow) -> Chart:
    rows = [r for r in records(report) if r["location"] != "total"]
    labels = [
        label(
            formatting.location(r["location"]),
            next(iter(formatting.providers_in(r["location"])), None),
            r["location"] == "unresolved",
        )
        for r in rows
    ]
    return _bars(labels, _panel("of name servers", rows, "share", _published(report, rows)))


def _operators(report: ReportRow) -> Chart:
    rows = records(report)[:MOST_BARS]
    return _bars(
        [label(r["operator"]) for r in rows],
        _panel("of subdomains", rows, "subdomains_share", _published(report, rows)),
        _panel("of domains", rows, "domains_share", _unpublished(rows)),
    )


def _customers(report: ReportRow) -> Chart:
    rows = [r for r in records(report) if r["known"]]
    was = published_by_key(report.table_id, report.published)
    return _bars(
        [label(f"{formatting.term(r['basis'])}: {formatting.term(r['reading'])}") for r in rows],
        _panel(
            "hosted outside the customers’ country",
            rows,
            "other_country_share",
            [was.get(row_key(report.table_id, r)) for r in rows],
        ),
        _panel("outside their continent", rows, "other_continent_share", _unpublished(rows)),
    )


def _customer_countries(report: ReportRow) -> Chart:
    rows = records(report)[:MOST_BARS]
    return _bars(
        [label(country_name(r["country"])) for r in rows],
        _panel("hosted outside the country", rows, "other_country_share", _published(report, rows)),
        _panel("outside the continent", rows, "other_continent_share", _unpublished(rows)),
    )


def _outages(of_what: str) -> Callable[[ReportRow], Chart]:
    """Return the builder of the largest outages' bars: all of a thing down, and part of it."""

    def build(report: ReportRow) -> Chart:
        rows = sorted(records(report), key=lambda r: -r["down"])[:MOST_BARS]
        return _bars(
            [_outage_label(r) for r in rows],
            _panel(f"of {of_what}: down", rows, "down_share", _published(report, rows)),
            _panel(f"of {of_what}: part of it down", rows, "part_share", _unpublished(rows)),
        )

    return build


def _outage_label(row: dict[str, Any]) -> dict[str, Any]:
    target, provider = row["target"], row["provider"] or None
    if row["kind"] == "region":
        return _region_label(target, provider)
    is_provider = row["kind"] == "provider"
    text = f"{formatting.provider_name(target)}, all of it" if is_provider else target
    return label(text, provider)


def _dangling(report: ReportRow) -> Chart:
    rows = records(report)[:MOST_BARS]
    return _bars(
        [label(_rule_name(r), r["provider"]) for r in rows],
        _panel("of dangling names", rows, "subdomains_share", _unpublished(rows)),
    )


def _rule_name(row: dict[str, Any]) -> str:
    """A rule without its provider, which the letter beside it shows."""
    service = row["rule"].removeprefix(f"{row['provider']}-").replace("-", " ")
    return f"{service}, {'claimable' if row['claimable'] == 'yes' else 'not claimable'}"


def _single_figures(report: ReportRow) -> Chart:
    rows = [r for r in records(report) if r["share"] is not None]
    labels = [label(r["figure"]) for r in rows]
    return _bars(labels, _panel("share", rows, "share", _published(report, rows)))


BARS: dict[str, Callable[[ReportRow], Chart]] = {
    "providers": _providers,
    "patterns": _patterns,
    "regions": _regions,
    "zone-usage": _zones,
    "name-servers": _name_servers,
    "name-server-operators": _operators,
    "customers": _customers,
    "customer-countries": _customer_countries,
    "outages": _outages("subdomains"),
    "outage-domains": _outages("domains"),
    "dangling": _dangling,
    "text-figures": _single_figures,
}
