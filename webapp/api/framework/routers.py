"""Operations of the API: their answers are sent as they are, and unknown parameters are refused."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import ninja
from django.http import HttpRequest
from ninja.constants import NOT_SET
from ninja.decorators import decorate_view

from webapp.api.framework.problems import problem


class Router(ninja.Router):
    """A router that makes no model of each answer of each operation.

    ``response`` says which status codes there are, with None for those without a content. Such
    models were nine tenths of what importing an operation cost; answers are described, by
    :mod:`webapp.api.framework.reply_schemas`, when somebody reads the OpenAPI document.
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
        """Add an operation, given as in the framework."""
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
