"""Saved domain lists, policies and suppressions of an account."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import NephoscopeError
from webapp.pages.audits.forms import ListForm, PolicyForm
from webapp.pages.surveys.views import SHOWN_REJECTIONS
from webapp.pages.ui.access import signed_in
from webapp.store.audits import documents, lists, policies
from webapp.store.models import SavedList, SavedPolicy
from webapp.store.requests.body_progress import get_body_progress

# A longer list is not shown in a field, but downloaded and sent again.
_MOST_SHOWN_BYTES = 200_000


@never_cache
@require_http_methods(["GET", "POST"])
def domain_lists(request: HttpRequest) -> HttpResponse:
    """Own lists, and the form of a new one; sent, it saves the list."""
    form = ListForm(request.POST, request.FILES) if request.method == "POST" else ListForm()
    status = 200
    if request.method == "POST":
        row = _save_list(request, form)
        if row is not None:
            return redirect("domain-list", key=row.slug)
        status = 422
    rows = documents.owned_by(SavedList, request.user)
    context = {"section": "audits", "rows": rows, "form": form}
    return render(request, "audits/lists.html", context, status=status)


def _save_list(
    request: HttpRequest, form: ListForm, row: SavedList | None = None
) -> SavedList | None:
    """Save a new list or change one; ``None`` where the form has errors."""
    _require_account(request)
    if not form.is_valid():
        return None
    name, data, gone = form.cleaned_data["name"], form.read_list(), get_body_progress(request).gone
    try:
        if row is None:
            return lists.create_list(request.user, name, data, gone)
        lists.change_list(row, name, data, gone)
    except NephoscopeError as error:
        form.add_error("file" if form.cleaned_data.get("file") else "domains", str(error))
        return None
    return row


def _require_account(request: HttpRequest) -> None:
    if not request.user.is_authenticated:
        raise Http404("lists and policies belong to an account")


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def domain_list(request: HttpRequest, key: str) -> HttpResponse:
    """One list with its domains in a form; sent, it changes the list."""
    row = documents.find(SavedList, key, request.user)
    if row is None:
        raise Http404("no such domain list")
    if request.method == "POST":
        form = ListForm(request.POST, request.FILES)
        if _save_list(request, form, row) is not None:
            return redirect("domain-list", key=row.slug)
    else:
        data = lists.read_list(row)
        text = data.decode("utf-8", "replace") if len(data) <= _MOST_SHOWN_BYTES else ""
        form = ListForm(initial={"name": row.name, "domains": text})
    context = {
        "section": "audits",
        "row": row,
        "form": form,
        "rejected": row.rejected[:SHOWN_REJECTIONS],
        "audits": row.audits.defer("groups", "policy_document")[:10],
    }
    return render(request, "audits/list_page.html", context, status=422 if form.errors else 200)


@signed_in
@require_POST
def delete_list(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a list; audits of it stay."""
    row = documents.find(SavedList, key, request.user)
    if row is None:
        raise Http404("no such domain list")
    lists.delete_list(row)
    return redirect("domain-lists")


@never_cache
@require_http_methods(["GET", "POST"])
def policy_list(request: HttpRequest) -> HttpResponse:
    """Presets, own policies, and the form of a new one; sent, it saves the policy."""
    form = PolicyForm(request.POST, request.FILES) if request.method == "POST" else PolicyForm()
    if request.method == "POST":
        row = _save_policy(request, form)
        if row is not None:
            return redirect("audit-policy", key=row.slug)
    context = {
        "section": "audits",
        "presets": policies.presets(),
        "rows": documents.owned_by(SavedPolicy, request.user),
        "form": form,
    }
    return render(request, "audits/policies.html", context, status=422 if form.errors else 200)


def _save_policy(
    request: HttpRequest, form: PolicyForm, row: SavedPolicy | None = None
) -> SavedPolicy | None:
    """Save a new policy or change one; ``None`` where the form has errors."""
    _require_account(request)
    if not form.is_valid():
        return None
    name, data = form.cleaned_data["name"], form.read_document()
    try:
        if row is None:
            return policies.create_policy(request.user, name, data)
        policies.change_policy(row, name or None, data)
    except NephoscopeError as error:
        form.add_error("file" if form.cleaned_data.get("file") else "document", str(error))
        return None
    return row


@never_cache
@require_http_methods(["GET", "POST"])
def policy(request: HttpRequest, key: str) -> HttpResponse:
    """A preset to read, or an own policy in a form; sent, it changes the policy."""
    preset = next((one for one in policies.presets() if one.name == key), None)
    row = None if preset else documents.find(SavedPolicy, key, request.user)
    if preset is None and row is None:
        raise Http404("no such policy")
    form = PolicyForm(initial={"name": row.name, "document": row.document} if row else None)
    if request.method == "POST":
        if row is None:
            raise Http404("a preset is not changed")
        form = PolicyForm(request.POST, request.FILES)
        if _save_policy(request, form, row) is not None:
            return redirect("audit-policy", key=row.slug)
    context: dict[str, Any] = {"section": "audits", "preset": preset, "row": row, "form": form}
    return render(request, "audits/policy.html", context, status=422 if form.errors else 200)


@signed_in
@require_POST
def delete_policy(request: HttpRequest, key: str) -> HttpResponse:
    """Delete a policy with its suppressions; audits under it stay."""
    row = documents.find(SavedPolicy, key, request.user)
    if row is None:
        raise Http404("no such policy")
    row.delete()
    return redirect("audit-policies")


@never_cache
@require_GET
def suppressions(request: HttpRequest) -> HttpResponse:
    """Own suppressions, newest first; those that ended are marked."""
    today = timezone.now().date()
    rows = policies.suppressions_of(request.user)
    context = {
        "section": "audits",
        "rows": [{"s": row, "is_expired": row.expires < today} for row in rows],
        "changed": request.GET.get("changed", ""),
    }
    return render(request, "audits/suppressions.html", context)


@signed_in
@require_POST
def delete_suppression(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a suppression; audits that ended stay as they are."""
    row = next((row for row in policies.suppressions_of(request.user) if row.pk == pk), None)
    if row is None:
        raise Http404("no such suppression")
    row.delete()
    return redirect("audit-suppressions")
