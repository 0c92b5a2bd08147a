"""Pages of domains and names: list, search, domain page, name page."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from tasks.zones import crowding
from webapp.pages.surveys import diagrams
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui import formatting
from webapp.pages.ui.page_cache import cached_index_page
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.surveys import evidence, label_evidence, selectors

MAX_PAGE = 100_000


def page_number(request: HttpRequest) -> int:
    """The page asked for; anything unreadable is the first."""
    text = request.GET.get("page", "1")
    return min(max(1, int(text)), MAX_PAGE) if text.isdecimal() and len(text) < 8 else 1


@require_GET
@cached_index_page
def domains(request: HttpRequest, slug: str) -> HttpResponse:
    """Domains of a survey in rank order: all, or by text, and by provider, region or zone."""
    survey = survey_or_404(request, slug)
    query = request.GET.get("q", "").strip()[:255]
    hosted = request.GET.get("in", "").strip()[:100]
    place = parse_place(hosted)
    filters = {"q": query, **place._asdict()}
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "query": query,
        "hosted": hosted,
        "places": _places(slug, place),
        "place": place,
        "filters": urlencode({k: v for k, v in filters.items() if v}),
        "params": urlencode({"in": hosted}) if hosted else "",
        "found": evidence.domains(slug, query, page_number(request), place),
        "names": evidence.search(slug, query, limit=12) if query and not hosted else [],
    }
    return render(request, "surveys/domains/list.html", context)


def parse_place(text: str) -> evidence.Hosted:
    """The place of a filter's value: ``aws``, ``aws.us-east-1`` or ``aws.us-east-1:a``."""
    provider, _, rest = text.partition(".")
    region, _, zone = rest.partition(":")
    return evidence.hosted_in(provider, region, zone)


def place_value(provider: str, region: str, zone: str) -> str:
    """The filter's value of a zone."""
    return f"{provider}.{region}:{zone}"


def _places(slug: str, chosen: evidence.Hosted) -> list[tuple[str, list[tuple[str, str]]]]:
    """(provider, its choices) for the filter: ``(key, text)`` of all of it, then its regions.

    The region that was chosen is followed by its zones.
    """
    regions = selectors.map_regions(slug)
    zones = [
        (place_value(z["provider"], z["region"], z["zone"]), f"{z['region']}, zone {z['zone']}")
        for z in (crowding.known_zones(slug) if chosen.region else ())
        if (z["provider"], z["region"]) == chosen[:2]
    ]
    return [
        (
            provider,
            [(provider, f"{formatting.provider_name(provider)}, anywhere")]
            + [
                choice
                for r in sorted(regions, key=lambda r: -r["subdomains"])
                if r["provider"] == provider
                for choice in (
                    (f"{provider}.{r['region']}", f"{r['place']} ({r['region']})"),
                    *(zones if (provider, r["region"]) == chosen[:2] else ()),
                )
            ],
        )
        for provider in evidence.providers(slug)
    ]


@require_GET
@cached_index_page
def domain(request: HttpRequest, slug: str, domain: str) -> HttpResponse:
    """Show the page of one domain."""
    survey = survey_or_404(request, slug)
    found = evidence.domain(slug, domain, page_number(request))
    if found is None:
        raise Http404(f"no domain {domain}")
    providers = sorted(
        {r["provider"] for r in found["labels"] if r["label"] not in evidence.LOST_LABELS}
    )
    is_at_risk = any(row["label"] == evidence.CLAIMABLE for row in found["labels"])
    for row in found["names"]["rows"]:
        row["is_single"] = len(row["providers"]) < 2
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "found": found,
        "providers": providers,
        "sentence": sentence(found, providers),
        "takeovers": evidence.takeovers(slug, found["domain"]) if is_at_risk else [],
        "diagram": diagrams.draw_deployment(found),
        "servers": _servers(found["servers"]),
        "zoned": any(row.get("zones") for row in found["names"]["rows"]),
        "failed": {row["status"]: row["count"] for row in found["failed"] or []},
    }
    return render(request, "surveys/domains/domain.html", context)


def best_ranked(reader: Any, most: int = 6) -> list[str]:
    """Return the best-ranked domains of the front page's survey that use a cloud."""
    survey = selectors.front_survey(reader)
    rows = evidence.domains(survey.slug, "", 1)["rows"] if survey else []
    return [row["domain"] for row in rows if row["providers"]][:most]


def sentence(found: dict[str, Any], providers: list[str]) -> str:
    """Return the sentence on where the domain's names are hosted, without its subject."""
    if not providers:
        return "answers from no known cloud"
    clouds = _listed([formatting.provider_name(p) for p in providers])
    regions = found["depends"]
    if not regions:
        return f"reaches its readers through {clouds}, with no front end in a region"
    if len(regions) > 1:
        return f"has names on {clouds}, in {len(regions)} regions"
    (only,) = regions
    place = only["region"]
    total = found["names"]["total"]
    if only["names"] == total:
        return f"runs on {clouds}, in {place} alone"
    return f"has {only['names']:,} of {total:,} names on {clouds}, all in {place}"


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def _servers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry per name server, its addresses together."""
    by_name: dict[str, dict[str, Any]] = {}
    for row in rows:
        entry = by_name.setdefault(
            row["server"], {"server": row["server"], "status": row["status"], "places": []}
        )
        if row["address"]:
            entry["places"].append(row)
    return list(by_name.values())


@require_GET
def name(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Every answer, placement and label of one name."""
    survey = survey_or_404(request, slug)
    found = evidence.name(slug, name)
    if found is None:
        raise Http404(f"no name {name}")
    lost = [
        {**f, "missing": f["instance"]}
        for f in found["fronts"]
        if f["label"] in evidence.LOST_LABELS
    ]
    context = {
        "section": "domains",
        "survey": survey,
        "families": FAMILIES,
        "found": found,
        "sentence": _name_sentence(found, lost),
        "takeovers": [f for f in lost if f["label"] == evidence.CLAIMABLE],
        "chain": _chain(found["lookups"]),
        "providers": sorted({p["provider"] for p in found["placements"] if p["provider"]}),
        "zones": label_evidence.zones_of(slug, (p["address"] for p in found["placements"])),
    }
    return render(request, "surveys/domains/name.html", context)


def _name_sentence(found: dict[str, Any], lost: list[dict[str, Any]]) -> str:
    places = found["placements"]
    if lost:
        return f"leads to {lost[0]['missing']}, which does not exist"
    clouds = sorted({p["provider"] for p in places if p["kind"] in ("cloud", "cdn")})
    if not places:
        return "exists, but answers with no address"
    if not clouds:
        return "answers from outside any known cloud"
    regions = sorted({p["region"] for p in places if p["region"] and p["kind"] == "cloud"})
    where = _listed([formatting.provider_name(p) for p in clouds])
    return f"answers from {where}" + (f", {_listed(regions)}" if regions else "")


def _chain(lookups: list[dict[str, Any]]) -> list[str]:
    """The name and the aliases that its answers go through, in order, each once."""
    steps: list[str] = []
    for lookup in lookups:
        for record in lookup["answers"] or []:
            if record["type"] == "CNAME" and record["data"] not in steps:
                steps.append(record["data"])
    return steps
