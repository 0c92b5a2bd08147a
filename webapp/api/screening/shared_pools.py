"""REST API v1: read access to a pool by its share link."""

from operator import attrgetter
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from ninja import Field, Query

from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import Router
from webapp.api.screening import documents as documents
from webapp.store.screening import selectors, views
from webapp.store.screening.selectors import PoolRow

router = Router(tags=["screening"])


def _pool(secret: str) -> PoolRow:
    row = selectors.find_shared_pool(secret)
    if row is None:
        raise Http404("this link opens nothing")
    return row


@router.get(
    "/shared/{secret}",
    response={200: "screening.Pool"},
    operation_id="get_shared_pool",
)
def get_shared(request: HttpRequest, secret: str) -> Any:
    """Return the shared pool."""
    return documents.pool_json(_pool(secret), request, f"{documents.BASE}/shared/{secret}")


@router.get(
    "/shared/{secret}/instances",
    response={200: "Page[selectors.InstanceRow]"},
    operation_id="list_shared_pool_instances",
)
def list_shared_instances(request: HttpRequest, secret: str, page: Query[Page]) -> Any:
    """List the machines of the shared pool."""
    rows = selectors.list_instances(_pool(secret))
    return paginate(rows, page, attrgetter("id"), documents.instance_json)


@router.get(
    "/shared/{secret}/instances/{instance}",
    response={200: "screening.InstanceDetail"},
    operation_id="get_shared_pool_instance",
)
def get_shared_instance(request: HttpRequest, secret: str, instance: int) -> Any:
    """Return one machine of the shared pool in detail."""
    row = _pool(secret)
    found = selectors.find_instance(row, instance)
    view = views.instance_view(row, found) if found else None
    if view is None:
        raise Http404("the pool has no such machine")
    return documents.view_json(view)


@router.get(
    "/shared/{secret}/choice",
    response={200: "screening.Choice"},
    operation_id="choose_shared_pool_instances",
)
def choose_shared(
    request: HttpRequest,
    secret: str,
    wanted: Annotated[int, Field(ge=1, le=100_000)] | None = None,
) -> Any:
    """Select the best machines of the shared pool."""
    return documents.choice_json(views.choose(_pool(secret), wanted))


@router.get(
    "/shared/{secret}/findings",
    response={200: "screening.Findings"},
    operation_id="get_shared_pool_findings",
)
def get_shared_findings(request: HttpRequest, secret: str) -> Any:
    """Return the findings of the shared pool."""
    row = _pool(secret)
    return {"is_analysed": row.is_analysed, **documents.plain(row.findings)}
