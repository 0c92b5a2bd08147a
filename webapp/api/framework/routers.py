"""Router that describes replies by name and refuses unknown query parameters."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import ninja
from django.http import HttpRequest
from ninja.constants import NOT_SET
from ninja.decorators import decorate_view

from webapp.api.framework.problems import problem

# Security requirements for ``openapi_extra``, of operations that not everyone may call.
_ACCOUNT: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
ACCOUNT = {"security": _ACCOUNT}
OPERATOR = {"security": _ACCOUNT, "x-role": "operator"}
# The request's body holds the secret of a machine.
MACHINE: dict[str, Any] = {"security": []}
# Method and route of the operations that need an account, as Django writes routes.
account_routes: set[tuple[str, str]] = set()
# Names of the schemas of replies by operation id and status.
replies: dict[str, dict[int, str | None]] = {}


class Router(ninja.Router):
    """A router with operations that declare their replies.

    ``response`` gives for each status the name of a schema below
    :mod:`webapp.api.framework.replies` (``surveys.Survey``, ``Page[surveys.Survey]``), a media
    type, ``files`` for a table that has no JSON form, or None for no content. Schemas are imported
    when the OpenAPI document is requested, since they took nine tenths of the import time, and
    replies are sent unvalidated. Operation ids are the functions' names unless given.
    """

    def add_api_operation(
        self,
        path: str,
        methods: list[str],
        view_func: Callable[..., Any],
        *,
        response: Any = NOT_SET,
        operation_id: str | None = None,
        **more: Any,
    ) -> None:
        """Add an operation, with the parameters of ``ninja.Router``; ids are unique."""
        decorate_view(_refuse_unknown(known := set()))(view_func)
        name = operation_id or view_func.__name__
        if name in replies:
            raise ValueError(f"two operations are called {name}")
        super().add_api_operation(path, methods, view_func, operation_id=name, **more)
        if (more.get("openapi_extra") or {}).get("security"):
            route = path.replace("{", "<").replace("}", ">")
            account_routes.update((method, route) for method in methods)
        operation = view_func._ninja_operation  # type: ignore[attr-defined]
        replies[name] = response if isinstance(response, dict) else {}
        operation.response_models = {
            status: None if shape is None else NOT_SET for status, shape in replies[name].items()
        } or operation.response_models
        for model in operation.models:
            if model.__ninja_param_source__ == "query":
                known.update(model.__ninja_flatten_map__)


def needs_account(method: str | None, route: str) -> bool:
    """Whether an operation needs an account, by its method and whole route."""
    return any(method == one and route.endswith(end) for one, end in account_routes)


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
