"""Context that every page of a measurement campaign shares."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import get_script_prefix, reverse

from webapp.pages.campaigns.formatting import METRICS, Metric
from webapp.store.campaigns import selectors
from webapp.store.models import Campaign

TABS = (
    ("campaign", "Overview"),
    ("campaign-grid", "Pairs"),
    ("campaign-changes", "Changes"),
    ("campaign-regions", "Regions"),
    ("campaign-choice", "Choice"),
    ("campaign-best", "Best sets"),
    ("campaign-zones", "Zones"),
    ("campaign-isps", "ISPs"),
    ("campaign-suitability", "Suitability"),
    ("campaign-probes", "Probes"),
    ("campaign-failures", "Failures"),
    ("campaign-method", "Method"),
    ("campaign-progress", "Progress"),
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One campaign as an address names it, with what the address asks to be shown."""

    row: Campaign
    metrics: tuple[Metric, ...]
    metric: Metric

    def context(self, request: HttpRequest, **more: Any) -> dict[str, Any]:
        """What every template needs."""
        row = self.row
        tabs = [(reverse(name, args=[row.slug]), title, name) for name, title in TABS]
        return {
            "section": "campaigns",
            "m": row,
            "facts": plan_figures(row),
            "tabs": tabs,
            "metric": self.metric,
            "metrics": [(m, _query(request, metric=m.id)) for m in self.metrics],
            "api": f"{get_script_prefix()}api/v1/wide-area/{row.slug}",
            **more,
        }


def frame_or_404(request: HttpRequest, slug: str) -> Frame:
    """The campaign of an address, if the reader may see it, and the metric that is requested."""
    row = selectors.campaign(slug, request.user)
    if row is None:
        raise Http404(f"no campaign {slug}")
    built = tuple(m for m in METRICS.values() if selectors.has_table(row, f"{m.id}-grid"))
    wanted = METRICS.get(request.GET.get("metric", ""))
    first = built[0] if built else METRICS["latency"]
    return Frame(row, built, wanted if wanted in built and wanted else first)


def _query(request: HttpRequest, **changed: Any) -> str:
    """The query of this page with some values changed."""
    query = request.GET.copy()
    query.pop("page", None)
    for key, value in changed.items():
        query[key] = str(value)
    return "?" + query.urlencode()


def plan_figures(row: Campaign) -> dict[str, Any]:
    """How large a campaign is, by its own plan."""
    targets = row.targets if isinstance(row.targets, list) else []
    regions = {t.get("region") or t.get("name", "") for t in targets if isinstance(t, dict)}
    return {
        "vantages": len(row.vantages),
        "targets": len(targets),
        "regions": len(regions),
        "rounds": row.schedule.get("rounds"),
        "round_s": row.schedule.get("round_s"),
        "activities": row.schedule.get("activities", []),
    }


def round_start(row: Campaign, number: int) -> datetime | None:
    """Return the start of a round by its number; ``None`` before the campaign has started."""
    seconds = row.schedule.get("round_s")
    if not row.started_at or not seconds:
        return None
    return row.started_at + timedelta(seconds=number * float(seconds))


def paginate(request: HttpRequest, total: int, size: int) -> dict[str, int]:
    """Which page is requested, and how many there are."""
    pages = max(1, -(-total // size))
    text = request.GET.get("page", "1")
    page = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1
    return {"page": min(max(page, 1), pages), "pages": pages}
