"""Router that sends answers unvalidated and refuses unknown query parameters."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import ninja
from django.http import HttpRequest
from ninja.constants import NOT_SET
from ninja.decorators import decorate_view

from webapp.api.framework.problems import problem


class Router(ninja.Router):
    """A router without response models.

    ``response`` lists status codes, with None for those without content. Response models took nine
    tenths of the import time; :mod:`webapp.api.framework.reply_schemas` describes answers when the
    OpenAPI document is requested.
    """

    def add_api_operation(
        self,
        path: str,
        methods: list[str],
        view_func: Callable[..., Any],
        *,
        response: Any = NOT_SET,
        **more: Any,
    ) -> None:
        """Add an operation, with the parameters of ``ninja.Router``."""
        decorate_view(_refuse_unknown(known := set()))(view_func)
        super().add_api_operation(path, methods, view_func, **more)
        operation = view_func._ninja_operation  # type: ignore[attr-defined]
        if isinstance(response, dict):
            operation.response_models = {
                status: None if shape is None else NOT_SET for status, shape in response.items()
            }
        for model in operation.models:
            if model.__ninja_param_source__ == "query":
                known.update(model.__ninja_flatten_map__)


def _refuse_unknown(known: set[str]) -> Callable[..., Any]:
    """Answer 422 to a query parameter that the operation does not know."""

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(run)
        def refuse_or_run(request: HttpRequest, **path: Any) -> Any:
            unknown = next((name for name in request.GET if name not in known), None)
            if unknown is None:
                return run(request, **path)
            detail = "there is no such parameter"
            if known:
                detail += f"; there are {', '.join(sorted(known))}"
            return problem(422, "invalid-field", detail, field=unknown[:200])

        return refuse_or_run

    return decorate
