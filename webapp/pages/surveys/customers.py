"""The countries of a survey's customers: what is known of them, and the upload of a table."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from tasks.surveys import derived_tasks
from webapp.pages.surveys.forms import act_as_manager, is_manager, sent_file
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui.report_families import FAMILIES, FAMILY_BY_SLUG
from webapp.store.models import Survey
from webapp.store.surveys import selectors, uploads


@never_cache
@require_http_methods(["GET", "POST"])
def customers(request: HttpRequest, slug: str) -> HttpResponse:
    """The finding and its source; managers of the survey upload and remove countries."""
    shown = survey_or_404(request, slug)
    survey = Survey.objects.get(slug=slug)
    is_own = is_manager(request, survey)
    error = act_as_manager(request, survey, _act) if request.method == "POST" else ""
    if request.method == "POST" and not error:
        return redirect("survey-customers", slug=slug)
    context = {
        "section": "reports",
        "family": FAMILY_BY_SLUG["customers"],
        "survey": shown,
        "families": FAMILIES,
        "is_own": is_own,
        "row": uploads.customer_file(survey),
        "report": selectors.report(slug, "customers"),
        "error": error,
        "max_rows": derived_tasks.MAX_CUSTOMER_ROWS,
    }
    return render(request, "surveys/customers.html", context, status=422 if error else 200)


def _act(request: HttpRequest, survey: Survey) -> None:
    """One of the buttons of the page; raises ``BadInput`` and other errors to show."""
    if request.POST.get("action") == "remove":
        derived_tasks.remove_customers(survey)
        return
    derived_tasks.add_customers(survey, *sent_file(request))
