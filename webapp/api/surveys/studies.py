"""REST API v1: the history of a domain, who fails with an outage, and traffic captures."""

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import Query, Schema

from tasks.traffic import log_import
from webapp.api.framework.files import table_file
from webapp.api.framework.paging import Page, paged
from webapp.api.framework.routers import Router
from webapp.store.access.visibility import visible
from webapp.store.models import Survey
from webapp.store.surveys import domain_history
from webapp.store.surveys import index as survey_index

router = Router(tags=["evidence"])
CASUALTY_COLUMNS = ("rank", "domain", "state", "down", "part", "names", "silent")
MAX_CASUALTIES = 1_000_000
INDEX_RETRY_S = 2


class OutageQuery(Schema):
    """Which outage: a ``kind`` with its ``target``, and the provider of a region or zone."""

    kind: str
    target: str
    provider: str = ""
    first: int = 0
    limit: int = MAX_CASUALTIES


@router.get("/domains/{domain}/history", response={200: dict})
def get_history(request: HttpRequest, domain: str, page: Query[Page]) -> Any:
    """Every survey that asked a domain, the newest first, and what changed from one to the next."""
    found = domain_history.history(domain, reader=request.user)
    if not found:
        raise Http404(f"no survey asked {domain!r}")
    return {
        "domain": domain,
        **paged(found, page, attrgetter("slug"), domain_history.Visit.as_json),
    }


@router.get("/surveys/{slug}/outages.{kind_of_file}", response={200: dict, 202: dict})
def get_outage(
    request: HttpRequest, slug: str, kind_of_file: str, query: Query[OutageQuery]
) -> Any:
    """The domains that an outage takes down, fully first, each by rank."""
    survey = visible(Survey.objects.filter(slug=slug), request.user).first()
    if survey is None:
        raise Http404(f"there is no survey {slug!r}")
    index = survey_index.index_of(survey)
    if index is None:
        return _not_yet(survey)
    found = index.casualties(query.kind, query.provider, query.target)
    start, limit = max(0, query.first), min(max(1, query.limit), MAX_CASUALTIES)
    cells = [[row[c] for c in CASUALTY_COLUMNS] for row in found.page(start, limit)]
    if kind_of_file != "json":
        return table_file(f"{slug}-{query.target}-outage", kind_of_file, CASUALTY_COLUMNS, cells)
    return {"total": found.total, "first": start, "columns": CASUALTY_COLUMNS, "rows": cells}


def _not_yet(survey: Survey) -> HttpResponse:
    """The index of a survey is made when it ends; until then there is no outage to be looked at."""
    document = {"status": survey.state, "detail": "its index is not made yet"}
    return JsonResponse(document, status=202, headers={"Retry-After": str(INDEX_RETRY_S)})


@router.get("/captures", response={200: dict}, tags=["traffic"])
def list_captures(request: HttpRequest, page: Query[Page]) -> Any:
    """Names of imported traffic captures, the newest first."""
    return paged(log_import.list_imports(), page, str, str)


@router.get("/captures/{name}", response={200: dict}, tags=["traffic"])
def get_capture(request: HttpRequest, name: str) -> Any:
    """The whole report of a capture, as ``manage.py packets report --json`` gives it."""
    return _capture(name)


@router.get("/captures/{name}/tables/{table}.{kind}", response={200: dict}, tags=["traffic"])
def get_capture_table(request: HttpRequest, name: str, table: str, kind: str) -> Any:
    """One table of a capture."""
    found = _capture(name)["tables"].get(table)
    if found is None:
        raise Http404(f"capture {name!r} has no table {table!r}")
    if kind == "json":
        return {"id": table, **found}
    return table_file(f"{name}-{table}", kind, found["columns"], found["rows"])


def _capture(name: str) -> dict[str, Any]:
    if name not in log_import.list_imports():
        raise Http404(f"there is no capture {name!r}")
    document = log_import.read_report(name)
    # Where a file stood on the importer's machine is nobody's business.
    logs = [{**log, "path": log["path"].rpartition("/")[2]} for log in document["logs"]]
    return {**document, "logs": logs}
