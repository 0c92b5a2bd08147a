"""The operator's page: readiness, queues, workers, jobs, ages of data, disk space and limits."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from redis.exceptions import RedisError

from core.errors import NephoscopeError
from core.release import VERSION
from tasks.platform.app import QUEUES
from tasks.platform.task_metrics import broker_client, queue_lengths
from tasks.platform.workers import Worker, list_workers
from webapp.pages.ui.access import signed_in
from webapp.pages.ui.formatting import provider_name
from webapp.store.monitoring import readiness, selectors
from webapp.store.vantages.services import is_operator

# Range files are fetched once a day; older ones are named.
_OLD = timedelta(days=14)
# Limits of the installation by their variables in the environment.
_LIMITS = (
    "MAX_ACTIVE_SURVEYS",
    "MAX_ACTIVE_SURVEYS_PER_USER",
    "MAX_SURVEY_DOMAINS",
    "MAX_POOL_BYTES",
    "MIN_FREE_MB",
    "MAX_WAIT_H",
    "ANONYMOUS_SURVEYS",
    "SIGN_UP_OPEN",
    "OWNERSHIP_PROOF",
    "FETCH_RANGES",
)


@never_cache
@signed_in
@require_GET
def installation(request: HttpRequest) -> HttpResponse:
    """Show the state of the installation to operators."""
    if not is_operator(request.user):
        raise Http404("no such page")
    faults = [text for check in readiness.CHECKS.values() if (text := _fault(check))]
    waiting = _waiting()
    if waiting is None:
        faults.append("the broker does not answer")
    workers = list_workers() if waiting is not None else []
    queues = _queues(waiting or {}, workers)
    faults += [f"no worker serves the queue {q['name']}" for q in queues if not q["workers"]]
    ages = selectors.range_ages()
    faults += [
        f"range files of {provider_name(row.provider)} are {row.age_s / 86_400:.0f} days old"
        for row in ages
        if row.age_s > _OLD.total_seconds()
    ]
    now = timezone.now()
    newest = selectors.newest_results()
    context = {
        "section": "account",
        "version": VERSION,
        "faults": faults,
        "queues": queues,
        "workers": workers,
        "jobs": [(kind, sorted(states.items())) for kind, states in selectors.count_jobs().items()],
        "ages": ages,
        "results": [(kind, (now - at).total_seconds()) for kind, at in newest.items()],
        "vantages": sorted(selectors.count_vantage_points().items()),
        "disks": [
            {"name": name, "free": free, "total": total}
            for name, (free, total) in selectors.disk_space().items()
        ],
        "database": selectors.database_bytes(),
        "n_accounts": get_user_model().objects.filter(is_active=True).count(),
        "limits": [(name, getattr(settings, name)) for name in _LIMITS],
    }
    return render(request, "accounts/installation.html", context)


def _fault(check: Any) -> str:
    try:
        check()
    except (NephoscopeError, DatabaseError, OSError) as error:
        return str(error) or type(error).__name__
    return ""


def _waiting() -> dict[str, int] | None:
    """Waiting messages by queue; None where the broker does not answer."""
    try:
        with broker_client() as client:
            return queue_lengths(client, QUEUES)
    except (RedisError, OSError):
        return None


def _queues(waiting: dict[str, int], workers: list[Worker]) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "waiting": waiting.get(name),
            "workers": sum(name in worker.queues for worker in workers),
        }
        for name in QUEUES
    ]
