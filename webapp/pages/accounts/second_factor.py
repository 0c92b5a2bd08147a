"""The second factor: enrolment on the account's page, and the code at sign-in."""

import time
from typing import Any

import segno
from django.contrib import auth
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.errors import BadInput
from webapp.pages.accounts.pending_sign_in import PENDING, complete
from webapp.pages.ui.access import signed_in
from webapp.store.access import events, login_throttle, second_factor

# How long after the password the code may come.
_PENDING_S = 600


@sensitive_post_parameters("code")
@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def settings_page(request: HttpRequest) -> HttpResponse:
    """Show the state of the factor; a POST enables or removes it, or renews recovery codes."""
    if request.method == "GET":
        return _show(request)
    action = request.POST.get("action", "")
    if action == "begin" and not second_factor.is_required(request.user):
        return _show(request, row=second_factor.enrol(request.user))
    if action not in ("confirm", "remove", "codes"):
        return redirect("second-factor")
    try:
        attempt = _count(request.user, request)
    except login_throttle.TooManyAttempts as refused:
        return _show(request, 429, error=str(refused), row=_unconfirmed(request.user))
    code = request.POST.get("code", "")
    if action == "confirm":
        return _confirm(request, code, attempt)
    if not second_factor.accept(request.user, code):
        return _show(request, 422, error="this code is not valid")
    attempt.clear()
    if action == "codes":
        return _show(request, codes=second_factor.renew_recovery_codes(request.user))
    second_factor.remove(request.user)
    return redirect("second-factor")


def _confirm(request: HttpRequest, code: str, attempt: login_throttle.Attempt) -> HttpResponse:
    try:
        codes = second_factor.confirm(request.user, code)
    except BadInput as refused:
        return _show(request, 422, error=refused.text, row=_unconfirmed(request.user))
    attempt.clear()
    return _show(request, codes=codes)


def _unconfirmed(user: Any) -> Any:
    row = second_factor.find(user)
    return row if row is not None and row.confirmed_at is None else None


def _count(user: Any, request: HttpRequest) -> login_throttle.Attempt:
    return login_throttle.count_code(user.get_username(), str(request.META.get("REMOTE_ADDR", "")))


def _show(request: HttpRequest, status: int = 200, row: Any = None, **more: Any) -> HttpResponse:
    found = second_factor.find(request.user)
    is_enabled = found is not None and found.confirmed_at is not None
    context = {
        "section": "account",
        "is_enabled": is_enabled,
        "factor": found,
        "n_codes": len(found.recovery_sha256) if found is not None else 0,
        **more,
    }
    if row is not None:
        uri = second_factor.uri_of(row, request.get_host())
        image = segno.make(uri, error="m").svg_inline(scale=5, border=4, light="white")
        context |= {"secret": second_factor.secret_of(row), "image": image}
    return render(request, "accounts/second_factor.html", context, status=status)


@sensitive_post_parameters("code")
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Ask for the code of who has given the right password."""
    pending = request.session.get(PENDING)
    if not pending or time.time() - pending["at"] > _PENDING_S:
        request.session.pop(PENDING, None)
        return redirect("sign-in")
    user = auth.get_user_model().objects.filter(pk=pending["user"], is_active=True).first()
    if user is None:
        return redirect("sign-in")
    if request.method == "GET":
        return _ask(request)
    try:
        attempt = _count(user, request)
    except login_throttle.TooManyAttempts as refused:
        answer = _ask(request, 429, str(refused))
        answer["Retry-After"] = str(refused.retry_after_s)
        return answer
    if not second_factor.accept(user, request.POST.get("code", "")):
        events.record(user, "account.sign-in-failed", "second factor")
        return _ask(request, 422, "this code is not valid; each works once")
    attempt.clear()
    complete(request, user)
    return HttpResponseRedirect(pending["after"] or reverse("account"))


def _ask(request: HttpRequest, status: int = 200, error: str = "") -> HttpResponse:
    context = {"section": "account", "error": error}
    return render(request, "accounts/sign_in_code.html", context, status=status)
