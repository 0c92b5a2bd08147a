"""REST API v1: the history of a domain, who fails with an outage, and traffic captures."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema

from webapp.api.files import table_file
from webapp.store import histories, indexes
from webapp.store.models import Campaign

router = Router(tags=["evidence"])
CASUALTY_COLUMNS = ("rank", "domain", "state", "down", "part", "names", "silent")
MAX_CASUALTIES = 1_000_000


class OutageQuery(Schema):
    """Which outage: a ``kind`` with its ``target``, and the provider of a region or zone."""

    kind: str
    target: str
    provider: str = ""
    first: int = 0
    limit: int = MAX_CASUALTIES


@router.get("/domains/{domain}/history", response={200: dict})
def get_history(request: HttpRequest, domain: str) -> Any:
    """Every survey that asked a domain, the newest first, and what changed from one to the next."""
    found = histories.history(domain)
    if not found:
        raise Http404(f"no survey asked {domain!r}")
    return {"domain": domain, "results": [visit.as_json() for visit in found]}


@router.get("/surveys/{slug}/outages.{kind_of_file}", response={200: dict})
def get_outage(
    request: HttpRequest, slug: str, kind_of_file: str, query: Query[OutageQuery]
) -> Any:
    """The domains that an outage takes down, fully first, each by rank."""
    campaign = Campaign.objects.filter(slug=slug).first()
    index = indexes.index_of(campaign) if campaign else None
    if index is None:
        raise Http404(f"there is no survey {slug!r}, or its index is not made yet")
    found = index.casualties(query.kind, query.provider, query.target)
    start, limit = max(0, query.first), min(max(1, query.limit), MAX_CASUALTIES)
    cells = [[row[c] for c in CASUALTY_COLUMNS] for row in found.page(start, limit)]
    if kind_of_file != "json":
        return table_file(f"{slug}-{query.target}-outage", kind_of_file, CASUALTY_COLUMNS, cells)
    return {"total": found.total, "first": start, "columns": CASUALTY_COLUMNS, "rows": cells}
