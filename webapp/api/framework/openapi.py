"""OpenAPI document of the API: replies, examples, headers, problems and security by operation."""

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
from webapp.api.framework.problems import type_of
from webapp.api.framework.routers import replies

PROBLEM_TYPE = "application/problem+json"
_FILES = ("text/csv", "application/jsonl", "application/vnd.apache.parquet")
# Further content types of successful answers, by address.
_ALSO = (
    (re.compile(r"\.\{kind(_of_file)?\}|/tables/\{table\}"), _FILES),
    (
        re.compile(r"/audits/\{slug\}/report"),
        ("application/sarif+json", "application/xml", "text/markdown", "text/csv"),
    ),
)
_LINES = ("application/jsonl", "application/xml")
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_TEXT = {"schema": {"type": "string"}}
_OBJECT = {"schema": {"type": "object"}, "example": {}}
_DESCRIPTIONS = {
    200: "The result",
    201: "It was created; `Location` has its address",
    202: "It was accepted and is under way; `Location` has its address",
    206: "The rest of the file, as `Range` asked for it",
    204: "Done; there is no content",
    304: "Nothing has changed since the entity tag",
}
_STREAM = (
    'id: "9f86d081884c7d659a2feaa0"\nevent: progress\ndata: {"status": "running"}\n\n'
    'event: end\ndata: {"status": "finished"}\n\n'
)
_SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of an account; it reads, or reads and writes.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": settings.SESSION_COOKIE_NAME,
        "description": "A browser's session; changes need the header X-CSRFToken.",
    },
}
# Both are optional: public objects need no authentication.
_OPTIONAL: list[dict[str, list[str]]] = [{}, {"token": []}, {"session": []}]
_KEYED = re.compile(r"/(surveys|measurements|recommendations|audits|captures)$")
_PARAMETERS = {
    "Idempotency-Key": (
        "Makes a repetition safe: the same request with the same key gives what it made before.",
        {"maxLength": 120},
        "6f1c4a52-import-of-march",
    ),
    "If-None-Match": (
        "The ETag of an earlier reply; 304 where nothing has changed.",
        {},
        '"9f86d081884c7d659a2feaa0"',
    ),
    "Range": ("`bytes=N-` continues a download.", {}, "bytes=1024-"),
    "Prefer": ("`respond-async` leaves the work to a worker.", {}, "respond-async"),
}
_RATES = {
    name: {"description": text, "schema": {"type": "string"}, "example": example}
    for name, text, example in (
        ("RateLimit-Policy", "Quotas by name (IETF draft RateLimit).", '"active-surveys";q=4'),
        ("RateLimit", "What is left of each quota.", '"active-surveys";r=3'),
    )
}
_LOCATION = {"description": "The address of the object.", "schema": {"type": "string"}}
_ETAG = {"description": "Changes when the document does.", "schema": {"type": "string"}}
_RETRY = {"description": "Seconds until a repetition may help.", "schema": {"type": "integer"}}
# Statuses of refusals that every operation may give, and those of changes alone.
_REFERENCE = "#/components/responses/Problem"
_ALWAYS, _CHANGES = (422, 429, 500, 503), (401, 403, 413)


class DescribedAPI(NinjaAPI):
    """An API of operations with declared replies; see :mod:`webapp.api.framework.routers`."""

    def get_openapi_schema(self, **asked: Any) -> OpenAPISchema:
        """The OpenAPI document."""
        # Imported on demand, since building the schemas is slow.
        shapes = import_module("webapp.api.framework.replies.lookup")
        examples = import_module("webapp.api.framework.example_composer")
        schema = super().get_openapi_schema(**asked)
        known, components = shapes.describe()
        schemas = schema["components"].setdefault("schemas", {})
        schemas.update(components)
        schema["components"]["securitySchemes"] = _SECURITY
        schema["components"]["responses"] = _refusals()
        schema["security"] = _OPTIONAL
        writer = _OperationWriter(known, examples.Composer(schemas), shapes.is_schema)
        for path, operations in schema["paths"].items():
            for method, operation in operations.items():
                writer.write(path, method, operation)
        return schema


