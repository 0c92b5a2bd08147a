"""The outage explorer: a provider, region, zone or operator fails; what and who fails with it."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from core.wording import Portion
from tasks.surveys import derived_tasks
from webapp.pages.surveys.domains import page_number
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.page_cache import cached_index_page
from webapp.pages.ui.report_families import FAMILIES
from webapp.pages.ui.table_page import Cell, Column, Grid, Row
from webapp.store.models import Survey
from webapp.store.ranges.region_places import place_name
from webapp.store.surveys import index as survey_index
from webapp.store.surveys import selectors

DOMAINS_PER_PAGE = 50
# In the order of their reach; the word that a sentence uses, and the plural of a tab.
KINDS = {
    "region": "Regions",
    "zone": "Zones",
    "provider": "Providers",
    "operator": "Name servers",
}
Target = dict[str, Any]


@require_GET
@cached_index_page
def outages(request: HttpRequest, slug: str) -> HttpResponse:
    """What fails and who fails with one target, and every target to choose from."""
    survey = survey_or_404(request, slug)
    targets = list_targets(slug)
    chosen = _chosen(request, targets)
    context: dict[str, Any] = {
        "section": "outages",
        "survey": survey,
        "families": FAMILIES,
        "targets": targets,
        "chosen": chosen,
    }
    if chosen:
        context |= {
            "sentence": _sentence(chosen),
            "grid": _grid([t for t in targets if t["kind"] == chosen["kind"]], chosen, slug),
            "tabs": _tabs(targets, chosen, slug),
            "map_data": _map(slug, targets),
            "who": _who(request, slug, chosen),
        }
    return render(request, "surveys/outages/explorer.html", context)


def list_targets(slug: str) -> list[Target]:
    """One entry per target, with the figures of names and of domains."""
    names, domains = (selectors.report(slug, t) for t in ("outages", "outage-domains"))
    if names is None or domains is None:
        return []
    found: dict[tuple[Any, ...], Target] = {}
    for cells in names.rows:
        row = dict(zip(names.columns, cells, strict=True))
        found[_key(row)] = {**row, "n": names.n, "title": _title(row), "n_domains": domains.n}
    for cells in domains.rows:
        row = dict(zip(domains.columns, cells, strict=True))
        if _key(row) in found:
            figures = {k: row[k] for k in ("down", "down_share", "part", "part_share")}
            found[_key(row)] |= {f"domains_{k}": v for k, v in figures.items()}
    return [{**t, "href": target_href(slug, t)} for t in found.values()]


def _key(row: Target) -> tuple[Any, ...]:
    return row["kind"], row["provider"] or "", row["target"]


def _title(row: Target) -> str:
    return formatting.provider_name(row["target"]) if row["kind"] == "provider" else row["target"]


def target_href(slug: str, target: Target) -> str:
    """Where one target is explored."""
    query = {k: target[k] for k in ("kind", "provider", "target") if target[k]}
    return f"{reverse('outages', args=[slug])}?{urlencode(query)}"


def _chosen(request: HttpRequest, targets: list[Target]) -> Target | None:
    """The target of the address; of a kind alone, or of nothing, the one that hits most."""
    kind, wanted = request.GET.get("kind", "region"), request.GET.get("target", "")
    if kind not in KINDS:
        raise Http404(f"no kind {kind}")
    if wanted:
        key = (kind, request.GET.get("provider", ""), wanted)
        chosen = next((t for t in targets if _key(t) == key), None)
        if chosen is None and targets:
            raise Http404(f"no {kind} {wanted}")
        return chosen
    mine = [t for t in targets if t["kind"] == kind] or targets
    return max(mine, key=lambda t: (t["down"], t["part"]), default=None)


def _sentence(target: Target) -> str:
    who = target["title"]
    down, part = (
        Portion(target[k], target["n"], "cloud-using subdomain", "cloud-using subdomains")
        for k in ("down", "part")
    )
    if not target["down"]:
        return f"If {who} fails, no subdomain goes down, and {part.value} lose a part"
    return f"If {who} fails, {down.sentence('goes down', 'go down').replace('The ', 'the ')}"


def _tabs(targets: list[Target], chosen: Target, slug: str) -> list[dict[str, Any]]:
    here = reverse("outages", args=[slug])
    counts = {kind: sum(t["kind"] == kind for t in targets) for kind in KINDS}
    return [
        {
            "title": title,
            "count": counts[kind],
            "href": f"{here}?kind={kind}",
            "is_here": kind == chosen["kind"],
        }
        for kind, title in KINDS.items()
        if counts[kind]
    ]


_COLUMNS = (
    Column("target", "If this fails"),
    Column("down_share", "Subdomains down", numeric=True),
    Column("part", "Partly", numeric=True, is_spare=True),
    Column("domains_down", "Domains down", numeric=True),
    Column("domains_part", "Partly", numeric=True, is_spare=True),
)


def _grid(targets: list[Target], chosen: Target, slug: str) -> Grid:
    rows = sorted(targets, key=lambda t: (-t["down"], -t["part"]))
    made = tuple(_row(t, t is chosen) for t in rows)
    return Grid("outage-targets", "What can fail", _COLUMNS, made)


def _row(target: Target, is_chosen: bool) -> Row:
    tags = (target["provider"],) if target["provider"] else ()
    kind = "code is-chosen" if is_chosen else "code"
    is_region = target["kind"] == "region"
    place = place_name(target["target"], target["provider"] or "") if is_region else ""
    return Row(
        (
            Cell(target["title"], target["title"], kind, href=target["href"], tags=tags, sub=place),
            Cell(
                formatting.share_of(target["down_share"], target["n"]),
                target["down"],
                "share",
                bar=target["down_share"],
            ),
            Cell(formatting.count(target["part"]), target["part"], "count", is_spare=True),
            Cell(formatting.count(target.get("domains_down")), target.get("domains_down"), "count"),
            Cell(
                formatting.count(target.get("domains_part")),
                target.get("domains_part"),
                "count",
                is_spare=True,
            ),
        )
    )


def _map(slug: str, targets: list[Target]) -> dict[str, Any]:
    """Regions as the map draws them, their circles by what goes down."""
    by_region = {(t["provider"], t["target"]): t for t in targets if t["kind"] == "region"}
    spots = []
    for region in selectors.map_regions(slug):
        target = by_region.get((region["provider"], region["region"]))
        if target:
            spots.append(_map_region(region, target))
    tiles = {"tiles": settings.MAP_TILES_URL, "credit": settings.MAP_TILES_CREDIT}
    return {"regions": spots, **tiles}


def _map_region(region: dict[str, Any], target: Target) -> dict[str, Any]:
    return {
        **{k: region[k] for k in ("provider", "region", "place", "country")},
        **{k: region[k] for k in ("latitude", "longitude")},
        "subdomains": target["down"],
        "key": f"{region['provider']}.{region['region']}",
        "name": formatting.provider_name(region["provider"]),
        "letter": formatting.provider_letter(region["provider"]),
        "href": target["href"],
        "note": f"{formatting.count(target['down'])} subdomains down, "
        f"{formatting.count(target['part'])} partly",
    }


def _who(request: HttpRequest, slug: str, chosen: Target) -> dict[str, Any]:
    """The domains that fail, those that are down whole first."""
    survey = Survey.objects.get(slug=slug)
    index = survey_index.index_of(survey)
    if index is None:
        derived_tasks.request_index(survey)
        return {"is_ready": False}
    found = index.affected_domains(*_key(chosen))
    down = min(int(chosen.get("domains_down") or 0), found.total)
    state = request.GET.get("state", "")
    spans = {"down": (0, down), "part": (down, found.total - down)}
    first, total = spans.get(state, (0, found.total))
    pages = max(1, -(-total // DOMAINS_PER_PAGE))
    page = min(page_number(request), pages)
    start = (page - 1) * DOMAINS_PER_PAGE
    count = min(DOMAINS_PER_PAGE, total - start)
    query = {"kind": chosen["kind"], "provider": chosen["provider"], "target": chosen["target"]}
    params = urlencode({k: v for k, v in query.items() if v})
    return {
        "is_ready": True,
        "rows": found.page(first + start, count),
        "total": total,
        "state": state if state in spans else "",
        "states": [
            ("", "All", found.total),
            ("down", "Down", down),
            ("part", "Partly", spans["part"][1]),
        ],
        "pager": {"page": page, "pages": pages},
        "query": params,
        "params": f"{params}&state={state}" if state in spans else params,
    }
