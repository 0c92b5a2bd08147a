"""The account page: what somebody made, tokens of programs, links that share; closing it."""

from typing import Any

from django.contrib import auth
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from core.errors import BadInput
from webapp.pages.ui.access import signed_in
from webapp.store.access import login_throttle, sharing, tokens
from webapp.store.accounts import deletion
from webapp.store.models import ApiToken, Campaign, Survey
from webapp.store.surveys import selectors

SHOWN = 200


def lives(days: tuple[int, ...]) -> list[tuple[int, str]]:
    """Choices of how long something lives."""
    return [(n, f"{n} days" if n else "until it is taken back") for n in days]


def read_days(request: HttpRequest, allowed: tuple[int, ...]) -> int:
    """How many days were chosen; raises ``BadInput`` for what was not offered."""
    text = request.POST.get("days", "")
    if not text.isdecimal() or len(text) > 4 or int(text) not in allowed:
        raise BadInput("choose how long it lives", field="days")
    return int(text)


@never_cache
@signed_in
@require_GET
def account(request: HttpRequest) -> HttpResponse:
    """All that is this person's."""
    return show_account(request)


def show_account(
    request: HttpRequest, status: int = 200, secret: str = "", error: str = ""
) -> HttpResponse:
    """The account page, with a new token's secret or what was wrong with the form."""
    mine = Survey.objects.filter(maker=request.user.pk).prefetch_related("range_tables")
    context = {
        "section": "account",
        "surveys": [selectors.row_of(c) for c in mine[:SHOWN]],
        "takeovers": selectors.takeovers_of(request.user),
        "measurements": _campaigns(request.user),
        "tokens": tokens.live(request.user),
        "links": [_link(request, link) for link in sharing.links_by(request.user)],
        "lives": lives(tokens.LIVES_DAYS),
        "scopes": ApiToken.Scope.choices,
        "secret": secret,
        "error": error,
        "typed": request.POST.get("name", "") if error else "",
        "changed": request.GET.get("changed", ""),
    }
    answer = render(request, "accounts/account.html", context, status=status)
    if secret:
        answer["Cache-Control"] = "no-store"
    return answer


def _campaigns(user: Any) -> list[Campaign]:
    """Those that somebody made, without their plans, which may be long."""
    shown = ("slug", "name", "state", "owner", "synthetic", "created_at")
    return list(Campaign.objects.filter(maker=user.pk).only(*shown)[:SHOWN])


def _link(request: HttpRequest, link: Any) -> dict[str, Any]:
    return {"row": link, "address": address_of(request, link)}


def address_of(request: HttpRequest, link: Any) -> str:
    """What a link's owner sends around; empty where it cannot be told any more."""
    path = sharing.path_of(link)
    return request.build_absolute_uri(path) if path else ""


@never_cache
@signed_in
@require_POST
def new_token(request: HttpRequest) -> HttpResponse:
    """A new token; this one answer shows its secret."""
    try:
        days = read_days(request, tokens.LIVES_DAYS)
        given = (request.POST.get("name", ""), request.POST.get("scope", ""))
        _, secret = tokens.issue(request.user, *given, days=days)
    except BadInput as error:
        return show_account(request, 422, error=str(error).partition(": ")[2] or str(error))
    return show_account(request, 201, secret=secret)


@signed_in
@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    """Take a token back."""
    if not tokens.revoke(request.user, pk):
        raise Http404("no such token")
    return HttpResponseRedirect(reverse("account") + "?changed=token#tokens")


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def close_account(request: HttpRequest) -> HttpResponse:
    """Delete the account with all that is private; the password is asked for once more."""
    error = ""
    if request.method == "POST":
        error = _check_password(request)
        if not error:
            user = request.user
            auth.logout(request)
            deletion.remove_account(user)
            answer = redirect("atlas")
            answer["Clear-Site-Data"] = '"cache"'
            return answer
    owned = {"owner": request.user.pk}
    context = {
        "section": "account",
        "n_surveys": Survey.objects.filter(**owned).count(),
        "n_measurements": Campaign.objects.filter(**owned).count(),
        "error": error,
    }
    return render(request, "accounts/close.html", context, status=422 if error else 200)


def _check_password(request: HttpRequest) -> str:
    """What is wrong with the password that was sent, if anything."""
    name = request.user.get_username()
    try:
        attempt = login_throttle.count_sign_in(name, str(request.META.get("REMOTE_ADDR", "")))
    except login_throttle.TooManyAttempts as error:
        return str(error)
    if not request.user.check_password(request.POST.get("password", "")):
        return "this is not the password of the account"
    attempt.clear()
    return ""
