"""ISP diversity: Table 14, how routes spread, what one failing ISP takes with it, the unknown."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.pages.campaigns import formatting as campaign_formatting
from webapp.pages.campaigns.frame import frame_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.charts.svg import Axis, column
from webapp.pages.ui.links import with_query
from webapp.store.campaigns import selectors
from webapp.store.campaigns.places import vantage_places

Row = dict[str, Any]
# IMC'13 Table 14: downstream ISPs of each zone; a zone that was not there is not in it.
TABLE_14 = {
    "us-east-1": (36, 36, 34),
    "us-west-1": (18, 19, None),
    "us-west-2": (19, 19, 19),
    "eu-west-1": (10, 11, 13),
    "ap-northeast-1": (9, None, 9),
    "ap-southeast-1": (11, 12, None),
    "ap-southeast-2": (4, 4, None),
    "sa-east-1": (4, 4, None),
}
# Section 4.5.2: so large a part of routes used the same ISP.
PUBLISHED_SHARES = {"us-west-1": 0.31, "eu-west-1": 0.33}
SHOWN_SHARES, SHOWN_ISPS = 8, 60
_TABLES = ("isp-zones", "isp-regions", "isp-shares", "isp-failures", "isp-unknown", "isp-totals")
_REASONS = (
    "no_cloud_end",
    "cloud_not_reached",
    "never_left",
    "silent",
    "private",
    "unannounced",
    "exchange",
    "several_origins",
    "disagreeing",
)


@require_GET
def isps(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every region's ISPs, and what the failure of a chosen ISP would cost."""
    frame = frame_or_404(request, slug)
    stored = selectors.some_tables(frame.row, *_TABLES)
    tables = {name: stored[name].dicts() if name in stored else [] for name in _TABLES}
    totals = tables["isp-totals"][0] if tables["isp-totals"] else {}
    more = {
        "lead": stored.get("isp-regions"),
        "shares_headline": stored["isp-shares"].headline if "isp-shares" in stored else "",
        "regions": _regions(tables),
        "n_zones": max((len(r["zones"]) for r in _regions(tables)), default=0),
        "totals": totals,
        "unknown": _unknown(totals),
        "unknown_regions": [
            {**r, "reason": campaign_formatting.reason(r["reason"])} for r in tables["isp-unknown"]
        ],
        "what_if": _what_if(request, tables["isp-failures"], stored),
    }
    return render(request, "campaigns/isps.html", frame.context(request, **more))


def _regions(tables: dict[str, list[Row]]) -> list[Row]:
    """One row per region: counts of its zones beside the published, and how routes spread."""
    rows = []
    for row in tables["isp-regions"]:
        key = row["provider"], row["region"]
        zones = [z for z in tables["isp-zones"] if (z["provider"], z["region"]) == key]
        published = TABLE_14.get(row["region"], ()) if row["provider"] == "aws" else ()
        shares = [s for s in tables["isp-shares"] if (s["provider"], s["region"]) == key]
        rows.append(
            {
                **row,
                "zones": [_zone(z, published) for z in zones],
                "published": published,
                "published_share": PUBLISHED_SHARES.get(row["region"]),
                "bar": _bar(shares),
            }
        )
    return sorted(rows, key=lambda r: -r["isps"])


def _zone(row: Row, published: tuple[int | None, ...]) -> Row:
    """A zone with the number that was printed for the zone of its letter."""
    letter = (row["zone"] or " ")[-1]
    at = "abc".find(letter)
    was = published[at] if 0 <= at < len(published) else None
    return {**row, "was": was, "letter": row["zone"].removeprefix(row["region"]) or row["zone"]}


def _bar(shares: list[Row]) -> list[Row]:
    """Parts of one bar, the largest ISP first; what is small is one part."""
    parts, x = [], 0.0
    for at, row in enumerate(shares[:SHOWN_SHARES]):
        parts.append({"x": x, "width": row["share"] * 100, "kind": min(at + 1, 6), **row})
        x += row["share"] * 100
    rest = shares[SHOWN_SHARES:]
    if rest:
        share = sum(r["share"] for r in rest)
        parts.append(
            {
                "x": x,
                "width": share * 100,
                "kind": 0,
                "share": share,
                "isp": None,
                "name": f"{len(rest)} others",
            }
        )
    return parts


def _unknown(totals: Row) -> list[Row]:
    found = [(name, totals.get(name, 0)) for name in _REASONS]
    whole = totals.get("routes") or 1
    return [
        {"reason": campaign_formatting.reason(name), "routes": n, "share": n / whole}
        for name, n in sorted(found, key=lambda f: -f[1])
        if n
    ]


