"""REST API v1: what each type of problem means; browsers get a page."""

from operator import itemgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from ninja import Query

from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.problem_kinds import KINDS
from webapp.api.framework.problems import type_of
from webapp.api.framework.routers import Router

router = Router(tags=["service"])


def _document(kind: str) -> dict[str, Any]:
    found = KINDS[kind]
    return {
        "type": type_of(kind),
        "kind": kind,
        "statuses": list(found.statuses),
        "meaning": found.meaning,
        "remedy": found.remedy,
        "is_retryable": found.is_retryable,
        "examples": [{"field": field, "detail": detail} for field, detail in found.examples],
    }


@router.get("/problems", response={200: "Page[service.ProblemType]"})
def list_problem_types(request: HttpRequest, page: Query[Page]) -> Any:
    """Types of problems by name."""
    return paginate([_document(kind) for kind in sorted(KINDS)], page, itemgetter("kind"), dict)


@router.get("/problems/{kind}", response={200: "service.ProblemType"})
def get_problem_type(request: HttpRequest, kind: str, response: HttpResponse) -> Any:
    """What a type of problem means and what to do; a page where ``Accept`` prefers HTML."""
    if kind not in KINDS:
        raise Http404("there is no such type of problem")
    wanted = request.get_preferred_type(["application/json", "text/html"])
    if wanted == "text/html":
        response = render(request, "problem_type.html", {"problem": _document(kind)})
    patch_vary_headers(response, ["Accept"])
    return response if wanted == "text/html" else _document(kind)
