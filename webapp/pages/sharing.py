"""Who may see a survey: its maker publishes it, takes it back, and makes links that show it."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput
from webapp.pages.access import signed_in
from webapp.pages.families import FAMILIES
from webapp.pages.keys import address_of, lives, read_days
from webapp.store import removals, selectors, sharing
from webapp.store.models import Campaign


def _made_by_reader(request: HttpRequest, slug: str) -> Campaign:
    """The survey, for whoever made it; for everybody else this page is not there."""
    campaign = sharing.made_by(request.user, slug)
    if campaign is None:
        raise Http404("no such survey")
    return campaign


@never_cache
@require_GET
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Who sees this survey, and the links to it."""
    return _show(request, _made_by_reader(request, slug))


def _show(request: HttpRequest, campaign: Campaign, error: str = "") -> HttpResponse:
    links = [
        {"row": link, "address": address_of(request, link)} for link in sharing.links_of(campaign)
    ]
    context = {
        "section": "sharing",
        "campaign": selectors.row_of(campaign),
        "families": FAMILIES,
        "links": links,
        "lives": lives(sharing.LIVES_DAYS),
        "error": error,
    }
    status = 422 if error else 200
    return render(request, "accounts/sharing.html", context, status=status)


@signed_in
@require_POST
def visibility(request: HttpRequest, slug: str) -> HttpResponse:
    """Publish the survey, or take it back."""
    campaign = _made_by_reader(request, slug)
    if request.POST.get("public") == "yes":
        sharing.publish(campaign)
    else:
        sharing.withdraw(campaign)
    return redirect("sharing", slug=slug)


@signed_in
@require_POST
def new_link(request: HttpRequest, slug: str) -> HttpResponse:
    """A new link to the survey."""
    campaign = _made_by_reader(request, slug)
    try:
        sharing.issue(request.user, campaign, read_days(request, sharing.LIVES_DAYS))
    except BadInput as error:
        return _show(request, campaign, str(error).partition(": ")[2] or str(error))
    return redirect("sharing", slug=slug)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete a survey with its files, once it was said twice."""
    campaign = _made_by_reader(request, slug)
    if request.method == "POST":
        removals.remove_survey(campaign)
        return redirect("account")
    context = {"section": "sharing", "campaign": selectors.row_of(campaign), "families": FAMILIES}
    return render(request, "accounts/delete.html", context)
