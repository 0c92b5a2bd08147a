"""Where a deployment should be: the list, a question from files, and the answer with its controls.

The address is the state: which size is looked at, which constraints are tried, and what fails.
"""

from typing import Any

from django import forms
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.demo.answers import find_samples
from tasks.recommendations import celery_tasks
from tasks.recommendations.celery_tasks import Parts
from webapp.pages.recommendations import constraints
from webapp.pages.recommendations.answer import AnswerView, answer_context, choose_size
from webapp.pages.recommendations.screened import find_screened
from webapp.pages.surveys.views import progress_of
from webapp.store.access import share_links
from webapp.store.access.visibility import may_manage, owner_of
from webapp.store.models import Recommendation
from webapp.store.recommendations import services
from webapp.store.surveys import selectors

_TABLES = ("weights", "regions", "clients", "isps", "prices", "populations", "domains", "carbon")
# A page holds a file in memory; the command reads larger ones.
MOST_FILE_BYTES = 256 * 2**20
_SECTION = {"section": "recommendations"}


class QuestionForm(forms.Form):
    """Samples and tables as files, and what to ask of them."""

    samples = forms.FileField()
    weights = forms.FileField(required=False)
    regions = forms.FileField(required=False)
    clients = forms.FileField(required=False)
    isps = forms.FileField(required=False)
    prices = forms.FileField(required=False)
    populations = forms.FileField(required=False)
    domains = forms.FileField(required=False)
    carbon = forms.FileField(required=False)
    objective = forms.ChoiceField(choices=[("latency", "Latency"), ("throughput", "Throughput")])
    k = forms.CharField(required=False, max_length=40)
    current = forms.CharField(required=False, max_length=2000)
    name = forms.CharField(required=False, max_length=200)
    front = forms.BooleanField(required=False)
    traffic_gb = forms.FloatField(required=False, min_value=0, max_value=1e12)
    budget = forms.FloatField(required=False, min_value=0, max_value=1e12)
    price_list = forms.FileField(required=False)
    joint_budget = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in ("samples", *_TABLES, "price_list"):
            if cleaned.get(name) and cleaned[name].size > MOST_FILE_BYTES:
                most = MOST_FILE_BYTES // 2**20
                self.add_error(name, f"more than {most} MiB; ask with regions recommend instead")
        return cleaned

    def read_files(self) -> dict[str, bytes]:
        """The files that were given, by what they are."""
        given = {name: self.cleaned_data[name] for name in ("samples", *_TABLES, "price_list")}
        return {name: bytes(file.read()) for name, file in given.items() if file}

    def read_options(self) -> dict[str, Any]:
        """The options of the form, by their names in the API."""
        asked = self.cleaned_data
        options = {"objective": asked["objective"], "k": asked["k"], "current": []}
        options["current"] = [n.strip() for n in asked["current"].split(",") if n.strip()]
        options |= {name: asked[name] for name in ("front", "traffic_gb", "budget", "joint_budget")}
        return {name: value for name, value in options.items() if value}


@require_GET
def hub(request: HttpRequest) -> HttpResponse:
    """The three ways in, and what the reader has asked before."""
    rows = services.owned_by(request.user)
    samples = [_sample(row) for row in find_samples()]
    context = {**_SECTION, "rows": rows, "samples": samples}
    return render(request, "recommendations/hub.html", context)


def _sample(row: Recommendation) -> dict[str, Any]:
    """A sample answer with its finding."""
    result = row.result or {}
    look = AnswerView(choose_size(result, ""), "", row.options)
    found = answer_context(result, look, row.source, row.files)
    return {"row": row, "headline": found["headline"]}


@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """The form of a question by samples; a good one leads to its answer."""
    form = QuestionForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        origin = services.Origin(owner_of(request.user), form.cleaned_data["name"])
        try:
            row = celery_tasks.create(form.read_files(), form.read_options(), None, origin=origin)
        except NephoscopeError as error:
            field = error.field if isinstance(error, BadInput) else None
            form.add_error(field if field in form.fields else None, str(error))
        else:
            return redirect("recommendation", token=row.token)
    context = {**_SECTION, "form": form, "tables": _TABLES}
    status = 422 if form.errors else 200
    return render(request, "recommendations/ask.html", context, status=status)


@never_cache
@require_GET
def answer(request: HttpRequest, token: str) -> HttpResponse:
    """The answer, or how far it is; changed constraints are solved in place."""
    row = _known(request, token)
    if row.result is None:
        return _waiting(request, row)
    celery_tasks.preload_loops()
    part = request.GET.get("part", "")
    parts = Parts(part) if part in list(Parts) else Parts.ALL
    context = {
        **_SECTION,
        "row": row,
        **_owner_context(request, row),
        **_current_view(request, row, parts),
    }
    return render(request, f"recommendations/{_TEMPLATES[parts]}.html", context)


