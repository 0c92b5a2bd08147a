"""The countries of a survey's customers: what is known of them, and the upload of a table."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.errors import BadInput, NephoscopeError
from tasks.surveys import derived_tasks
from webapp.pages.surveys.reports import survey_or_404
from webapp.pages.ui.report_families import FAMILIES, FAMILY_BY_SLUG
from webapp.store.access.visibility import may_manage
from webapp.store.models import Survey
from webapp.store.surveys import selectors, uploads


@never_cache
@require_http_methods(["GET", "POST"])
def customers(request: HttpRequest, slug: str) -> HttpResponse:
    """The finding and its source; managers of the survey upload and remove countries."""
    shown = survey_or_404(request, slug)
    survey = Survey.objects.get(slug=slug)
    is_own = may_manage(survey, request.user) or bool(getattr(request.user, "is_staff", False))
    error = ""
    if request.method == "POST":
        if not is_own:
            raise PermissionDenied
        try:
            _act(request, survey)
            return redirect("survey-customers", slug=slug)
        except NephoscopeError as caught:
            error = str(caught)
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
    if not survey.is_final:
        raise BadInput("this survey has not ended yet: its domains are not known")
    if request.POST.get("action") == "remove":
        derived_tasks.remove_customers(survey)
        return
    sent = request.FILES.get("file")
    if sent is None:
        raise BadInput("choose a file", field="file")
    derived_tasks.add_customers(survey, str(sent.name), sent.read())
