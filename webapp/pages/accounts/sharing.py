"""Who may see a survey or a measurement: its maker publishes it, takes it back, and makes links.

Addresses say of which kind the thing is; each kind has the same pages.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput
from webapp.pages.accounts.account import address_of, lives, read_days
from webapp.pages.campaigns.frame import frame_or_404
from webapp.pages.ui.access import signed_in
from webapp.pages.ui.report_families import FAMILIES
from webapp.store.access import sharing
from webapp.store.accounts import deletion
from webapp.store.models import Survey
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
        "home": "wide-area-campaign",
        "sharing": "measurement-sharing",
        "visibility": "measurement-visibility",
        "new": "new-measurement-link",
        "delete": "delete-measurement",
    },
}


def sharing_page(kind: str, slug: str) -> str:
    """The address of a thing's page on who sees it."""
    return reverse(_PAGES[kind]["sharing"], args=[slug])


def _made_by_reader(request: HttpRequest, kind: str, slug: str) -> sharing.Shareable:
    """The thing, for whoever made it; for everybody else this page is not there."""
    found = sharing.find_own(request.user, kind, slug)
    if found is None:
        raise Http404(f"no such {kind}")
    return found


def _context(request: HttpRequest, kind: str, thing: sharing.Shareable) -> dict[str, Any]:
    """What stands around these pages: the strip of the thing, and where its forms lead."""
    own = {
        "thing": thing,
        "kind": kind,
        "is_private": thing.owner_id is not None,
        "pages": {name: reverse(page, args=[thing.slug]) for name, page in _PAGES[kind].items()},
    }
    if isinstance(thing, Survey):
        row = selectors.row_of(thing)
        return {"section": "sharing", "campaign": row, "families": FAMILIES, **own}
    return frame_or_404(request, thing.slug).context(request, **own)


@never_cache
@require_GET
def overview(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Who sees it, and the links to it."""
    return _show(request, kind, _made_by_reader(request, kind, slug))


def _show(
    request: HttpRequest, kind: str, thing: sharing.Shareable, error: str = ""
) -> HttpResponse:
    links = [
        {"row": link, "address": address_of(request, link)} for link in sharing.links_of(thing)
    ]
    context = {
        **_context(request, kind, thing),
        "links": links,
        "lives": lives(sharing.LIFETIME_DAYS),
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "accounts/sharing.html", context, status=status)


@signed_in
@require_POST
def visibility(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Publish it, or take it back."""
    thing = _made_by_reader(request, kind, slug)
    if request.POST.get("public") == "yes":
        sharing.publish(thing)
    else:
        sharing.withdraw(thing)
    return HttpResponseRedirect(sharing_page(kind, slug))


@signed_in
@require_POST
def new_link(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """A new link to it."""
    thing = _made_by_reader(request, kind, slug)
    try:
        sharing.issue(request.user, thing, read_days(request, sharing.LIFETIME_DAYS))
    except BadInput as error:
        return _show(request, kind, thing, str(error).partition(": ")[2] or str(error))
    return HttpResponseRedirect(sharing_page(kind, slug))


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, slug: str, kind: str = "survey") -> HttpResponse:
    """Delete it with its files, once it was said twice."""
    thing = _made_by_reader(request, kind, slug)
    if request.method == "POST":
        deletion.remove(thing)
        return redirect("account")
    return render(request, "accounts/delete.html", _context(request, kind, thing))


@signed_in
@require_POST
def revoke_link(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a share link back."""
    link = sharing.links_by(request.user).filter(pk=pk).first()
    if link is None or not sharing.revoke(request.user, pk):
        raise Http404("no such link")
    if request.POST.get("back"):
        return HttpResponseRedirect(sharing_page(link.kind, link.slug))
    return HttpResponseRedirect(reverse("account") + "?changed=link#links")