def _what_if(
    request: HttpRequest, failures: list[Row], stored: dict[str, selectors.StoredTable]
) -> Row | None:
    """What each region loses with the chosen ISP; without a choice, with the worst one."""
    if not failures:
        return None
    known = {str(r["isp"]): r["name"] or f"AS{r['isp']}" for r in failures}
    worst = max(failures, key=lambda r: (r["cut_off_share"], r["share"]))
    asked = request.GET.get("isp", "")
    chosen = asked if asked in known else str(worst["isp"])
    rows = [
        {**r, "of_routes": round(r["routes"] / r["share"]) if r["share"] else None}
        for r in failures
        if str(r["isp"]) == chosen
    ]
    by_routes: dict[str, int] = {}
    for row in failures:
        by_routes[str(row["isp"])] = by_routes.get(str(row["isp"]), 0) + row["routes"]
    order = sorted(known, key=lambda i: -by_routes[i])[:SHOWN_ISPS]
    return {
        "chosen": chosen,
        "name": known[chosen],
        "is_worst": chosen == str(worst["isp"]),
        "isps": [(i, known[i], by_routes[i]) for i in dict.fromkeys([*order, chosen])],
        "rows": sorted(rows, key=lambda r: (-r["cut_off_share"], -r["share"])),
        "untouched": len({r["region"] for r in failures}) - len({r["region"] for r in rows}),
        "lost": sum(r["cut_off"] for r in rows),
        "headline": stored["isp-failures"].headline,
    }


@require_GET
def failures(request: HttpRequest, slug: str) -> HttpResponse:
    """Runs without a value: where, when and why."""
    frame = frame_or_404(request, slug)
    metric = frame.metric.id
    stored = selectors.some_tables(
        frame.row, "failures", "failing-vantages", f"{metric}-course", f"{metric}-regions"
    )
    lead = stored.get("failures")
    rows = lead.dicts() if lead else []
    worst = stored["failing-vantages"].dicts() if "failing-vantages" in stored else []
    points = vantage_places(frame.row, (r["vantage"] for r in worst[:40]))
    probes = [_probe(probe, rows) for probe in dict.fromkeys(r["probe"] for r in rows)]
    more = {
        "lead": lead,
        "probes": [p for p in probes if p["failed"]],
        "without_failure": [p for p in probes if not p["failed"]],
        "worst": [_worst(r, points) for r in worst[:40]],
        "n_worst": len(worst),
        "loss": stored[f"{metric}-regions"].dicts() if f"{metric}-regions" in stored else [],
        "course": _loss_timeline(stored.get(f"{metric}-course")),
        "back": with_query(request),
    }
    return render(request, "campaigns/failures.html", frame.context(request, **more))


def _probe(probe: str, rows: list[Row]) -> Row:
    """Regions by reasons, for one probe."""
    own = [r for r in rows if r["probe"] == probe]
    reasons = [r for r in dict.fromkeys(r["reason"] for r in own) if r]
    regions: dict[str, Row] = {}
    for row in own:
        tables = regions.setdefault(row["region"], {"region": row["region"], "runs": 0, "by": {}})
        tables["runs"] += row["runs"]
        if row["reason"]:
            tables["by"][row["reason"]] = row["failed"]
    for tables in regions.values():
        tables["failed"] = sum(tables["by"].values())
        tables["share"] = tables["failed"] / (tables["runs"] or 1)
        tables["cells"] = [tables["by"].get(r, 0) for r in reasons]
    runs, failed = (sum(t[k] for t in regions.values()) for k in ("runs", "failed"))
    listed = sorted(regions.values(), key=lambda t: -t["share"])
    return {
        "probe": probe,
        "reasons": [campaign_formatting.reason(r) for r in reasons],
        "rows": listed,
        "runs": runs,
        "failed": failed,
        "share": failed / (runs or 1),
    }


def _worst(row: Row, points: dict[str, Any]) -> Row:
    point = points.get(row["vantage"])
    return {
        **row,
        "why": campaign_formatting.reason(row["reason"]),
        "city": point.city if point and point.city else row["vantage"],
    }


def _loss_timeline(table: selectors.StoredTable | None) -> Row | None:
    """Share of packets without an answer, round by round, over all regions."""
    if table is None or not table.rows:
        return None
    sent: dict[int, int] = {}
    lost: dict[int, int] = {}
    for row in table.dicts():
        sent[row["round"]] = sent.get(row["round"], 0) + row["sent"]
        lost[row["round"]] = lost.get(row["round"], 0) + row["lost"]
    shares = [(n, lost[n] / sent[n] if sent[n] else 0.0) for n in sorted(sent)]
    worst, most = max(shares, key=lambda found: found[1])
    tables = formatting.share_of(most, sent[worst])
    y = Axis(0.0, most or 1.0, 100.0, 0.0)
    width = 1000 / len(shares)
    bars = [
        {
            "x": round(at * width, 2),
            "width": round(max(0.6, width * 0.82), 2),
            "share": s,
            **column(y, s),
        }
        for at, (_, s) in enumerate(shares)
    ]
    return {"bars": bars, "most": tables, "rounds": len(shares)}
