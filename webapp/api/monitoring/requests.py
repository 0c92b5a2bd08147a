"""Middleware of every request: its identifier in logs and replies, and its duration.

Agents' reports and refused bodies end before Django and are not counted.
"""

import logging
import secrets
import time
from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import Histogram

from tasks.platform import task_metrics
from tasks.platform.log_context import REQUEST_ID, set_log_fields
from webapp.api.monitoring.registry import REGISTRY
from webapp.store.access import events

HEADER = "X-Request-ID"
_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
DURATIONS = Histogram(
    "nephoscope_http_request_duration_seconds",
    "Time from the head of a request to that of its reply, by route.",
    ["method", "route", "status"],
    buckets=_BOUNDS_S,
    registry=REGISTRY,
)
log = logging.getLogger(__name__)
# Other methods would be labels of an attacker's choice.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# Tasks that a request queues carry its identifier.
assert task_metrics.send_request_id


class RequestMiddleware:
    """Give each request an identifier, or keep that of a proxy, and observe its duration."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        identifier, began_at = _start_request(request)
        return _finish_request(request, self._get_response(request), identifier, began_at)


def _start_request(request: HttpRequest) -> tuple[str, float]:
    given = request.headers.get(HEADER, "")
    identifier = given if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
    set_log_fields(request=identifier)
    events.REQUEST_ID.set(identifier)
    return identifier, time.perf_counter()


def _finish_request(
    request: HttpRequest, response: HttpResponseBase, identifier: str, began_at: float
) -> HttpResponseBase:
    response[HEADER] = identifier
    route = request.resolver_match.route if request.resolver_match else ""
    method = request.method if request.method in _METHODS else "other"
    duration_s = time.perf_counter() - began_at
    DURATIONS.labels(method, route, response.status_code).observe(duration_s)
    log.info("%s %s %d %.1f ms", method, route, response.status_code, duration_s * 1e3)
    return response
