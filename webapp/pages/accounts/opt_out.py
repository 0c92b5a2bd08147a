"""Opting out of measurements, without an account: what is measured, a request, and its proof."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.errors import BadInput
from tasks.ownership import verification
from webapp.pages.accounts.domains import CHECKS, TOO_MANY, challenge_of
from webapp.store.access import domain_claims
from webapp.store.requests.address_rates import AddressRates

# Requests write to the store without an account.
_REQUESTS = AddressRates(10)


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


@never_cache
@require_http_methods(["GET", "POST"])
def opt_out(request: HttpRequest) -> HttpResponse:
    """Describe the measurements; a POST requests the exclusion of a domain or an address."""
    error, status = "", 200
    if request.method == "POST":
        try:
            if not _REQUESTS.allow(_address(request)):
                error, status = "too many requests; try again in a minute", 429
            else:
                row = domain_claims.request_opt_out(request.POST.get("name", ""))
                return HttpResponseRedirect(reverse("opt-out-request", args=[row.token]))
        except BadInput as refused:
            error, status = refused.text, 422
    context = {
        "section": "about",
        "contact": settings.CONTACT,
        "error": error,
        "typed": request.POST.get("name", "") if error else "",
    }
    return render(request, "accounts/opt_out.html", context, status=status)


@never_cache
@require_http_methods(["GET", "POST"])
def opt_out_request(request: HttpRequest, token: str) -> HttpResponse:
    """Show what to publish as a proof; a POST looks for it."""
    row = domain_claims.find_opt_out(token)
    if row is None:
        raise Http404("no such request")
    error = ""
    if request.method == "POST" and row.verified_at is None:
        if CHECKS.allow(_address(request)):
            verification.verify(row)
        else:
            error = TOO_MANY
    context = {
        "section": "about",
        "row": row,
        "challenge": challenge_of(row),
        "days": domain_claims.PENDING.days,
        "error": error,
    }
    status = 429 if error else 200
    return render(request, "accounts/opt_out_request.html", context, status=status)
