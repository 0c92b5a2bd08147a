"""REST API v1: traffic captures, and uploads of logs that become captures."""

from typing import Annotated, Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, File, Form, Query, Status, UploadedFile

from core.errors import MissingData
from tasks.traffic import uploads
from webapp.api.framework.files import table_file
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.models import TrafficUpload
from webapp.store.requests.texts import TEXT_PATTERN
from webapp.store.traffic import services
from webapp.store.traffic.services import MAX_FILES, SentFile

router = Router(tags=["traffic"])
Text = Annotated[str, schema(pattern=TEXT_PATTERN)]


class CaptureForm(Body):
    """Name, client networks as CIDRs, and the day of the range tables; all may be left out."""

    name: Annotated[Text, Field(max_length=100)] = ""
    client_networks: Annotated[str, Field(max_length=4_000)] = ""
    as_of: Annotated[str, Field(max_length=40)] = ""


@router.get(
    "/captures",
    response={200: "Page[str]"},
)
def list_captures(request: HttpRequest, page: Query[Page]) -> Any:
    """Names of the traffic captures that the reader may see, the newest first."""
    return paginate(uploads.list_visible(request.user), page, str, str)


@router.post(
    "/captures",
    response={202: "traffic.CaptureUpload"},
    operation_id="upload_capture",
    openapi_extra=ACCOUNT,
)
def upload_capture(
    request: HttpRequest,
    response: HttpResponse,
    files: Annotated[list[UploadedFile], File(max_length=MAX_FILES)],
    given: Form[CaptureForm],
) -> Any:
    """Upload Zeek logs or packet captures of one period; poll ``Location``.

    The files are imported by a worker and deleted; clients are stored as pseudonyms under a random
    key that is not kept. The capture is visible to its owner alone.
    """
    sent = [SentFile(str(f.name), f.chunks()) for f in files]
    options = {"client_networks": given.client_networks, "as_of": given.as_of}
    key = request.headers.get("Idempotency-Key")
    row = uploads.upload(request.user, given.name, sent, options, key)
    response["Location"] = f"/api/v1/captures/{row.slug}/upload"
    return Status(202, _upload_json(row))


@router.get(
    "/captures/{name}/upload",
    response={200: "traffic.CaptureUpload"},
    operation_id="get_capture_upload",
    openapi_extra=ACCOUNT,
)
def get_upload(request: HttpRequest, name: str) -> Any:
    """How far the import of an upload is, or why it failed."""
    return _upload_json(_own(request, name))


@router.delete(
    "/captures/{name}",
    response={204: None},
    openapi_extra=ACCOUNT,
)
def delete_capture(request: HttpRequest, name: str) -> Any:
    """Delete an upload with its capture; one that is imported stops."""
    services.delete(_own(request, name))
    return Status(204, None)


@router.get(
    "/captures/{name}",
    response={200: "traffic.Capture"},
)
def get_capture(request: HttpRequest, name: str) -> Any:
    """The whole report of a capture, as ``manage.py packets report --json`` gives it."""
    return _capture(request, name)


@router.get(
    "/captures/{name}/tables/{table}.{kind}",
    response={200: "traffic.CaptureTable"},
)
def get_capture_table(request: HttpRequest, name: str, table: str, kind: str) -> Any:
    """One table of a capture."""
    found = _capture(request, name)["tables"].get(table)
    if found is None:
        raise Http404(f"capture {name!r} has no table {table!r}")
    if kind == "json":
        return {"id": table, **found}
    return table_file(f"{name}-{table}", kind, found["columns"], found["rows"])


def _capture(request: HttpRequest, name: str) -> dict[str, Any]:
    try:
        document = uploads.read_visible(name, request.user)
    except MissingData as error:
        raise Http404(str(error)) from None
    # Paths on the importing machine are private.
    logs = [{**log, "path": log["path"].rpartition("/")[2]} for log in document["logs"]]
    return {**document, "logs": logs}


def _own(request: HttpRequest, name: str) -> TrafficUpload:
    row = services.find(name, request.user)
    if row is None:
        raise Http404(f"you have no upload {name!r}")
    return row


def _upload_json(row: TrafficUpload) -> dict[str, Any]:
    return {
        "capture": row.slug,
        "name": row.name,
        "status": row.state,
        "progress": row.progress,
        "error": row.error,
        "files": row.files,
        "client_networks": row.options.get("client_networks", []),
        "as_of": row.options.get("as_of", ""),
        "requested_at": row.requested_at,
        "finished_at": row.finished_at,
        "links": {
            "self": f"/api/v1/captures/{row.slug}/upload",
            "capture": f"/api/v1/captures/{row.slug}",
            "page": f"/traffic/{row.slug}/",
        },
    }
