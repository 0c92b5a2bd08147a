"""REST API v1: machines of a pool, their reports, and the choice of the best."""

from operator import attrgetter
from typing import Annotated, Any, Literal

from django.http import Http404, HttpRequest
from ninja import Field, Query, Status

from webapp.api.framework.files import download, table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body
from webapp.api.screening import documents as documents
from webapp.api.screening.lookup import find_own_pool, find_pool
from webapp.store.screening import details, selectors, services, views
from webapp.store.screening.selectors import PoolRow

router = Router(tags=["screening"])
MOST_ROWS = 1_000
# Numbers of rows as the database has them.
RowId = Annotated[int, Field(ge=1, lt=2**63)]
Verdict = Literal["", "good", "network-test", "bad", "not-enough"]


class LabelIn(Body):
    """Ground truth of a machine, set by its owner."""

    label: Literal["", "good", "bad"]


@router.get(
    "/pools/{key}/instances",
    response={200: "Page[selectors.InstanceRow]"},
    operation_id="list_pool_instances",
)
def list_instances(request: HttpRequest, key: str, page: Query[Page], verdict: Verdict = "") -> Any:
    """Machines with their newest verdicts, by name."""
    rows = selectors.list_instances(find_pool(request, key), verdict)
    return paginate(rows, page, attrgetter("id"), documents.instance_json)


@router.get(
    "/pools/{key}/instances.{kind}",
    response={200: "common.CellPage"},
    operation_id="export_pool_instances",
)
def export_instances(request: HttpRequest, key: str, kind: str, verdict: Verdict = "") -> Any:
    """The same as a file: ``csv``, ``jsonl`` or ``parquet``."""
    row = find_pool(request, key)
    cells = [documents.instance_cells(one) for one in selectors.list_instances(row, verdict)]
    if kind == "json":
        return {"columns": documents.INSTANCE_COLUMNS, "rows": cells}
    return table_file(f"pool-{key}", kind, documents.INSTANCE_COLUMNS, cells)


@router.get(
    "/pools/{key}/instances/{instance}",
    response={200: "screening.InstanceDetail"},
    operation_id="get_pool_instance",
)
def get_instance(request: HttpRequest, key: str, instance: int, report: str = "") -> Any:
    """A machine with the histogram, stalls and causes of its newest report, or of ``report``."""
    return _instance(find_pool(request, key), instance, report)


def _instance(row: PoolRow, instance: int, report: str) -> Any:
    found = selectors.find_instance(row, instance)
    view = views.instance_view(row, found, report) if found else None
    if view is None:
        raise Http404("the pool has no such machine or report")
    return documents.view_json(view)


@router.patch(
    "/pools/{key}/instances/{instance}",
    response={200: "selectors.InstanceRow"},
    operation_id="label_pool_instance",
    openapi_extra=ACCOUNT,
)
def label_instance(request: HttpRequest, key: str, instance: int, asked: LabelIn) -> Any:
    """Set the ground truth of a machine, for calibration."""
    row = find_own_pool(request, key)
    found = services.label_instance(row, instance, asked.label)
    one = selectors.find_instance(row, instance)
    if not found or one is None:
        raise Http404("the pool has no such machine")
    return documents.instance_json(one)


@router.delete(
    "/pools/{key}/instances/{instance}",
    response={204: None},
    operation_id="delete_pool_instance",
    openapi_extra=ACCOUNT,
)
def delete_instance(request: HttpRequest, key: str, instance: int) -> Any:
    """Delete a machine with its reports."""
    if not services.delete_instance(find_own_pool(request, key), instance):
        raise Http404("the pool has no such machine")
    return Status(204, None)


@router.get(
    "/pools/{key}/reports",
    response={200: "Page[screening.PoolReport]"},
    operation_id="list_pool_reports",
)
def list_reports(
    request: HttpRequest, key: str, page: Query[Page], instance: RowId | None = None
) -> Any:
    """The newest reports, at most 1,000."""
    rows = selectors.list_reports(find_pool(request, key), instance, MOST_ROWS)
    return paginate(rows, page, attrgetter("report_id"), documents.report_json)


@router.get(
    "/pools/{key}/reports/{report_id}",
    response={200: "screening.AgentReport"},
    operation_id="get_pool_report",
)
def get_report(request: HttpRequest, key: str, report_id: str) -> Any:
    """Return a report as its agent sent it."""
    body = details.read_body(find_pool(request, key), report_id)
    if body is None:
        raise Http404("the pool has no such report")
    return download(f"{report_id}.json", "application/json", body)


@router.get(
    "/pools/{key}/choice",
    response={200: "screening.Choice"},
    operation_id="choose_pool_instances",
)
def choose(
    request: HttpRequest, key: str, wanted: Annotated[int, Field(ge=1, le=100_000)] | None = None
) -> Any:
    """The best ``wanted`` machines, how many of them may be bad, and K with its cost."""
    return documents.choice_json(views.choose(find_pool(request, key), wanted))
