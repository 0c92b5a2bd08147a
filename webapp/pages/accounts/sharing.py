"""Sharing of a survey, campaign or audit by its owner: visibility, share links, deletion.

The URL names the kind; all kinds have the same pages.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput
from webapp.pages.accounts.account import lifetime_choices, read_days, share_url
from webapp.pages.campaigns.frame import frame_or_404
from webapp.pages.ui.access import signed_in
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.access import sharing
from webapp.store.accounts import deletion
from webapp.store.models import Audit, Survey
from webapp.store.surveys import selectors

# Names of each kind's addresses.
_PAGES = {
    "survey": {
        "home": "survey",
        "sharing": "sharing",
        "visibility": "visibility",
        "new": "new-share-link",
        "delete": "delete-survey",
    },
    "campaign": {
        "home": "campaign",
        "sharing": "campaign-sharing",
        "visibility": "campaign-visibility",
        "new": "new-campaign-link",
        "delete": "delete-campaign",
    },
    "audit": {
        "home": "audit",
        "sharing": "audit-sharing",
        "visibility": "audit-visibility",
        "new": "new-audit-link",
        "delete": "delete-audit",
    },
}


def sharing_page(kind: str, slug: str) -> str:
    """Return the address of the sharing page of a survey, campaign or audit."""
    return reverse(_PAGES[kind]["sharing"], args=[slug])


def _owned_or_404(request: HttpRequest, kind: str, slug: str) -> sharing.Shareable:
    """Return what the reader has made, else raise ``Http404``."""
    found = sharing.find_own(request.user, kind, slug)
    if found is None:
        raise Http404(f"no such {kind}")
    return found


def _context(request: HttpRequest, kind: str, thing: sharing.Shareable) -> dict[str, Any]:
    """Return the template context that these pages share."""
    own = {
        "thing": thing,
        "kind": kind,
        "is_private": thing.owner_id is not None,
        "organisation": thing.organisation,
        "pages": {name: reverse(page, args=[thing.slug]) for name, page in _PAGES[kind].items()},
    }
    if isinstance(thing, Survey):
        row = selectors.row_of(thing)
        return {"section": "sharing", "survey": row, "families": FAMILIES, **own}
    if isinstance(thing, Audit):
        return {"nav": "audits", **own}
    return frame_or_404(request, thing.slug).context(request, **own)


@never_cache
@require_GET
def overview(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Show who can see it, and its share links."""
    return _show(request, kind, _owned_or_404(request, kind, slug))


def _show(
    request: HttpRequest, kind: str, thing: sharing.Shareable, error: str = ""
) -> HttpResponse:
    links = [{"row": link, "address": share_url(request, link)} for link in sharing.links_of(thing)]
    context = {
        **_context(request, kind, thing),
        "links": links,
        "lives": lifetime_choices(sharing.LIFETIME_DAYS),
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "accounts/sharing.html", context, status=status)


@signed_in
@require_POST
def visibility(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Publish it, or make it private."""
    thing = _owned_or_404(request, kind, slug)
    if request.POST.get("public") == "yes":
        sharing.publish(thing, request.user)
    else:
        sharing.withdraw(thing, request.user)
    return HttpResponseRedirect(sharing_page(kind, slug))


@signed_in
@require_POST
def new_link(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Create a share link."""
    thing = _owned_or_404(request, kind, slug)
    try:
        sharing.issue(request.user, thing, read_days(request, sharing.LIFETIME_DAYS))
    except BadInput as error:
        return _show(request, kind, thing, str(error).partition(": ")[2] or str(error))
    return HttpResponseRedirect(sharing_page(kind, slug))


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Delete it with its files, after a confirmation."""
    thing = _owned_or_404(request, kind, slug)
    if request.method == "POST":
        deletion.remove(thing, request.user)
        return redirect("account")
    return render(request, "accounts/delete.html", _context(request, kind, thing))


@signed_in
@require_POST
def revoke_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a share link."""
    link = sharing.links_managed_by(request.user).filter(pk=pk).first()
    if link is None or not sharing.revoke(request.user, pk):
        raise Http404("no such link")
    if request.POST.get("back"):
        return HttpResponseRedirect(sharing_page(link.kind, link.slug))
    return HttpResponseRedirect(reverse("account") + "?changed=link#links")
