"""OpenAPI document of the API: errors, file formats, headers and security schemes.

Schemas of successful answers are in :mod:`webapp.api.framework.reply_schemas`.
"""

import re
from html import escape
from importlib import import_module
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.openapi.docs import Swagger
from ninja.openapi.schema import OpenAPISchema

from webapp.api.framework.problem_kinds import KINDS

PROBLEM_TYPE = "application/problem+json"
_FILES = ("text/csv", "application/jsonl", "application/vnd.apache.parquet")
# Further content types of successful answers, by address.
_ALSO = (
    (re.compile(r"\.\{kind(_of_file)?\}|/tables/\{table\}"), _FILES),
    (
        re.compile(r"/audits/\{slug\}/report"),
        ("application/sarif+json", "application/xml", "text/markdown", "text/csv"),
    ),
    (re.compile(r"/surveys/\{slug\}/package$"), ("application/x-tar",)),
    (re.compile(r"/screening/agent"), ("text/x-python",)),
    (re.compile(r"/screening/schema"), ("application/schema+json",)),
)
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_OBJECT = {"schema": {"type": "object"}}
# Operations with an idempotency key, and those with an entity tag.
_KEYED = re.compile(r"/(surveys|measurements|recommendations|audits)$")
_TAGGED = re.compile(
    r"/(surveys|measurements|recommendations|pools|audits|domain-lists|audit-policies)/\{\w+\}$"
    r"|/(schedules|alert-endpoints)/\{slug\}$|/surveys/\{slug\}/package$"
)
_SECURITY = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token of an account."},
    "session": {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME},
}
# Both are optional: public objects need no authentication.
_USES: list[dict[str, list[str]]] = [{}, {"token": []}, {"session": []}]
_RATES = {
    name: {"description": text, "schema": {"type": "string"}}
    for name, text in (
        ("RateLimit-Policy", "Quotas by name, as the IETF draft on RateLimit headers has them."),
        ("RateLimit", "What is left of each."),
    )
}


class DescribedAPI(NinjaAPI):
    """Every operation's errors are problem details, which the framework does not know."""

    def get_openapi_schema(self, **asked: Any) -> OpenAPISchema:
        """The OpenAPI document."""
        # Imported on demand, since building the schemas is slow.
        replies = import_module("webapp.api.framework.reply_schemas")
        schema = super().get_openapi_schema(**asked)
        schema["components"]["securitySchemes"] = _SECURITY
        schema["components"]["schemas"].update(replies.describe()[1])
        schema["security"] = _USES
        for path, operations in schema["paths"].items():
            more = [kind for end, kinds in _ALSO if end.search(path) for kind in kinds]
            for method, operation in operations.items():
                # An address stays, while modules and functions may be renamed.
                name = f"{method}{path.removeprefix('/api/v1')}"
                operation["operationId"] = re.sub(r"\W+", "_", name).strip("_")
                _add_headers(path, method, operation)
                _describe(operation["responses"], more, replies.shapes_of(method, path))
        return schema


def _add_headers(path: str, method: str, operation: dict[str, Any]) -> None:
    names: list[tuple[str, str, dict[str, int]]] = []
    if method == "post" and _KEYED.search(path):
        names.append(("Idempotency-Key", "Makes a repetition safe.", {"maxLength": 120}))
    if method == "get" and _TAGGED.search(path):
        names.append(("If-None-Match", "An ETag: 304 where nothing has changed.", {}))
    if method == "post" and path.endswith("/recommendations"):
        names.append(("Prefer", "respond-async leaves the work to a worker.", {}))
    operation.setdefault("parameters", []).extend(
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": text,
            "schema": {"type": "string", **rules},
        }
        for name, text, rules in names
    )
    if any(name == "If-None-Match" for name, _, _ in names):
        operation["responses"].setdefault(304, {"description": "Nothing has changed"})


def _describe(responses: dict[Any, Any], more: list[str], shapes: dict[int, Any]) -> None:
    problem = {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for status, response in responses.items():
        if status >= 400:
            response["content"] = problem
        elif status == 200 or status in shapes:
            json = {"application/json": {"schema": shapes[status]}} if status in shapes else {}
            files = {kind: _OBJECT if kind.endswith("+json") else _BINARY for kind in more}
            response["content"] = {**json, **files}
    responses["default"] = {
        "description": "What is wrong, as problem details (RFC 9457)",
        "content": problem,
    }
    for response in responses.values():
        response["headers"] = _RATES


class DocsWithProblems(Swagger):
    """The page of documentation, with an anchor for each ``type`` of problem."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The framework's page, and the kinds below it."""
        page = super().render_page(request, api, **kwargs)
        rows = "".join(
            f'<dt id="{kind}"><code>{kind}</code></dt><dd>{escape(text)}</dd>'
            for kind, text in sorted(KINDS.items())
        )
        section = f"<section><h2>Types of problems</h2><dl>{rows}</dl></section></body>"
        page.content = page.content.decode().replace("</body>", section, 1).encode()
        return page
