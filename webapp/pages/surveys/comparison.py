"""Two surveys side by side: which pair, what moved, which names, and each table's differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from core.wording import Portion
from tasks.surveys import derived_tasks
from webapp.pages.surveys import differences
from webapp.pages.surveys.domains import page_number
from webapp.pages.ui import formatting
from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import comparison, derived, selectors
from webapp.store.surveys.selectors import SurveyRow

NAMES_PER_PAGE = 100
SHOWN_FLOWS, SHOWN_MEMBERS = 12, 12
TITLES = {
    "providers": "Providers",
    "regions": "Regions",
    "zones": "Availability zones",
    "patterns": "Patterns",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """The two surveys of an address: rows of the store, and what pages show of them."""

    before: Survey
    after: Survey

    @property
    def context(self) -> dict[str, Any]:
        """What every page of a comparison shows."""
        return {
            "section": "comparison",
            "before": selectors.row_of(self.before),
            "after": selectors.row_of(self.after),
        }


def pair_or_404(request: HttpRequest, before: str, after: str) -> Pair:
    """Two different surveys that have ended with a report."""
    rows = visible(Survey.objects.filter(slug__in=(before, after)), request.user)
    found = {c.slug: c for c in rows}
    if before == after or not all(c.is_final for c in found.values()) or len(found) < 2:
        raise Http404("only two surveys that have ended can be compared")
    return Pair(found[before], found[after])


@require_GET
def choose(request: HttpRequest) -> HttpResponse:
    """Which two; with both given, straight to their comparison."""
    before, after = request.GET.get("before", ""), request.GET.get("after", "")
    rows = [c for c in selectors.surveys(reader=request.user) if c.state in ("finished", "partial")]
    known = {c.slug: c for c in rows}
    is_pair = before in known and after in known and before != after
    if is_pair and "again" not in request.GET:
        return redirect("comparison", before=before, after=after)
    likely_before, likely_after = _default_pair(rows, known.get(after))
    context = {
        "section": "comparison",
        "rows": rows,
        "chosen_after": likely_after,
        "chosen_before": before if before in known and before != likely_after else likely_before,
        "is_same": bool(before) and before == request.GET.get("after"),
    }
    return render(request, "surveys/comparisons/choose.html", context)


def _default_pair(rows: Sequence[SurveyRow], after: SurveyRow | None) -> tuple[str, str]:
    """The two newest surveys of one list, else the two newest of all; ``after`` may be given."""
    found = Survey.objects.filter(pk__in=[row.id for row in rows])
    lists = dict(found.values_list("pk", "list_sha256"))
    for late in [after] if after else rows:
        for early in rows:
            if early.slug != late.slug and lists[early.id] == lists[late.id]:
                return early.slug, late.slug
    slugs = [row.slug for row in rows]
    late_slug = after.slug if after else next(iter(slugs), "")
    return next((slug for slug in slugs if slug != late_slug), ""), late_slug


@never_cache
@require_http_methods(["GET", "POST"])
def overview(request: HttpRequest, before: str, after: str) -> HttpResponse:
    """What moved between two surveys; their tables at once, their names when they are compared."""
    pair = pair_or_404(request, before, after)
    found = comparison.comparison(pair.before, pair.after)
    if found is None:
        derived_tasks.request_comparison(pair.before, pair.after, again=request.method == "POST")
        if request.method == "POST":
            return redirect("comparison", before=before, after=after)
    context = {
        **pair.context,
        "sentence": _sentence(found) if found else "",
        "population": found.population if found else {},
        "blocks": [_block(found, d, pair) for d in comparison.DIMENSIONS] if found else [],
        "making": derived.comparison_of(pair.before, pair.after).state(),
        "tables": [
            differences.summary(change, pair.before.slug, pair.after.slug)
            for change in comparison.table_changes(before, after).values()
        ],
    }
    status = 200 if found else 202
    return render(request, "surveys/comparisons/overview.html", context, status=status)


@never_cache
@require_GET
def progress(request: HttpRequest, before: str, after: str) -> HttpResponse:
    """How far the comparison of the names is; a page that shows it then loads itself again."""
    pair = pair_or_404(request, before, after)
    making = derived.comparison_of(pair.before, pair.after).state()
    response = render(request, "parts/making.html", {**pair.context, "making": making})
    if making["state"] in (derived.READY, derived.FAILED):
        response["HX-Refresh"] = "true"
    return response


def _sentence(found: comparison.Comparison) -> str:
    """The finding, with its number."""
    sums = {d: found.sums.get(d, {"names": 0, "changed": 0}) for d in comparison.DIMENSIONS}
    if not found.population["names_compared"]:
        return "No domain in both surveys has a cloud-using subdomain"
    moved, regions = sums["regions"]["changed"], sums["regions"]["names"]
    if not any(s["changed"] for s in sums.values()):
        return f"None of {formatting.count(sums['providers']['names'])} subdomains moved"
    if not moved:
        changed = sums["providers"]["changed"]
        whole = sums["providers"]["names"]
        return (
            f"No subdomain changed its region; {formatting.count(changed)} of "
            f"{formatting.count(whole)} came to a cloud, left it or changed it"
        )
    part = Portion(moved, regions, "subdomain", "subdomains")
    many = f"{formatting.share(moved / regions)} of {formatting.count(regions)} subdomains"
    who, verb = part.subject() if part.is_small else many, "is" if part.is_singular else "are"
    return f"{who} that both surveys found in a cloud {verb} in other regions now"


def _block(found: comparison.Comparison, dimension: str, pair: Pair) -> dict[str, Any]:
    flows, members = found.flows[dimension], found.members[dimension]
    sums = found.sums.get(dimension, {})
    changed, whole = sums.get("changed", 0), sums.get("names", 0)
    shown = sorted(members, key=lambda m: -(m["lost"] + m["won"]))[:SHOWN_MEMBERS]
    return {
        "dimension": dimension,
        "title": TITLES[dimension],
        "sums": sums,
        "share": changed / whole if whole else 0.0,
        "members": [{**m, "change": m["after"] - m["before"]} for m in shown],
        "n_members": len(members),
        "flows": [_flow(f, pair) for f in flows[:SHOWN_FLOWS]],
        "n_flows": len(flows),
    }


def _flow(flow: dict[str, Any], pair: Pair) -> dict[str, Any]:
    query = {k: flow[k] for k in ("dimension", "before", "after")}
    href = reverse("moves", args=[pair.before.slug, pair.after.slug])
    return {**flow, "href": f"{href}?{differences.encode(query)}"}


@require_GET
def moves(request: HttpRequest, before: str, after: str) -> HttpResponse:
    """The names that moved in one way, or all that moved in a dimension."""
    pair = pair_or_404(request, before, after)
    found = comparison.comparison(pair.before, pair.after)
    if found is None:
        return redirect("comparison", before=before, after=after)
    dimension = request.GET.get("dimension", "")
    if dimension not in comparison.DIMENSIONS:
        raise Http404("no such dimension")
    chosen = [request.GET.get(key, "") for key in ("before", "after")]
    flow = found.flow(dimension, *chosen) if any(chosen) else None
    if any(chosen) and flow is None:
        raise Http404("no name moved so")
    first, total = (flow["first"], flow["names"]) if flow else found.span(dimension)
    pages = max(1, -(-total // NAMES_PER_PAGE))
    page = min(page_number(request), pages)
    start = (page - 1) * NAMES_PER_PAGE
    query = {k: request.GET[k] for k in ("dimension", "before", "after") if request.GET.get(k)}
    context = {
        **pair.context,
        "dimension": dimension,
        "title": TITLES[dimension],
        "flow": flow,
        "total": total,
        "rows": found.moves.rows(first + start, min(NAMES_PER_PAGE, total - start)),
        "pager": {"page": page, "pages": pages},
        "params": differences.encode(query),
    }
    return render(request, "surveys/comparisons/moves.html", context)


@require_GET
def table(request: HttpRequest, before: str, after: str, table: str) -> HttpResponse:
    """One table of both surveys, row by row."""
    pair = pair_or_404(request, before, after)
    change = comparison.table_changes(before, after).get(table)
    if change is None:
        raise Http404(f"no table {table}")
    context = {
        **pair.context,
        "change": change,
        "grid": differences.difference_grid(change, pair.after.slug),
        "summary": differences.summary(change, before, after),
    }
    return render(request, "surveys/comparisons/table.html", context)
