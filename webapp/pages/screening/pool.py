"""A pool: live verdicts, one instance in detail, and the best to keep."""

import re
import shlex
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.errors import BadInput
from tasks.screening.time_of_day import find_instance_window
from tasks.surveys.export import table_csv
from webapp.pages.screening import formatting as words
from webapp.pages.screening import headlines as findings
from webapp.pages.screening.analysis_plots import draw_time_of_day
from webapp.pages.screening.instance import describe_instance
from webapp.pages.screening.pool_access import PoolAccess, pool_page
from webapp.pages.screening.pools import pop_token
from webapp.pages.screening.rows import rows_html
from webapp.store.screening import details, selectors, views
from webapp.store.screening.selectors import InstanceRow
from webapp.store.screening.views import ChoiceView, Chosen

PAGE_ROWS = 500
# Series of other tools beside the verdicts; their own page has all.
MOST_SERIES = 12
# What a provider's name of a machine may hold without quoting or reading as an option.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
EXPORTED = (
    "name",
    "machine",
    "verdict",
    "sure",
    "stalls",
    "seconds",
    "per_100s",
    "rate_low",
    "rate_high",
    "p999_ms",
    "cause",
    "truth",
    "truth_sure",
    "truth_p999_ms",
    "label",
    "n_reports",
    "first_seen_at",
    "last_seen_at",
)


