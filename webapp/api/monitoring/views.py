"""``/healthz`` (liveness), ``/readyz`` (readiness) and ``/metrics`` (Prometheus)."""

import ipaddress
import secrets
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from redis.exceptions import RedisError

from core.errors import NephoscopeError
from tasks.platform.task_metrics import broker_client
from webapp.api.monitoring import collectors
from webapp.api.monitoring.registry import REGISTRY
from webapp.store.monitoring.readiness import CHECKS

assert collectors
_REFUSED = (
    "Metrics are for processes of this machine, or with the token NEPHOSCOPE_METRICS_TOKEN in"
    " Authorization: Bearer.\n"
)


def _check_broker() -> None:
    with broker_client() as client:
        client.ping()


_CHECKS: dict[str, Callable[[], None]] = {**CHECKS, "broker": _check_broker}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer 200 while the process serves requests; nothing else is queried."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer 200 where database, migrations, broker and data folder are fit for work, else 503.

    Reasons are for those who may read metrics: they name folders and servers.
    """
    failed = {name: reason for name, check in _CHECKS.items() if (reason := _failure(check))}
    may_read = _may_read(request)
    states = {
        name: (failed[name] if may_read else "failed") if name in failed else "ok"
        for name in _CHECKS
    }
    document = {"status": "not ready" if failed else "ready", "checks": states}
    return JsonResponse(document, status=503 if failed else 200)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer with all metrics in the text format of Prometheus."""
    if not _may_read(request):
        return HttpResponse(_REFUSED, status=403, content_type="text/plain")
    return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def _failure(check: Callable[[], None]) -> str:
    """What a check found; empty where all is well."""
    try:
        check()
    except (NephoscopeError, DatabaseError, RedisError, OSError) as error:
        return str(error) or type(error).__name__
    return ""


def _may_read(request: HttpRequest) -> bool:
    """Whether the request has the token or, where none is set, comes from this machine itself.

    A request that a proxy passed on does not, also where the proxy runs on this machine.
    """
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "").partition(" ")[2].strip()
        return secrets.compare_digest(given.encode(), settings.METRICS_TOKEN.encode())
    sender = str(request.META.get("REMOTE_ADDR", ""))
    is_passed_on = "X-Forwarded-For" in request.headers or "Forwarded" in request.headers
    return not is_passed_on and (not sender or _is_loopback(sender))


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
