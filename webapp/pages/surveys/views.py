"""Surveys: the list, a new one with its plan, a running one and its overview."""

from typing import Any
from uuid import uuid4

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.resolution.engine_factory import Resolving, count_words
from tasks.resolution.options import resolving_from
from tasks.surveys.packages import packing
from tasks.surveys.submission import submit
from webapp.pages.surveys.domains import best_ranked
from webapp.pages.surveys.forms import SurveyForm
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui.access import signed_in_unless_open
from webapp.pages.ui.page_cache import cached_page
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.access import sharing
from webapp.store.access.visibility import owner_of
from webapp.store.models import Survey
from webapp.store.requests.body_progress import get_body_progress
from webapp.store.requests.list_slot import RETRY_AFTER_S, ClientGone, ListsBusy
from webapp.store.surveys import drafts, selectors, services
from webapp.store.surveys.uploads import only_domain

SHOWN_REJECTIONS = 50


@require_GET
def surveys(request: HttpRequest) -> HttpResponse:
    """Every survey, newest first, or with ``?show=checks`` those of one domain."""
    are_checks = request.GET.get("show") == "checks"
    n_surveys, n_checks = selectors.count_surveys(request.user)
    context = {
        "section": "surveys",
        "rows": selectors.surveys(reader=request.user, are_checks=are_checks),
        "are_checks": are_checks,
        "n_surveys": n_surveys,
        "n_checks": n_checks,
    }
    return render(request, "surveys/list.html", context)


@never_cache
@require_GET
@cached_page
def survey(request: HttpRequest, slug: str) -> HttpResponse:
    """The survey's overview; live counters while it waits or runs."""
    survey = survey_or_404(request, slug)
    stored = selectors.reports(slug)
    context: dict[str, Any] = {"section": "reports", "survey": survey, "families": FAMILIES}
    context["checked"] = only_domain(survey.slug, survey.n_domains)
    if not survey.is_final:
        # A reader of a share link may never start a survey.
        context["may_change"] = survey.maker_id in (None, request.user.pk)
        return render(request, "surveys/progress.html", context | progress_of(survey))
    leads = [(f, stored[f.tables[0]]) for f in FAMILIES if f.tables[0] in stored]
    context |= {
        "leads": leads,
        "findings": selectors.front_findings(slug),
        "rejected": survey.rejected[:SHOWN_REJECTIONS],
        "failed": failures(survey),
        **progress_of(survey),
    }
    context["package"] = package_of(survey)
    # The closing summary counts every reason; the live counters may lag behind it.
    context["failed_sum"] = sum(context["failed"].values())
    return render(request, "surveys/overview.html", context)


@never_cache
@require_GET
def progress(request: HttpRequest, slug: str) -> HttpResponse:
    """The live counters alone, for pages without an event stream."""
    survey = survey_or_404(request, slug)
    context = {"survey": survey, **progress_of(survey)}
    response = render(request, "parts/progress.html", context)
    response["X-Survey-State"] = survey.state
    return response


def progress_of(survey: selectors.SurveyRow) -> dict[str, Any]:
    """Counters with what follows from them."""
    counters = survey.counters
    done, whole = counters.get("domains_done", 0), counters.get("domains", 0)
    return {
        "counters": counters,
        "done_share": done / whole if whole else 0.0,
        "failed_sum": sum(counters.get("failed", {}).values()),
    }


def package_of(survey: selectors.SurveyRow) -> packing.Contents | None:
    """What the package of a survey holds; None without a report, or where files are gone."""
    if not packing.is_packageable(survey.state):
        return None
    try:
        return packing.describe(Survey.objects.get(pk=survey.id))
    except OSError:
        return None


def failures(survey: selectors.SurveyRow) -> dict[str, int]:
    """Failed questions by reason, from the closing summary or the live counters."""
    names = survey.summary.get("names", {})
    found = names.get("failed") or survey.counters.get("failed", {})
    return dict(sorted(found.items(), key=lambda item: -item[1]))


@signed_in_unless_open
@require_http_methods(["GET", "POST"])
def new_survey(request: HttpRequest) -> HttpResponse:
    """The form; sent, it shows the plan before anything is queried."""
    if request.method == "GET":
        names = best_ranked(request.user) if request.GET.get("sample") else []
        return _show_form(request, SurveyForm(initial={"domains": "\n".join(names)}))
    form = SurveyForm(request.POST, request.FILES)
    if not form.is_valid():
        return _show_form(request, form)
    data = form.read_list()
    try:
        words, gone = count_words(_resolving()), get_body_progress(request).gone
        plan, _ = services.plan_survey(data, words, gone)
    except (BadInput, ListsBusy, ClientGone) as error:
        form.add_error("file" if form.cleaned_data.get("file") else "domains", str(error))
        return _show_form(request, form, 422 if isinstance(error, BadInput) else 429)
    context = {
        "section": "surveys",
        "plan": plan,
        "rejected": plan.rejected[:SHOWN_REJECTIONS],
        "draft": drafts.save_draft(data, str(request.META.get("REMOTE_ADDR", ""))),
        "name": form.cleaned_data["name"],
        "once": uuid4().hex,
        "words": words,
    }
    return render(request, "surveys/plan.html", context)


def _show_form(request: HttpRequest, form: SurveyForm, error_status: int = 422) -> HttpResponse:
    status = error_status if form.errors else 200
    context = {"section": "surveys", "form": form}
    answer = render(request, "surveys/new.html", context, status=status)
    if status == 429:
        answer["Retry-After"] = str(RETRY_AFTER_S)
    return answer


def _resolving() -> Resolving:
    return resolving_from({})


@signed_in_unless_open
@require_POST
def run_survey(request: HttpRequest) -> HttpResponse:
    """Start the survey of a plan that was shown."""
    try:
        survey = _create(request)
    except NephoscopeError as error:
        form = SurveyForm({"name": request.POST.get("name", "")})
        form.full_clean()
        form.errors.clear()
        form.add_error(None, str(error))
        return _show_form(request, form)
    submit(survey)
    return HttpResponseRedirect(reverse("survey", args=[survey.slug]))


def _create(request: HttpRequest) -> Survey:
    options = _resolving()
    return services.create_survey(
        drafts.load_draft(request.POST.get("draft", "")),
        name=request.POST.get("name", ""),
        options=options.as_json(),
        n_words=count_words(options),
        idempotency_key=request.POST.get("once") or None,
        maker=services.Requester(
            user=owner_of(request.user),
            is_public=request.POST.get("publish") == "on",
            gone=get_body_progress(request).gone,
        ),
    )


@require_POST
def cancel(request: HttpRequest, slug: str) -> HttpResponse:
    """Stop a survey; what was stored stays."""
    survey = Survey.objects.get(pk=survey_or_404(request, slug).id)
    if not sharing.may_change(request.user, survey):
        raise PermissionDenied
    services.cancel(survey)
    return redirect("survey", slug=slug)