@pool_page
@require_GET
def overview(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """Verdicts as agents report; a page that has not changed is not sent again."""
    token = pop_token(request, access.pool) if access.is_mine else ""
    tag = f'"{selectors.find_last_change(access.pool)}-{_number(request, "page", 1)}"'
    if not token and request.headers.get("If-None-Match", "").removeprefix("W/") == tag:
        return HttpResponse(status=304, headers={"ETag": tag})
    rows = sorted(selectors.list_instances(access.pool), key=_rank)
    context = access.context("verdicts") | {
        "headline": findings.pool_headline(rows),
        "tally": _count(rows),
        "n": len(rows),
        "is_placed": any(row.host.get("region") for row in rows),
        "sent": sum(row.n_reports for row in rows),
        "token": token,
        "tag": tag,
        "site": request.build_absolute_uri("/").rstrip("/"),
        "nights": access.pool.findings.get("nights") or {},
        **_list_series(access),
        **_filter_rows(request, rows),
    }
    worst = details.find_worst_cpus(access.pool, [row.id for row in context["rows"]])
    context["row_html"] = rows_html(access, context["rows"], worst, context["twins"])
    response = render(request, "screening/pool.html", context)
    if not token:
        response["ETag"] = tag
    return response


def _list_series(access: PoolAccess) -> dict[str, Any]:
    """Series of other tools' logs that are kept beside the verdicts."""
    found = [(log, one) for log in selectors.list_logs(access.pool) for one in log.series]
    return {"series": found[:MOST_SERIES], "n_series": len(found)}


def _rank(row: InstanceRow) -> tuple[bool, float, str]:
    return not findings.is_bad(row), -(row.per_100s or 0.0), row.name


def _count(rows: list[InstanceRow]) -> list[tuple[str, int, str, str]]:
    """(verdict, how many, start and width in percent) for the bar over the table."""
    found, at = [], 0.0
    judged = [settled for settled in map(findings.final_verdict, rows) if settled]
    for verdict in selectors.VERDICTS:
        number = judged.count(verdict)
        width = 100 * number / len(judged) if judged else 0.0
        found.append((verdict, number, f"{at:.3f}%", f"{width:.3f}%"))
        at += width
    return found


def _number(request: HttpRequest, name: str, usual: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 9 else usual


def _filter_rows(request: HttpRequest, rows: list[InstanceRow]) -> dict[str, Any]:
    pages = max(1, -(-len(rows) // PAGE_ROWS))
    page = min(max(1, _number(request, "page", 1)), pages)
    names = [row.name for row in rows]
    return {
        "rows": rows[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
        "page": {"page": page, "pages": pages},
        "twins": {name for name in names if names.count(name) > 1} if len(rows) < 2000 else set(),
    }


@pool_page
@require_GET
def instance(request: HttpRequest, access: PoolAccess, pk: int) -> HttpResponse:
    """One machine: its distribution, its stalls and who is to blame for them."""
    row = selectors.find_instance(access.pool, pk)
    if row is None:
        raise Http404("there is no such instance")
    try:
        view = views.instance_view(access.pool, row, request.GET.get("report", "")[:32])
    except (OSError, ValueError, BadInput):
        view = None
    if view is None:
        raise Http404("there is no such report")
    context = access.context("verdicts") | describe_instance(view, _number(request, "cpu", -1))
    context |= {"headline": findings.pool_headline([row]), **_find_nights(access, pk)}
    return render(request, "screening/instance.html", context)


def _find_nights(access: PoolAccess, pk: int) -> dict[str, Any]:
    """Whether this machine's stalls return at a time of the day, with the days behind it."""
    nights = find_instance_window(access.pool.id, pk)
    if not nights:
        return {}
    return {
        "nights": nights,
        "day": draw_time_of_day(details.count_by_minute(access.pool, pk), nights),
    }


@pool_page
@require_GET
def report_file(request: HttpRequest, access: PoolAccess, report_id: str) -> HttpResponse:
    """A report as its agent sent it."""
    body = details.read_body(access.pool, report_id)
    if body is None:
        raise Http404("there is no such report")
    answer = HttpResponse(body, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="report-{report_id}.json"'
    return answer


@pool_page
@require_GET
def choose(request: HttpRequest, access: PoolAccess) -> HttpResponse:
    """The best N, how to end those that neighbours slow down, and what the next pool takes."""
    wanted, error = _number(request, "n", access.pool.wanted), ""
    try:
        view = views.choose(access.pool, wanted)
    except BadInput as refused:
        error, wanted = str(refused), access.pool.wanted
        view = views.choose(access.pool, wanted)
    ending, by_hand = _split_names(view)
    context = access.context("choose") | {
        "view": view,
        "wanted": wanted,
        "error": error,
        "groups": _list_groups(view),
        "commands": _list_commands(ending),
        "by_hand": by_hand,
    }
    return render(request, "screening/choose.html", context, status=422 if error else 200)


def _split_names(view: ChoiceView) -> tuple[list[str], list[str]]:
    """Names that a command can end, and names to end by hand.

    By hand go names that a shell could misread, and those that a machine to be kept has too.
    """
    kept = (view.chosen, view.spare, view.measure_again, view.own_load)
    taken = {one.instance.name for group in kept for one in group}
    names = [one.instance.name for one in view.terminate]
    fit = {name for name in names if _PLAIN_NAME.fullmatch(name) and name not in taken}
    return sorted(fit), [name for name in names if name not in fit]


def _list_groups(view: ChoiceView) -> list[tuple[str, str, str, tuple[Chosen, ...]]]:
    """(id, heading, what to do, machines) of every group of machines that are not chosen."""
    return [
        ("terminate", "to terminate", words.ADVICE["terminate"], view.terminate),
        ("again", "to measure again", words.ADVICE["again"], view.measure_again),
        ("own-load", "slowed by their own load", words.ADVICE["own-load"], view.own_load),
        ("spare", "more would do as well", words.ADVICE["spare"], view.spare),
    ]


def _list_commands(names: list[str]) -> list[tuple[str, str]]:
    if not names:
        return []
    quoted, listed = " ".join(map(shlex.quote, names)), ",".join(names)
    amazon = (
        "aws ec2 terminate-instances --instance-ids $(aws ec2 describe-instances "
        f"--filters Name=private-dns-name,Values={listed} "
        "--query 'Reservations[].Instances[].InstanceId' --output text)"
    )
    microsoft = f"for vm in {quoted}; do az vm delete --yes --resource-group GROUP --name $vm; done"
    return [
        ("Amazon, by private DNS name", amazon),
        ("Google", f"gcloud compute instances delete --zone ZONE {quoted}"),
        ("Microsoft", microsoft),
        ("Anywhere, by SSH", f"for vm in {quoted}; do ssh $vm sudo shutdown -h now; done"),
    ]


@pool_page
@require_GET
def pool_file(request: HttpRequest, access: PoolAccess, kind: str) -> HttpResponse:
    """All verdicts of the pool as CSV or JSON."""
    rows = selectors.list_instances(access.pool)
    plain = [{name: getattr(row, name) for name in EXPORTED} for row in rows]
    if kind == "json":
        return JsonResponse({"pool": access.pool.name, "instances": plain})
    if kind != "csv":
        raise Http404("verdicts are given as csv or json")
    text = table_csv(EXPORTED, [list(row.values()) for row in plain])
    answer = HttpResponse(text, content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="pool-{access.pool.key}.csv"'
    return answer
