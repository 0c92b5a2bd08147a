"""REST API v1: domain histories and outage simulations."""

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Field, Query, Schema

from tasks.audits.domain_card import find_card
from webapp.api.framework.files import table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import Router
from webapp.api.surveys.lookup import get_survey
from webapp.store.models import Survey
from webapp.store.surveys import domain_history, evidence
from webapp.store.surveys import index as survey_index

router = Router(tags=["evidence"])
AFFECTED_COLUMNS = ("rank", "domain", "state", "down", "part", "names", "silent")
MAX_AFFECTED = 1_000_000
INDEX_RETRY_S = 2


class OutageQuery(Schema):
    """Which outage: a ``kind`` with its ``target``, and the provider of a region or zone."""

    kind: str
    target: str
    provider: str = ""
    first: int = 0
    limit: int = MAX_AFFECTED


class HostedQuery(Schema):
    """Which domains: ``q`` is in their name, and they have a name in a provider, region, zone."""

    q: str = ""
    provider: str = Field("", max_length=40)
    region: str = Field("", max_length=60)
    zone: str = Field("", max_length=60)


@router.get(
    "/domains/{domain}/history",
    response={200: "evidence.DomainHistory"},
    operation_id="get_domain_history",
)
def get_history(request: HttpRequest, domain: str, page: Query[Page]) -> Any:
    """List all surveys of a domain, newest first, with changes between them."""
    found = domain_history.history(domain, reader=request.user)
    if not found:
        raise Http404(f"no survey asked {domain!r}")
    return {
        "domain": domain,
        **paginate(found, page, attrgetter("slug"), domain_history.DomainObservation.as_json),
    }


@router.get(
    "/domains/{domain}/card",
    response={200: "evidence.DomainCard"},
    operation_id="get_domain_card",
)
def get_card(request: HttpRequest, domain: str) -> Any:
    """Return where a domain runs, what takes it down, and its grade with the reasons."""
    name, found = find_card(domain, request.user)
    if found is None:
        raise Http404(f"no finished survey holds {name!r}: measure it with POST /api/v1/surveys")
    return found.as_json()


@router.get(
    "/surveys/{slug}/outages.{kind_of_file}",
    response={200: "common.CountedCells", 202: "evidence.NotIndexed"},
    operation_id="get_survey_outage",
)
def get_outage(
    request: HttpRequest, slug: str, kind_of_file: str, query: Query[OutageQuery]
) -> Any:
    """List the domains that an outage affects, total failures first, by rank."""
    survey = get_survey(request, slug)
    index = survey_index.index_of(survey)
    if index is None:
        return _index_pending(survey)
    found = index.affected_domains(query.kind, query.provider, query.target)
    start, limit = max(0, query.first), min(max(1, query.limit), MAX_AFFECTED)
    cells = [[row[c] for c in AFFECTED_COLUMNS] for row in found.page(start, limit)]
    if kind_of_file != "json":
        return table_file(f"{slug}-{query.target}-outage", kind_of_file, AFFECTED_COLUMNS, cells)
    return {"total": found.total, "first": start, "columns": AFFECTED_COLUMNS, "rows": cells}


@router.get(
    "/surveys/{slug}/domains.{kind_of_file}",
    response={200: "text/csv", 202: "evidence.NotIndexed"},
    operation_id="export_survey_domains",
)
def export_domains(
    request: HttpRequest, slug: str, kind_of_file: str, query: Query[HostedQuery]
) -> Any:
    """All domains with a name in a provider, region or zone, by rank: csv, jsonl or parquet."""
    survey = get_survey(request, slug)
    hosted = evidence.hosted_in(query.provider, query.region, query.zone)
    found = evidence.domain_columns(slug, query.q, hosted)
    if found is None:
        return _index_pending(survey)
    return table_file(f"{slug}-domains", kind_of_file, *found)


def _index_pending(survey: Survey) -> HttpResponse:
    """Return 202: the index is built when the survey ends."""
    document = {"status": survey.state, "detail": "its index is not ready yet"}
    return JsonResponse(document, status=202, headers={"Retry-After": str(INDEX_RETRY_S)})
