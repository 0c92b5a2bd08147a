"""The API with a description of itself that says what really comes: errors, files and texts."""

import re
from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

PROBLEM_TYPE = "application/problem+json"
_FILES = ("text/csv", "application/jsonl", "application/vnd.apache.parquet")
# What else a good answer may be, by the end of the address.
_ALSO = (
    (re.compile(r"\.\{kind\}|/tables/\{table\}"), _FILES),
    (re.compile(r"/screening/agent"), ("text/x-python",)),
    (re.compile(r"/screening/schema"), ("application/schema+json",)),
)
_BINARY = {"schema": {"type": "string", "format": "binary"}}


class DescribedAPI(NinjaAPI):
    """Every operation's errors are problem details, which the framework does not know."""

    def get_openapi_schema(self, **asked: Any) -> OpenAPISchema:
        """The OpenAPI document."""
        schema = super().get_openapi_schema(**asked)
        for path, operations in schema["paths"].items():
            more = [kind for end, kinds in _ALSO if end.search(path) for kind in kinds]
            for operation in operations.values():
                _describe(operation["responses"], more)
        return schema


def _describe(responses: dict[Any, Any], more: list[str]) -> None:
    for status, response in responses.items():
        content = response.get("content")
        if content and int(status) >= 400 and "application/json" in content:
            content[PROBLEM_TYPE] = content.pop("application/json")
        elif content and int(status) < 300:
            content.update(dict.fromkeys(more, _BINARY))
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    responses["default"] = {
        "description": "What is wrong, as problem details (RFC 9457)",
        "content": {PROBLEM_TYPE: problem},
    }