class _OperationWriter:
    """Completes the operations of a document."""

    def __init__(self, known: dict[str, Any], composer: Any, is_schema: Any) -> None:
        self._known, self._composer, self._is_schema = known, composer, is_schema

    def write(self, path: str, method: str, operation: dict[str, Any]) -> None:
        """Complete one operation: parameters, body, replies, problems and security."""
        operation.setdefault("security", _OPTIONAL)
        self._write_parameters(path, method, operation)
        for content in operation.get("requestBody", {}).get("content", {}).values():
            content["example"] = self._composer.compose(content["schema"])
        operation["responses"] = {
            **self._replies(path, operation["operationId"]),
            **_problems(path, method, operation),
        }

    def _write_parameters(self, path: str, method: str, operation: dict[str, Any]) -> None:
        parameters = operation.setdefault("parameters", [])
        for parameter in parameters:
            example = self._composer.compose(parameter["schema"], parameter["name"])
            if example is not None:
                parameter["example"] = example
        for name in _header_names(path, method, operation["operationId"]):
            text, rules, example = _PARAMETERS[name]
            shape = {"type": "string", **rules}
            described = {"description": text, "schema": shape, "example": example}
            parameters.append({"name": name, "in": "header", "required": False, **described})

    def _replies(self, path: str, operation_id: str) -> dict[Any, Any]:
        given = replies[operation_id]
        found = {status: self._reply(path, status, name) for status, name in given.items()}
        for status, reply in found.items():
            reply["headers"] = {**_RATES, **reply.get("headers", {})}
            if 304 in given and status in (200, 304):
                reply["headers"]["ETag"] = _ETAG
        return found

    def _reply(self, path: str, status: int, name: str | None) -> dict[str, Any]:
        reply: dict[str, Any] = {"description": _DESCRIPTIONS[status]}
        if status in (201, 202) and not path.endswith(("/links", "/tokens")):
            reply["headers"] = {"Location": _LOCATION}
        if name is None:
            return reply
        content: dict[str, Any] = {}
        if self._is_schema(name):
            shape = self._known[name]
            content["application/json"] = {
                "schema": shape,
                "example": self._composer.compose(shape),
            }
        elif name != "files":
            content[name] = _media(name)
        also = [kind for end, kinds in _ALSO if end.search(path) for kind in kinds]
        content |= {kind: _media(kind) for kind in also if status == 200}
        return {**reply, "content": content}


def _media(kind: str) -> dict[str, Any]:
    if kind == "text/event-stream":
        return {**_TEXT, "example": _STREAM}
    if kind.endswith("+json"):
        return _OBJECT
    return _TEXT if kind.startswith("text/") or kind in _LINES else _BINARY


def _header_names(path: str, method: str, operation_id: str) -> list[str]:
    names = ["Idempotency-Key"] if method == "post" and _KEYED.search(path) else []
    if operation_id == "create_recommendation":
        names.append("Prefer")
    if 206 in replies[operation_id]:
        names.append("Range")
    if 304 in replies[operation_id]:
        names.append("If-None-Match")
    return names


def _problems(path: str, method: str, operation: dict[str, Any]) -> dict[Any, Any]:
    statuses = set(_ALWAYS)
    if "{" in path:
        statuses |= {404, 409}
    if any(parameter["name"] == "cursor" for parameter in operation["parameters"]):
        statuses.add(409)
    if method != "get":
        statuses.update(_CHANGES)
    if {} not in operation["security"]:
        statuses.update((401, 403))
    return {
        **{status: {"$ref": f"{_REFERENCE}{status}"} for status in sorted(statuses)},
        "default": {"$ref": f"{_REFERENCE}s"},
    }


def _refusals() -> dict[str, Any]:
    """All replies with problems, by name: one for each status, and one for any other."""
    statuses = sorted({status for of in KINDS.values() for status in of.statuses})
    return {f"Problem{status}": _problem(status) for status in statuses} | {
        "Problems": _problem(None)
    }


def _problem(status: int | None) -> dict[str, Any]:
    kinds = {kind: of for kind, of in KINDS.items() if status in of.statuses}
    examples = {
        f"{kind}-{number}" if number else kind: {
            "summary": of.meaning,
            "value": {
                "type": type_of(kind),
                "title": of.meaning,
                "status": status,
                "detail": detail,
                **({"field": field} if field else {}),
            },
        }
        for kind, of in kinds.items()
        for number, (field, detail) in enumerate(of.examples or (("", of.remedy),))
    }
    content: dict[str, Any] = {"schema": {"$ref": "#/components/schemas/Problem"}}
    if examples:
        content["examples"] = examples
    headers = {**_RATES, "Retry-After": _RETRY} if status in (429, 503) else _RATES
    names = ", ".join(f"`{kind}`" for kind in kinds)
    return {
        "description": f"Refused: {names}" if names else "Problem details (RFC 9457)",
        "headers": headers,
        "content": {PROBLEM_TYPE: content},
    }


class DocsWithProblems(Swagger):
    """The page of documentation, with links to the types of problems."""

    def render_page(self, request: HttpRequest, api: NinjaAPI, **kwargs: Any) -> HttpResponse:
        """The framework's page, and the types of problems below it."""
        page = super().render_page(request, api, **kwargs)
        rows = "".join(
            f'<dt id="{kind}"><a href="{type_of(kind)}"><code>{kind}</code></a></dt>'
            f"<dd>{escape(of.meaning)}</dd>"
            for kind, of in sorted(KINDS.items())
        )
        section = f"<section><h2>Types of problems</h2><dl>{rows}</dl></section></body>"
        page.content = page.content.decode().replace("</body>", section, 1).encode()
        return page
