"""A new audit: the form, its cost, and its start."""

from typing import Any
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import BadInput, NephoscopeError
from tasks.audits.plan import plan_audit
from tasks.audits.submission import NewAudit, start_audit
from webapp.pages.audits.forms import AuditForm
from webapp.pages.surveys.views import SHOWN_REJECTIONS
from webapp.pages.ui.access import signed_in_unless_open
from webapp.store.access.visibility import owner_of
from webapp.store.audits import selectors
from webapp.store.models import Audit
from webapp.store.requests.body_progress import get_body_progress
from webapp.store.surveys import drafts
from webapp.store.surveys.services import Requester

# Fields of the form that the plan page passes on as they are.
_PASSED = ("domain_list", "survey", "policy", "campaign", "fail_on", "name")


@signed_in_unless_open
@require_http_methods(["GET", "POST"])
def new_audit(request: HttpRequest) -> HttpResponse:
    """The form; sent, it shows the cost before anything is queried."""
    if request.method == "GET":
        return _show_form(request, _first_form(request))
    form = AuditForm(request.POST, request.FILES, user=request.user)
    if not form.is_valid():
        return _show_form(request, form, 422)
    sent, data = form.cleaned_data.get("policy_file"), form.read_list()
    document = bytes(sent.read()) if sent else b""
    asked = NewAudit(
        domains=data,
        policy_document=document,
        **{name: form.cleaned_data[name] for name in _PASSED},
    )
    try:
        plan = plan_audit(asked, _requester(request))
    except NephoscopeError as error:
        form.add_error(_field_of(error, form), str(error))
        return _show_form(request, form, 422)
    sender = str(request.META.get("REMOTE_ADDR", ""))
    context = {
        "section": "audits",
        "plan": plan,
        "rejected": plan.survey.rejected[:SHOWN_REJECTIONS] if plan.survey else [],
        "passed": [(name, form.cleaned_data[name]) for name in _PASSED],
        "draft": drafts.save_draft(data, sender) if data else "",
        "policy_draft": drafts.save_draft(document, sender) if document else "",
        "once": uuid4().hex,
    }
    return render(request, "audits/plan.html", context)


def _first_form(request: HttpRequest) -> AuditForm:
    """An empty form, or one filled as the audit that is to be repeated."""
    slug = request.GET.get("again", "")
    row = selectors.find(slug, request.user) if slug else None
    named = {name: request.GET[name] for name in _PASSED if request.GET.get(name)}
    if row is None and not named:
        return AuditForm(user=request.user)
    values = QueryDict(mutable=True)
    values.update(_repeated(row, request.user) if row else named)
    form = AuditForm(values, user=request.user)
    form.full_clean()
    form.errors.clear()
    return form


def _repeated(row: Audit, user: Any) -> dict[str, str]:
    is_own = row.maker_id is not None and row.maker_id == user.pk
    saved_list = row.saved_list.slug if is_own and row.saved_list else ""
    saved_policy = row.saved_policy.slug if is_own and row.saved_policy else row.policy_name
    return {
        "name": row.name,
        "domain_list": saved_list,
        "survey": row.survey.slug if row.survey and not saved_list else "",
        "policy": saved_policy,
        "campaign": row.campaign.slug if row.campaign else "",
        "fail_on": row.fail_on,
    }


def _field_of(error: NephoscopeError, form: AuditForm) -> str | None:
    """The field of the form that an error is about; ``None`` for the form as a whole."""
    field = getattr(error, "field", None)
    if form.cleaned_data.get("policy_file") and (field or getattr(error, "line", None)):
        return "policy_file"
    if isinstance(error, BadInput) and field is None and form.cleaned_data.get("domains"):
        return "domains"
    return field if field in form.fields else None


def _show_form(request: HttpRequest, form: AuditForm, status: int = 200) -> HttpResponse:
    context = {"section": "audits", "form": form}
    return render(request, "audits/new.html", context, status=status)


def _requester(request: HttpRequest) -> Requester:
    return Requester(
        user=owner_of(request.user),
        is_public=request.POST.get("publish") == "on",
        gone=get_body_progress(request).gone,
    )


@signed_in_unless_open
@require_POST
def run_audit(request: HttpRequest) -> HttpResponse:
    """Start the audit of a plan that was shown."""
    given = request.POST
    passed: dict[str, Any] = {name: given.get(name, "")[:200] for name in _PASSED}
    try:
        asked = NewAudit(
            domains=drafts.load_draft(given["draft"]) if given.get("draft") else b"",
            policy_document=(
                drafts.load_draft(given["policy_draft"]) if given.get("policy_draft") else b""
            ),
            **passed,
        )
        row = start_audit(asked, _requester(request), given.get("once") or None)
    except NephoscopeError as error:
        form = AuditForm(given, user=request.user)
        form.full_clean()
        form.errors.clear()
        form.add_error(None, str(error))
        return _show_form(request, form, 422)
    return HttpResponseRedirect(reverse("audit", args=[row.slug]))
