"""REST API v1: the raw data of a survey as one file."""

import re
from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils.http import content_disposition_header
from ninja.errors import HttpError

from tasks.surveys.packages import packing
from webapp.api.framework.events import limit_streams
from webapp.api.framework.routers import Router
from webapp.api.surveys.lookup import get_survey
from webapp.store.requests.pieces import stream_pieces

router = Router(tags=["reports"])
CONTENT_TYPE = "application/x-tar"
# What a client sends that continues a download; other ranges get the whole file (RFC 9110, 14.2).
_REST = re.compile(r"bytes=(\d{1,15})-")


@router.get(
    "/surveys/{slug}/package",
    response={200: CONTENT_TYPE, 206: CONTENT_TYPE, 304: None},
    operation_id="export_survey_package",
)
def get_package(request: HttpRequest, slug: str) -> Any:
    """The raw data as a tar file: manifest, observations as Parquet, range files, report.

    ``ETag`` follows from the contents; ``Range: bytes=N-`` continues a download.
    """
    survey = get_survey(request, slug)
    if not packing.is_packageable(survey.state):
        raise HttpError(409, f"the survey is {survey.state}: it has no report to package")
    package = packing.open_package(survey)
    tag = f'"{package.digest[:24]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes"}
    if request.headers.get("If-None-Match") == tag:
        return HttpResponse(status=304, headers=headers)
    first = _first_byte(request, tag)
    if first >= package.size:
        headers["Content-Range"] = f"bytes */{package.size}"
        return HttpResponse(status=416, headers=headers)
    if first:
        headers["Content-Range"] = f"bytes {first}-{package.size - 1}/{package.size}"
    headers["Content-Length"] = str(package.size - first)
    headers["Content-Disposition"] = content_disposition_header(True, package.file_name) or ""
    pieces = stream_pieces(package.chunks(first))
    return StreamingHttpResponse(
        limit_streams(str(request.META.get("REMOTE_ADDR", "")), pieces),
        status=206 if first else 200,
        content_type=CONTENT_TYPE,
        headers=headers,
    )


def _first_byte(request: HttpRequest, tag: str) -> int:
    """The first byte that is requested; 0 where the client has a part of another package."""
    found = _REST.fullmatch(request.headers.get("Range", ""))
    if found is None or request.headers.get("If-Range", tag) != tag:
        return 0
    return int(found[1])
