"""Logs of other tools beside a pool's own results: shown together, added and forgotten."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from core.errors import BadInput
from tasks.screening import uploaded_log
from webapp.pages.screening.plots import KINDS, draw_percentiles, list_keys
from webapp.pages.screening.pool_access import PoolAccess, own_pool, pool_page
from webapp.store.screening import logs as screening_logs
from webapp.store.screening import selectors

MOST_CURVES = len(KINDS)
# Percentiles in milliseconds that a pool's own machines are summed up by.
OWN_SHARES = (0.0, 0.5, 0.9, 0.99, 1.0)


@pool_page
@require_GET
def logs(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Every log with its series, and one drawing of all that are in units of time."""
    return _show(request, access, [])


def _show(request: HttpRequest, access: PoolAccess, errors: list[str]) -> HttpResponse:
    rows = selectors.list_logs(access.pool)
    own = sorted(r.p999_ms for r in selectors.list_instances(access.pool) if r.p999_ms is not None)
    context = access.context("logs") | {
        "logs": rows,
        **_draw(rows),
        "own": [(share, own[min(int(share * len(own)), len(own) - 1)]) for share in OWN_SHARES]
        if own
        else [],
        "n_own": len(own),
        "errors": errors,
        "most_mb": uploaded_log.MOST_BYTES // 1_000_000,
    }
    return render(request, "screening/logs.html", context, status=422 if errors else 200)


def _draw(rows: list[selectors.LogRow]) -> dict[str, Any]:
    drawn = [
        (f"{row.name}: {one['name'] or one['kind']}", one["curve"])
        for row in rows
        for one in row.series
        if one.get("in_ms") and one.get("curve")
    ][:MOST_CURVES]
    if not drawn:
        return {"plot": None}
    return {"plot": draw_percentiles(drawn, "ms"), "keys": list_keys(drawn)}


@own_pool
@require_POST
def add_log(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Keep a log beside the pool."""
    sent = request.FILES.get("log")
    try:
        if sent is None or sent.size is None:
            raise BadInput("choose a file")
        if sent.size > uploaded_log.MOST_BYTES:
            raise BadInput(f"a log has at most {uploaded_log.MOST_BYTES // 1_000_000} MB")
        data = bytes(sent.read())
        screening_logs.add_log(access.pool, str(sent.name), data, uploaded_log.plain(data))
    except BadInput as error:
        return _show(request, access, [str(error)])
    return redirect(access.href("pool-logs"))


@own_pool
@require_POST
def delete_log(request: HttpRequest, access: PoolAccess, pk: int) -> HttpResponse:
    """Forget a log."""
    if not screening_logs.delete_log(access.pool, pk):
        raise Http404("the pool has no such log")
    return redirect(access.href("pool-logs"))
