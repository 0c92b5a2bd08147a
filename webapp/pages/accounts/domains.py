"""Domains of an account: claims, what to publish as a proof, and the check of it."""

from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from core.errors import BadInput
from tasks.ownership import verification
from webapp.pages.ui.access import signed_in
from webapp.store.access import domain_claims
from webapp.store.models import DomainClaim
from webapp.store.requests.address_rates import AddressRates

# Checks contact servers that users name: ten per minute and account or address.
CHECKS = AddressRates(10)
TOO_MANY = "too many checks; try again in a minute"


def challenge_of(row: DomainClaim) -> dict[str, Any]:
    """Return what has to be published for a claim."""
    return {
        "record": "" if domain_claims.is_address(row.name) else verification.record_name(row),
        "text": verification.expected_text(row),
        "urls": verification.file_urls(row),
    }


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def listing(request: HttpRequest) -> HttpResponse:
    """List the domains of the account; a POST adds one."""
    error = ""
    if request.method == "POST":
        try:
            domain_claims.claim(request.user, request.POST.get("name", ""))
            return HttpResponseRedirect(reverse("account-domains"))
        except BadInput as refused:
            error = refused.text
    return _show(request, error, 422 if error else 200)


def _show(request: HttpRequest, error: str = "", status: int = 200) -> HttpResponse:
    valid = domain_claims.proven(request.user)
    rows = [
        {"row": row, "is_valid": row.name in valid, "challenge": challenge_of(row)}
        for row in domain_claims.claims_of(request.user)
    ]
    context = {
        "section": "account",
        "rows": rows,
        "is_required": settings.OWNERSHIP_PROOF,
        "days": domain_claims.VALID.days,
        "error": error,
        "typed": request.POST.get("name", "") if error else "",
    }
    return render(request, "accounts/domains.html", context, status=status)


@signed_in
@require_POST
def check(request: HttpRequest, pk: int) -> HttpResponse:
    """Look for the proof of a claim."""
    row = domain_claims.claims_of(request.user).filter(pk=pk).first()
    if row is None:
        raise Http404("no such domain")
    if not CHECKS.allow(f"account {request.user.pk}"):
        return _show(request, TOO_MANY, 429)
    verification.verify(row)
    return HttpResponseRedirect(reverse("account-domains"))


@signed_in
@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a claim."""
    if not domain_claims.delete(request.user, pk):
        raise Http404("no such domain")
    return HttpResponseRedirect(reverse("account-domains"))
