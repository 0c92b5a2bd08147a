"""The account page: surveys, campaigns, API tokens and share links; closing the account."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import auth
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput, Conflict
from webapp.pages.ui.access import signed_in
from webapp.store.access import (
    domain_claims,
    identities,
    login_throttle,
    organisations,
    sharing,
    token_subjects,
    tokens,
)
from webapp.store.accounts import deletion
from webapp.store.models import ApiToken, Campaign, Survey
from webapp.store.surveys import selectors

SHOWN = 200
# Who has no password confirms a deletion by having signed in a moment ago.
_RECENT = timedelta(minutes=10)
# The sharing page of each kind of thing.
_SHARING = {"survey": "sharing", "campaign": "campaign-sharing", "audit": "audit-sharing"}


def lifetime_choices(days: tuple[int, ...]) -> list[tuple[int, str]]:
    """Return the lifetimes to choose from, as (days, text)."""
    return [(n, f"{n} days" if n else "until it is revoked") for n in days]


def read_days(request: HttpRequest, allowed: tuple[int, ...]) -> int:
    """Return the chosen number of days; raises ``BadInput`` for one that was not offered."""
    text = request.POST.get("days", "")
    if not text.isdecimal() or len(text) > 4 or int(text) not in allowed:
        raise BadInput("choose when it expires", field="days")
    return int(text)


@never_cache
@signed_in
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """Show the account page."""
    return show_account(request)


def show_account(
    request: HttpRequest, status: int = 200, secret: str = "", error: str = ""
) -> HttpResponse:
    """Render the account page, with the secret of a new token or the error of the form."""
    mine = Survey.objects.filter(maker=request.user.pk).prefetch_related("range_tables")
    context = {
        "section": "account",
        "surveys": [selectors.row_of(c) for c in mine[:SHOWN]],
        "takeovers": selectors.takeovers_of(request.user),
        "campaigns": _campaigns(request.user),
        "memberships": organisations.memberships_of(request.user),
        "tokens": tokens.live(request.user),
        "links": [_link(request, link) for link in sharing.links_by(request.user)],
        "lives": lifetime_choices(tokens.LIVES_DAYS),
        "scopes": ApiToken.Scope.choices,
        "token_subjects": list(token_subjects.SUBJECTS),
        "secret": secret,
        "error": error,
        "typed": request.POST.get("name", "") if error else "",
        "changed": request.GET.get("changed", ""),
        "provider": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "needs_proof": domain_claims.needs_proof(request.user),
        "identities": identities.identities_of(request.user),
    }
    answer = render(request, "accounts/account.html", context, status=status)
    if secret:
        answer["Cache-Control"] = "no-store"
    return answer


def _campaigns(user: Any) -> list[Campaign]:
    """Return the campaigns of a user, without their plans, which may be long."""
    shown = ("slug", "name", "state", "owner", "synthetic", "created_at", "organisation__name")
    rows = Campaign.objects.filter(maker=user.pk).select_related("organisation")
    return list(rows.only(*shown)[:SHOWN])


def _link(request: HttpRequest, link: Any) -> dict[str, Any]:
    page = reverse(_SHARING[link.kind], args=[link.slug])
    return {"row": link, "address": share_url(request, link), "page": page}


def share_url(request: HttpRequest, link: Any) -> str:
    """Return the URL of a share link; empty where it can no longer be derived."""
    path = sharing.path_of(link)
    return request.build_absolute_uri(path) if path else ""


@never_cache
@signed_in
@require_POST
def new_token(request: HttpRequest) -> HttpResponse:
    """Create a token; this response alone shows its secret."""
    try:
        days = read_days(request, tokens.LIVES_DAYS)
        given = (request.POST.get("name", ""), request.POST.get("scope", ""))
        subjects = request.POST.getlist("subjects")
        _, secret = tokens.issue(request.user, *given, days=days, subjects=subjects)
    except BadInput as error:
        return show_account(request, 422, error=str(error).partition(": ")[2] or str(error))
    return show_account(request, 201, secret=secret)


@signed_in
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Revoke a token."""
    if not tokens.revoke(request.user, pk):
        raise Http404("no such token")
    return HttpResponseRedirect(reverse("account") + "?changed=token#tokens")


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def close_account(request: HttpRequest) -> HttpResponse:
    """Delete the account with all private data, after asking for the password again."""
    error = ""
    if request.method == "POST":
        error = _check_password(request)
        if not error:
            try:
                return _remove_account(request)
            except Conflict as conflict:
                error = str(conflict)
    owned = {"owner": request.user.pk}
    context = {
        "section": "account",
        "n_surveys": Survey.objects.filter(**owned).count(),
        "n_campaigns": Campaign.objects.filter(**owned).count(),
        "error": error,
    }
    return render(request, "accounts/close.html", context, status=422 if error else 200)


def _remove_account(request: HttpRequest) -> HttpResponse:
    user = request.user
    deletion.remove_account(user)
    auth.logout(request)
    answer = redirect("atlas")
    answer["Clear-Site-Data"] = '"cache"'
    return answer


def _check_password(request: HttpRequest) -> str:
    """Return what is wrong with the password that was sent; empty where nothing is."""
    user: Any = request.user
    name = user.get_username()
    if not user.has_usable_password():
        age = timezone.now() - (user.last_login or user.date_joined)
        return "" if age < _RECENT else "sign out, sign in again, and repeat this within 10 minutes"
    try:
        attempt = login_throttle.count_sign_in(name, str(request.META.get("REMOTE_ADDR", "")))
    except login_throttle.TooManyAttempts as error:
        return str(error)
    if not user.check_password(request.POST.get("password", "")):
        return "this is not the password of the account"
    attempt.clear()
    return ""