_TEMPLATES = {
    Parts.ALL: "answer",
    Parts.SET: "answer_set",
    Parts.PATIENT: "answer_set",
    Parts.CURVE: "answer_curve",
}


def _owner_context(request: HttpRequest, row: Recommendation) -> dict[str, Any]:
    """What the owner has beside the answer: earlier runs, and the link that shares it."""
    manages = row.owner_id is not None and may_manage(row, request.user)
    secret = share_links.secret_of(row) if manages else ""
    path = reverse("shared-recommendation", args=[secret]) if secret else ""
    return {
        "manages": manages,
        "others": services.earlier(row, request.user)[:8],
        "share_address": request.build_absolute_uri(path) if path else "",
    }


def _known(request: HttpRequest, token: str) -> Recommendation:
    row = services.find(token, request.user)
    if row is None:
        raise Http404("there is no such recommendation")
    return row


def _current_view(request: HttpRequest, row: Recommendation, parts: Parts) -> dict[str, Any]:
    """The stored answer, or the one to the constraints of the address, as it is looked at."""
    query, result, error = request.GET, row.result or {}, ""
    changed: dict[str, Any] = {}
    k = choose_size(result, query.get("k", ""))
    try:
        changed = constraints.read_constraints(query, row.options)
        if changed:
            size = {"k": str(k)} if parts in (Parts.SET, Parts.PATIENT) else {}
            result = celery_tasks.vary(row, changed | size, parts=parts)
    except NephoscopeError as refused:
        error, result = str(refused), row.result or {}
    look = AnswerView(k, query.get("fail", "")[:400], {**row.options, **changed})
    kept = query.copy()
    for name in ("k", "fail", "part"):
        kept.pop(name, None)
    result = {**result, "consequences": _with_stored(result, row.result or {})}
    context = answer_context(result, look, row.source, row.files)
    return context | {
        "screened": find_screened(request.user, context["members"]),
        "changed": changed,
        "error": error,
        "query": kept.urlencode(),
        "can_change": True,
    }


def _with_stored(result: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Consequences, with those of the deployment as it is, which no constraint changes."""
    known = stored["consequences"] or {"inputs": {}, "sets": []}
    found = result["consequences"] or {"inputs": known["inputs"], "sets": []}
    if any(part["set"] == "current" for part in found["sets"]):
        return found
    current = [part for part in known["sets"] if part["set"] == "current"]
    return {**found, "sets": [*current, *found["sets"]]}


def _waiting(request: HttpRequest, row: Recommendation) -> HttpResponse:
    """How far it is: the survey's counters while it runs, then the steps of the choice."""
    context: dict[str, Any] = {**_SECTION, "row": row, "hide_survey_bar": True}
    survey = row.survey and selectors.survey(row.survey.slug, request.user)
    if row.state == Recommendation.State.AWAITING and survey:
        if survey.is_final:
            celery_tasks.submit_awaiting(row)
        context |= {"survey": survey, **progress_of(survey)}
    return render(request, "recommendations/waiting.html", context)


@require_POST
def share(request: HttpRequest, token: str) -> HttpResponse:
    """Make the link that others read by, or take it back."""
    row = _own(request, token)
    if request.POST.get("take_back"):
        services.revoke_share(row)
    elif not row.is_shared:
        services.share(row)
    return redirect("recommendation", token=row.token)


@require_POST
def save_constraints(request: HttpRequest, token: str) -> HttpResponse:
    """Save the constraints of a URL as a new recommendation, which a worker proves."""
    row = _known(request, token)
    query = request.GET
    try:
        options = constraints.read_constraints(query, row.options)
        made = celery_tasks.store_variant(row, options, request.user)
    except NephoscopeError as error:
        return _refused(request, row, str(error))
    return redirect("recommendation", token=made.token)


def _refused(request: HttpRequest, row: Recommendation, error: str) -> HttpResponse:
    context = {
        **_SECTION,
        "row": row,
        **_owner_context(request, row),
        **_current_view(request, row, Parts.ALL),
    }
    return render(request, "recommendations/answer.html", context | {"error": error}, status=422)


@require_POST
def delete_recommendation(request: HttpRequest, token: str) -> HttpResponse:
    """Delete a recommendation of the user, with its files and share link."""
    services.delete(_own(request, token))
    return redirect("recommend")


def _own(request: HttpRequest, token: str) -> Recommendation:
    row = _known(request, token)
    if row.owner_id is None or not may_manage(row, request.user):
        raise Http404("there is no such recommendation")
    return row
