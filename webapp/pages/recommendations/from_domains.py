"""From domains, or from clients alone, to a recommendation: forms, the plan, and the start."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.clients import uploads
from tasks.demo.answers import AUDIENCE
from tasks.recommendations import celery_tasks, client_latencies, from_domains
from tasks.surveys.submission import submit
from webapp.pages.recommendations.limits import (
    FIELDS,
    Choices,
    LimitsForm,
    check_joint_budget,
    describe_limits,
    region_choices,
)
from webapp.pages.surveys.domains import best_ranked
from webapp.pages.surveys.forms import SurveyForm
from webapp.store.access.visibility import owner_of
from webapp.store.recommendations import services
from webapp.store.surveys import drafts
from webapp.store.surveys.services import Requester

_SECTION = {"section": "recommendations"}
SHOWN_REJECTIONS = 50
SHOWN_CLIENTS = 20
# Letters of a domain that a link fills into the form.
MAX_GIVEN = 300


class AudienceForm(forms.Form):
    """The clients, as text or as a file of any known form, and the samples to use."""

    audience = forms.CharField(required=False, widget=forms.Textarea, max_length=100_000)
    audience_file = forms.FileField(required=False)
    by = forms.ChoiceField(
        required=False, choices=[(kind, kind) for kind in uploads.KINDS], initial="city"
    )
    source = forms.CharField(required=False, max_length=120)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("audience", "").strip() and cleaned.get("audience_file"):
            message = "Give the clients once: clear the text above or the file here."
            self.add_error("audience_file", message)
        return cleaned

    def read_audience(self, user: Any) -> uploads.ClientWeights:
        """Weights by client, whichever way they came; raises BadInput naming the line."""
        sent = self.cleaned_data.get("audience_file")
        if not sent:
            typed = from_domains.parse_audience(self.cleaned_data["audience"])
            return uploads.ClientWeights("list", typed)
        by = self.cleaned_data["by"] or uploads.DEFAULT_KIND
        limit = uploads.max_log_bytes(is_anonymous=owner_of(user) is None)
        try:
            return uploads.read_upload(bytes(sent.read()), sent.name, by, limit)
        except BadInput as error:
            field = error.field if error.field in self.fields else None
            raise BadInput(str(error), field=field or "audience_file") from error


class DomainsForm(AudienceForm, SurveyForm, LimitsForm):
    """A domain list, the clients, the samples to use, and the constraints."""

    joint_budget = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)


class ClientsForm(AudienceForm, LimitsForm):
    """The clients, the current deployment if there is one, and the source of samples."""

    current = forms.CharField(required=False, max_length=2000)
    name = forms.CharField(required=False, max_length=200)

    @property
    def regions(self) -> list[Choices]:
        """Regions that can be in use, by provider."""
        return region_choices(from_domains.region_names())


@require_http_methods(["GET", "POST"])
def domains(request: HttpRequest) -> HttpResponse:
    """The form of a journey; sent, it shows what it costs before anything is queried.

    The plan needs no account, its survey does: who signs in comes back to the plan by its drafts.
    """
    if request.method == "GET" and request.GET.get("draft"):
        return _resume_plan(request)
    form = DomainsForm(request.POST or None, request.FILES or None, initial=_sample(request))
    if request.method == "GET" or not form.is_valid():
        return _show(request, "domains", form)
    try:
        clients = form.read_audience(request.user)
        meant = from_domains.intend(form.read_list(), clients.weights)
        key = _source(form, request.user)
        limits = _read_limits(form, request, key, meant)
    except NephoscopeError as error:
        form.add_error(
            _field(form, error, "file" if form.cleaned_data.get("file") else "domains"), str(error)
        )
        return _show(request, "domains", form)
    return _show_plan(request, form, meant, key, clients, limits)


def _sample(request: HttpRequest) -> dict[str, str]:
    """What the fields hold: sample data, or the domain of a card, where one is requested."""
    if request.method == "GET" and (domain := request.GET.get("domains", "")[:MAX_GIVEN]):
        return {"domains": domain}
    if request.method != "GET" or not request.GET.get("sample"):
        return {}
    return {"domains": "\n".join(best_ranked(request.user)), "audience": AUDIENCE}


def _resume_plan(request: HttpRequest) -> HttpResponse:
    """Show a plan again that was made before signing in."""
    given = request.GET
    form = _form_of_draft(given)
    try:
        data, audience = (drafts.load_draft(given.get(key, "")) for key in ("draft", "clients"))
        weights = from_domains.parse_audience(audience.decode("utf-8", "replace"))
        meant = from_domains.intend(data, weights)
        key = _source(form, request.user)
        limits = _read_limits(form, request, key, meant)
    except NephoscopeError as error:
        form.add_error(None, str(error))
        return _show(request, "domains", form)
    clients = uploads.ClientWeights("list", weights)
    return _show_plan(request, form, meant, key, clients, limits)


def _read_limits(
    form: DomainsForm, request: HttpRequest, source: str, meant: from_domains.Intention
) -> dict[str, Any]:
    found = form.read_limits(source, request.user)
    check_joint_budget(found, meant.plan.accepted)
    return found


def _sender(request: HttpRequest) -> str:
    return str(request.user.pk or request.META.get("REMOTE_ADDR", ""))


def _ask_to_sign_in(request: HttpRequest) -> HttpResponse:
    """To the form of sign-in, which leads back to this plan and states why."""
    given = request.POST
    clients = drafts.save_draft(given.get("audience", "").encode() or b"\n", _sender(request))
    plan = {name: given.get(name, "")[:200] for name in ("draft", "name", "source")}
    limits = {name: given.getlist(name)[:20] for name in FIELDS if given.get(name)}
    query = urlencode({**plan, **limits, "clients": clients}, doseq=True)
    back = f"{reverse('recommend-domains')}?{query}"
    query = urlencode({"next": back, "why": "run"})
    return redirect(f"{reverse('sign-in')}?{query}")


def _show_plan(
    request: HttpRequest,
    form: DomainsForm,
    meant: from_domains.Intention,
    key: str,
    clients: uploads.ClientWeights,
    limits: Mapping[str, Any],
) -> HttpResponse:
    offered = {offer.key: offer for offer in client_latencies.offers(request.user)}
    weights = sorted(meant.audience.items(), key=lambda item: -item[1])
    total = sum(meant.audience.values()) or 1.0
    context = {
        **_SECTION,
        "plan": meant.plan,
        "words": meant.n_words,
        "rejected": meant.plan.rejected[:SHOWN_REJECTIONS],
        "draft": drafts.save_draft(meant.domains, _sender(request)),
        "name": form.cleaned_data["name"],
        "source": key,
        "offer": offered.get(key),
        "first": next(iter(offered.values()), None),
        "audience": from_domains.format_audience(meant.audience),
        "weights": [(code, weight / total) for code, weight in weights[:SHOWN_CLIENTS]],
        "more_clients": max(0, len(weights) - SHOWN_CLIENTS),
        "clients": clients,
        "limits": describe_limits(limits),
        "limit_fields": [
            (field, value)
            for field, given in limits.items()
            for value in (given if field == "continent" else [_one_text(given)])
        ],
        "once": uuid4().hex,
    }
    return render(request, "recommendations/plan.html", context)


def _one_text(given: Any) -> str:
    return ", ".join(given) if isinstance(given, list) else str(given)


@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """Run the survey of a plan that was shown; the recommendation waits for it."""
    if not request.user.is_authenticated:
        return _ask_to_sign_in(request)
    given = request.POST
    form = _form_of_draft(given)
    try:
        data = drafts.load_draft(given.get("draft", ""))
        weights = from_domains.parse_audience(given.get("audience", ""))
        meant = from_domains.intend(data, weights)
        maker = Requester(request.user)
        name, key = given.get("name", "")[:200].strip(), given.get("once", "")[:64]
        source = given.get("source", "")
        limits = _read_limits(form, request, source, meant)
        asked = from_domains.Asked(source, name, limits)
        row = from_domains.create(meant.domains, meant.audience, asked, maker, key)
    except NephoscopeError as error:
        form.add_error(None, str(error))
        return _show(request, "domains", form)
    if row.survey is not None:
        submit(row.survey)
    return redirect("recommendation", token=row.token)


def _form_of_draft(given: QueryDict) -> DomainsForm:
    """Return the form of a plan, with a separately stored domain list; raise no error for it."""
    kept = QueryDict(mutable=True)
    for name in ("name", "audience", "source", *FIELDS):
        kept.setlist(name, given.getlist(name))
    form = DomainsForm(kept)
    form.full_clean()
    form.errors.clear()
    return form


@require_http_methods(["GET", "POST"])
def clients(request: HttpRequest) -> HttpResponse:
    """Recommend regions for clients without a deployment, from weights by country."""
    form = ClientsForm(request.POST or None, request.FILES or None, initial=_sample(request))
    if request.method == "GET" or not form.is_valid():
        return _show(request, "clients", form)
    asked = form.cleaned_data
    try:
        row = _ask(request, form)
    except NephoscopeError as error:
        usual = "audience_file" if asked.get("audience_file") else "audience"
        form.add_error(_field(form, error, usual), str(error))
        return _show(request, "clients", form)
    return redirect("recommendation", token=row.token)


def _ask(request: HttpRequest, form: ClientsForm) -> Any:
    asked = form.cleaned_data
    given = form.read_audience(request.user)
    current = [name.strip() for name in asked["current"].split(",") if name.strip()]
    wanted = _source(form, request.user)
    files, options, source = from_domains.without_domains(
        given.weights, wanted, current, request.user
    )
    source = {**source, "clients": given.about()}
    options |= form.read_limits(wanted, request.user)
    title = asked["name"] or _title(given.weights)
    origin = services.Origin(owner_of(request.user), title, None, source)
    return celery_tasks.create(files, options, None, origin=origin)


def _title(audience: Mapping[str, float]) -> str:
    """Distinguishes this run from others of the same person: the heaviest countries."""
    heavy = sorted(audience, key=lambda code: -audience[code])
    more = f" and {len(heavy) - 3} more" if len(heavy) > 3 else ""
    return f"Clients in {', '.join(heavy[:3])}{more}" if heavy else "Clients everywhere"


def _source(form: forms.Form, user: Any) -> str:
    """Return the selected source of samples; raise BadInput if it does not exist."""
    key = str(form.cleaned_data.get("source") or client_latencies.AUTO)
    known = {
        client_latencies.AUTO,
        client_latencies.MODEL,
        *(offer.key for offer in client_latencies.offers(user)),
    }
    if key not in known:
        raise BadInput("choose one of the sources", field="source")
    return key


def _field(form: forms.Form, error: NephoscopeError, usual: str) -> str | None:
    """The field to show an error at."""
    if not isinstance(error, BadInput):
        return None
    return error.field if error.field in form.fields else usual


def _show(request: HttpRequest, name: str, form: forms.Form) -> HttpResponse:
    context = {
        **_SECTION,
        "form": form,
        "has_limits": any(form[name].value() for name in FIELDS if name in form.fields),
        "offers": client_latencies.offers(request.user),
        "codes": from_domains.country_codes(),
    }
    status = 422 if form.errors else 200
    return render(request, f"recommendations/{name}.html", context, status=status)
