"""Organisations: members and roles, invitations, and the objects that members see together."""

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, Forbidden
from webapp.pages.ui.access import signed_in
from webapp.store.access import organisations
from webapp.store.models import Membership, Role
from webapp.store.models.accounts.organisations import MANAGERS

# Addresses of the objects that an organisation may hold.
_PAGES = {
    "survey": "survey",
    "campaign": "campaign",
    "audit": "audit",
    "recommendation": "recommendation",
    "pool": "pool",
}


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def overview(request: HttpRequest) -> HttpResponse:
    """List the organisations of the user; a POST creates one."""
    error = ""
    if request.method == "POST":
        try:
            made = organisations.create(request.user, request.POST.get("name", ""))
            return redirect("organisation", slug=made.slug)
        except BadInput as refused:
            error = _text(refused)
    context = {
        "section": "account",
        "memberships": organisations.memberships_of(request.user),
        "error": error,
        "typed": request.POST.get("name", ""),
    }
    status = 422 if error else 200
    return render(request, "accounts/organisations.html", context, status=status)


@never_cache
@signed_in
@require_GET
def organisation(request: HttpRequest, slug: str) -> HttpResponse:
    """Show an organisation to a member."""
    return _show(request, membership_or_404(request, slug))


def membership_or_404(request: HttpRequest, slug: str) -> Membership:
    """Return the reader's membership of an organisation, else raise ``Http404``."""
    found = organisations.find_membership(request.user, slug)
    if found is None:
        raise Http404("no such organisation")
    return found


def _show(request: HttpRequest, mine: Membership, status: int = 200, **more: Any) -> HttpResponse:
    manages = mine.role in MANAGERS
    may_add = mine.role != Role.VIEWER
    context = {
        "section": "account",
        "mine": mine,
        "manages": manages,
        "is_owner": mine.role == Role.OWNER,
        "roles": Role.choices if mine.role == Role.OWNER else Role.choices[1:],
        "invited_roles": [(role.value, role.label) for role in organisations.INVITED_ROLES],
        "members": organisations.members(mine.organisation),
        "invitations": organisations.invitations(mine),
        "objects": _objects(organisations.objects_of(mine.organisation, request.user), mine),
        "addable": _objects(organisations.own_objects(request.user), mine) if may_add else [],
        "changed": request.GET.get("changed", ""),
        **more,
    }
    answer = render(request, "accounts/organisation.html", context, status=status)
    if "invitation_address" in more:
        answer["Cache-Control"] = "no-store"
    return answer


def _objects(found: list[tuple[str, Any]], mine: Membership) -> list[dict[str, Any]]:
    """Return what the page shows of objects, newest first."""
    rows = [
        {
            "kind": kind,
            "key": organisations.key_of(kind, row),
            "name": getattr(row, "name", "") or getattr(row, "title", "") or "Untitled",
            "href": reverse(_PAGES[kind], args=[organisations.key_of(kind, row)]),
            "created_at": row.created_at,
            "is_public": row.owner_id is None,
            "may_remove": mine.role in MANAGERS
            or mine.user_id in (row.owner_id, getattr(row, "maker_id", None)),
        }
        for kind, row in found
    ]
    return sorted(rows, key=lambda row: row["created_at"], reverse=True)


def _text(error: Exception) -> str:
    """Return the message of an error without the name of its field."""
    return error.text if isinstance(error, BadInput) else str(error)


@never_cache
@signed_in
@require_POST
def change(request: HttpRequest, slug: str, action: str) -> HttpResponse:
    """Change members, invitations or objects of an organisation."""
    mine = membership_or_404(request, slug)
    if action not in _ACTIONS:
        raise Http404("no such action")
    try:
        return _ACTIONS[action](request, mine)
    except Forbidden as refused:
        return _show(request, mine, 403, error=str(refused))
    except BadInput as refused:
        return _show(request, mine, 422, error=_text(refused))


def _changed(mine: Membership, what: str) -> HttpResponse:
    page = reverse("organisation", args=[mine.organisation.slug])
    return HttpResponseRedirect(f"{page}?changed={what}")


def _change_role(request: HttpRequest, mine: Membership) -> HttpResponse:
    target = organisations.find_member(mine.organisation, request.POST.get("name", ""))
    organisations.change_role(mine, target, request.POST.get("role", ""))
    return _changed(mine, "role")


def _remove_member(request: HttpRequest, mine: Membership) -> HttpResponse:
    target = organisations.find_member(mine.organisation, request.POST.get("name", ""))
    organisations.remove_member(mine, target)
    return redirect("organisations") if target.user_id == mine.user_id else _changed(mine, "member")


def _invite(request: HttpRequest, mine: Membership) -> HttpResponse:
    given = request.POST.get("role", ""), request.POST.get("note", "")
    _, secret = organisations.invite(mine, *given)
    path = reverse("join-organisation", args=[secret])
    return _show(request, mine, 201, invitation_address=request.build_absolute_uri(path))


def _revoke(request: HttpRequest, mine: Membership) -> HttpResponse:
    number = request.POST.get("number", "")
    is_number = number.isdecimal() and len(number) < 12
    if not is_number or not organisations.revoke_invitation(mine, int(number)):
        raise BadInput("there is no such invitation")
    return _changed(mine, "invitation")


def _add_object(request: HttpRequest, mine: Membership) -> HttpResponse:
    kind, _, key = request.POST.get("object", "").partition("/")
    organisations.add_object(mine, kind, key)
    return _changed(mine, "added")


def _remove_object(request: HttpRequest, mine: Membership) -> HttpResponse:
    kind, _, key = request.POST.get("object", "").partition("/")
    organisations.remove_object(mine, kind, key)
    return _changed(mine, "removed")


def _delete(request: HttpRequest, mine: Membership) -> HttpResponse:
    if request.POST.get("name", "").strip() != mine.organisation.name:
        raise BadInput("type the name of the organisation as it is to delete it")
    organisations.delete(mine)
    return redirect("organisations")


_ACTIONS: dict[str, Callable[[HttpRequest, Membership], HttpResponse]] = {
    "change-role": _change_role,
    "remove-member": _remove_member,
    "invite": _invite,
    "revoke-invitation": _revoke,
    "add-object": _add_object,
    "remove-object": _remove_object,
    "delete": _delete,
}


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def invitation(request: HttpRequest, secret: str) -> HttpResponse:
    """Show an invitation; a POST accepts it."""
    found = organisations.find_invitation(secret)
    error = ""
    if found is not None and request.method == "POST":
        try:
            joined = organisations.accept(request.user, secret)
            return redirect("organisation", slug=joined.slug)
        except BadInput as refused:
            error = _text(refused)
    context = {"section": "account", "invitation": found, "error": error}
    status = 404 if found is None else 422 if error else 200
    answer = render(request, "accounts/invitation.html", context, status=status)
    # The URL is a secret, so it is sent in no referrer.
    answer["Referrer-Policy"] = "no-referrer"
    return answer
