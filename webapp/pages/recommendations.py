"""Where a deployment should be: a question from files, and its answer with constraints to change.

The address is the state: which size is looked at, and which constraints are tried.
"""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from core.errors import BadInput, NephoscopeError
from tasks import advising
from webapp.pages.curves import curve_of
from webapp.store import recommendations

UNITS = {"latency": "ms", "throughput": ""}
# Figure 16 of IMC'13: mean latency in ms of the best k of EC2's regions, for k from 1 up.
PUBLISHED_MS = (184, 143, 123, 111, 102, 96, 90, 85)
_TABLES = ("weights", "regions", "clients", "isps", "prices", "populations")
_LISTS = ("include", "exclude", "provider", "continent", "country")


class QuestionForm(forms.Form):
    """Samples and tables as files, and what to ask of them."""

    samples = forms.FileField()
    weights = forms.FileField(required=False)
    regions = forms.FileField(required=False)
    clients = forms.FileField(required=False)
    isps = forms.FileField(required=False)
    prices = forms.FileField(required=False)
    populations = forms.FileField(required=False)
    objective = forms.ChoiceField(choices=[("latency", "Latency"), ("throughput", "Throughput")])
    k = forms.CharField(required=False, max_length=40)
    current = forms.CharField(required=False, max_length=2000)

    def read_files(self) -> dict[str, bytes]:
        """The files that were given, by what they are."""
        given = {name: self.cleaned_data[name] for name in ("samples", *_TABLES)}
        return {name: bytes(file.read()) for name, file in given.items() if file}

    def read_options(self) -> dict[str, Any]:
        """What was asked, as the API takes it."""
        asked = self.cleaned_data
        options = {"objective": asked["objective"], "k": asked["k"], "current": []}
        options["current"] = [n.strip() for n in asked["current"].split(",") if n.strip()]
        return {name: value for name, value in options.items() if value}


@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """The form of a question; a good one leads to its answer."""
    form = QuestionForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            row = advising.take(form.read_files(), form.read_options(), None)
        except NephoscopeError as error:
            field = error.field if isinstance(error, BadInput) else None
            form.add_error(field if field in form.fields else None, str(error))
        else:
            return redirect("recommendation", token=row.token)
    context = {"section": "recommendations", "form": form, "tables": _TABLES}
    status = 422 if form.errors else 200
    return render(request, "recommendations/ask.html", context, status=status)


@never_cache
@require_GET
def answer(request: HttpRequest, token: str) -> HttpResponse:
    """The answer, or how far it is; changed constraints are solved in place."""
    row = recommendations.find(token)
    if row is None:
        raise Http404("there is no such recommendation")
    context: dict[str, Any] = {"section": "recommendations", "row": row}
    if row.result is None:
        return render(request, "recommendations/waiting.html", context)
    tried, error = _tried(request), ""
    result = row.result
    try:
        result = advising.vary(row, tried) if tried else result
    except NephoscopeError as refused:
        error = str(refused)
    context |= _view(request, result) | {"tried": tried, "error": error, "lists": _LISTS}
    asked = {**row.options, **tried}
    context["fields"] = [(name, ", ".join(asked.get(name, ()))) for name in _LISTS]
    others = request.GET.copy()
    others.pop("k", None)
    context["query"] = others.urlencode()
    return render(request, "recommendations/answer.html", context)


def _tried(request: HttpRequest) -> dict[str, Any]:
    """Constraints of the address."""
    lists = {
        name: [
            n.strip() for text in request.GET.getlist(name) for n in text.split(",") if n.strip()
        ]
        for name in _LISTS
    }
    found: dict[str, Any] = {name: names for name, names in lists.items() if names}
    if request.GET.get("per_provider", "").isdecimal():
        found["per_provider"] = int(request.GET["per_provider"])
    if request.GET.get("survive_loss"):
        found["survive_loss"] = True
    return found


def _view(request: HttpRequest, result: dict[str, Any]) -> dict[str, Any]:
    rows = result["results"]
    solved = [row for row in rows if row["regions"]]
    sizes = [row["k"] for row in solved]
    asked = request.GET.get("k", "")
    usual = sizes[min(2, len(sizes) - 1)] if sizes else 0
    chosen = int(asked) if asked.isdecimal() and int(asked) in sizes else usual
    sets = {part["set"]: part for part in (result["consequences"] or {"sets": []})["sets"]}
    measure = str(result["objective"]["measure"])
    return {
        "result": result,
        "rows": _with_published(rows, measure),
        "chosen": next((row for row in solved if row["k"] == chosen), None),
        "outlook": sets.get(chosen),
        "before": sets.get("current"),
        "curve": curve_of(rows, chosen),
        "unit": UNITS[measure],
        "measure": measure,
    }


def _with_published(rows: list[dict[str, Any]], measure: str) -> list[dict[str, Any]]:
    """Each size beside Figure 16, both as shares of their own first size."""
    first = rows[0]["value"] if rows and rows[0]["k"] == 1 else None
    found = []
    for row in rows:
        k, value = row["k"], row["value"]
        share = value / first if first and value is not None else None
        known = measure == "latency" and k <= len(PUBLISHED_MS)
        was = PUBLISHED_MS[k - 1] / PUBLISHED_MS[0] if known and share is not None else None
        found.append({**row, "share": share, "published_share": was})
    return found
