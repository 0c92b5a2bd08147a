"""The pay-off page: what screening would gain and cost, for the parameters of the URL.

The address is the state, so that sliders, the form without script, links and files ask the same.
"""

from dataclasses import asdict, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from core.errors import BadInput
from tasks.screening import payoff
from tasks.screening.call_times import measure_calls
from tasks.surveys.export import table_csv
from webapp.pages.screening import formatting as words
from webapp.pages.screening import payoff_plots as plots
from webapp.store.screening import selectors

# Field, how it is read, and what it is called in an error.
_WHOLE = ("fan_out", "calls", "wanted")
_PERCENT = ("bad_share", "false_positive", "false_negative")
_PLAIN = ("k", "price", "hours")
_WORKLOAD = ("median_ms", "p99_ms", "shortest_stall_ms", "longest_stall_ms")
# Short names in the address.
NAMES = {
    "bad_share": "bad",
    "fan_out": "fan",
    "calls": "calls",
    "k": "k",
    "wanted": "n",
    "price": "price",
    "hours": "hours",
    "false_positive": "fp",
    "false_negative": "fn",
    "median_ms": "median",
    "p99_ms": "p99",
    "stall_share": "stalls",
    "shortest_stall_ms": "shortest",
    "longest_stall_ms": "longest",
}
COLUMNS = (
    "fan_out",
    "percentile",
    "before_ms",
    "before_low_ms",
    "before_high_ms",
    "after_ms",
    "after_low_ms",
    "after_high_ms",
    "saved",
    "saved_low",
    "saved_high",
)


@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Show the page; values out of bounds are replaced by the nearest valid ones, with a notice."""
    question, errors = read_question(request)
    sources = [
        row
        for row in selectors.list_pools(request.user)
        if row.findings.get("heatmap", {}).get("n")
    ]
    source = _find_source(request)
    try:
        found = payoff.answer(question, measure_calls(source) if source else None)
    except BadInput as error:
        errors[error.field or "call times"] = str(error)
        question, source = payoff.Question(), None
        found = payoff.answer(question)
    context = {
        "section": "screening",
        "tab": "payoff",
        "errors": errors,
        "form": _list_values(question),
        "answer": found,
        "chosen": [gain for gain in found["gains"] if gain["fan_out"] == question.fan_out],
        "question": question,
        "shape": words.shape_word(question.fan_out, question.calls),
        "shapes": payoff.SHAPES,
        "share_plots": plots.draw_shares(found, question),
        "factor_plot": plots.draw_factors(found, question),
        "address": request.GET.urlencode(),
        "sources": sources,
        "source": source,
    }
    return render(request, "screening/payoff.html", context, status=422 if errors else 200)


@require_GET
def file(request: HttpRequest, kind: str) -> HttpResponse:
    """The table behind the page as CSV, or the whole answer as JSON."""
    question, errors = read_question(request)
    source = _find_source(request)
    try:
        found = payoff.answer(question, measure_calls(source) if source else None)
    except BadInput as error:
        errors[error.field or "call times"] = str(error)
    if errors:
        return JsonResponse({"detail": errors}, status=422)
    if kind == "json":
        return JsonResponse(found, json_dumps_params={"indent": 1})
    if kind != "csv":
        raise Http404("the pay-off is given as csv or json")
    rows = [[gain[name] for name in COLUMNS] for gain in found["gains"]]
    answer = HttpResponse(table_csv(COLUMNS, rows), content_type="text/csv")
    answer["Content-Disposition"] = 'attachment; filename="screening-payoff.csv"'
    return answer


def _find_source(request: HttpRequest) -> selectors.PoolRow | None:
    """The pool with the requested call times, if it is visible."""
    key = request.GET.get("pool", "")
    if not key:
        return None
    row = selectors.find_pool(request.user, key)
    if row is None:
        raise Http404("there is no such pool")
    return row


def read_question(request: HttpRequest) -> tuple[payoff.Question, dict[str, str]]:
    """The question of an address, and what could not be read of it."""
    found: dict[str, float] = {}
    errors: dict[str, str] = {}
    for field, name in NAMES.items():
        text = request.GET.get(name, "").strip().replace(",", ".")
        if not text:
            continue
        try:
            found[field] = _read_number(field, text)
        except ValueError:
            errors[field] = f"{text[:20]!r} is not a number"
    question = payoff.Question()
    workload = {f: found.pop(f) for f in (*_WORKLOAD, "stall_share") if f in found}
    plain: dict[str, Any] = dict(found)
    return replace(question, **plain, workload=replace(question.workload, **workload)), errors


def _read_number(field: str, text: str) -> float:
    number = float(text)
    if not abs(number) < 1e9:
        raise ValueError(text)
    if field in _WHOLE:
        return round(number)
    return number / 100 if field in (*_PERCENT, "stall_share") else number


def _list_values(question: payoff.Question) -> dict[str, str]:
    """The form's values by their names in the address."""
    flat = {**asdict(question), **asdict(question.workload)}
    shares = (*_PERCENT, "stall_share")
    return {
        name: f"{flat[field] * (100 if field in shares else 1):g}" for field, name in NAMES.items()
    }
