"""The front page: what the site does, one field, and a map on which a region can fail."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from tasks.campaigns import best_sets
from webapp.pages.front import region_map
from webapp.pages.surveys import outages
from webapp.pages.surveys.domains import best_ranked
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.page_cache import cached_page
from webapp.store.access import survey_versions
from webapp.store.campaigns import selectors as campaigns
from webapp.store.models import Survey
from webapp.store.surveys import index as survey_index
from webapp.store.surveys import selectors

SHOWN_DOMAINS = 5
# The size of the set that the front page compares with a single region.
_SET_SIZE = 3


@require_GET
def front(request: HttpRequest) -> HttpResponse:
    """The newest finished public survey on the map; without one, how to start the first."""
    slug = survey_versions.front_slug(request.user)
    if not slug:
        running = [c for c in selectors.surveys(limit=20, reader=request.user) if not c.is_final]
        context = {"section": "front", "running": running[:1]}
        return render(request, "front/empty.html", context)
    return _show(request, slug)


@cached_page
def _show(request: HttpRequest, slug: str) -> HttpResponse:
    survey = survey_or_404(request, slug)
    targets = {
        f"{t['provider']}.{t['target']}": t
        for t in outages.list_targets(slug)
        if t["kind"] == "region"
    }
    regions = [
        {**r, "outage": targets[region_map.key_of(r)]}
        for r in selectors.map_regions(slug)
        if region_map.key_of(r) in targets
    ]
    by_key = {region_map.key_of(r): r for r in regions}
    key = request.GET.get("fail", "")
    if key and key not in by_key:
        raise Http404(f"no region {key}")
    context = {
        "section": "front",
        "front": survey,
        "findings": selectors.front_findings(slug)[1:2],
        "map": region_map.draw(regions, key, _address),
        "legend": sorted({r["provider"] for r in regions}, key=formatting.provider_name),
        "largest": _largest(regions),
        "sets": _compare_sets(request.user),
        "example": next(iter(best_ranked(request.user)), ""),
        "failed": _failure(slug, by_key[key]) if key else None,
    }
    return render(request, "front/index.html", context)


def _address(key: str) -> str:
    return reverse("atlas") + (f"?fail={key}" if key else "")


def _largest(regions: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The region with the most names affected by its outage."""
    found = max(regions, key=lambda r: r["outage"]["down"], default=None)
    return {**found, "href": _address(region_map.key_of(found))} if found else None


def _failure(slug: str, region: dict[str, Any]) -> dict[str, Any]:
    """What fails with a region, and the first domains that do."""
    outage = region["outage"]
    index = survey_index.index_of(Survey.objects.get(slug=slug))
    affected = index and index.affected_domains("region", region["provider"], region["region"])
    return {
        "region": region,
        "outage": outage,
        "rows": affected.page(0, SHOWN_DOMAINS) if affected else [],
        "total": (outage.get("domains_down") or 0) + (outage.get("domains_part") or 0),
        "is_listed": affected is not None,
        "back": _address(""),
    }


def _compare_sets(reader: Any) -> dict[str, Any] | None:
    """Mean round-trip times of the best single region and of the best three, of a campaign."""
    found = next(iter(campaigns.campaigns(reader, limit=1)), None)
    table = best_sets.find(found, "latency") if found else None
    rows = {row["k"]: row for row in table.dicts()} if table else {}
    if found is None or not {1, _SET_SIZE} <= rows.keys():
        return None
    return {"campaign": found, "one": rows[1], "more": rows[_SET_SIZE], "size": _SET_SIZE}
