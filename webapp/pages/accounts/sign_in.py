"""Signing in, up and out, invitations and passwords.

No response reveals whether a name has an account, except a sign-up with a taken name.
"""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import auth
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core.errors import BadInput
from webapp.pages.accounts import pending_sign_in
from webapp.pages.ui.access import signed_in
from webapp.store.access import accounts, events, login_throttle, second_factor, tokens

_SECRETS = ("password", "password1", "password2", "old_password", "new_password1", "new_password2")


class SignUpForm(forms.Form):
    """A name and a password, entered twice since a lost one cannot be mailed."""

    username = forms.CharField(max_length=40)
    password1 = forms.CharField(max_length=1000, strip=False)
    password2 = forms.CharField(max_length=1000, strip=False)

    def clean_username(self) -> str:
        """The name in small letters; a taken one is refused."""
        try:
            name = accounts.clean_name(self.cleaned_data["username"])
        except BadInput:
            raise ValidationError(f"A name has {accounts.NAME_RULE}.") from None
        if accounts.find_account(name):
            raise ValidationError("This name is taken; choose another.")
        return name

    def clean(self) -> dict[str, Any]:
        """Both passwords alike, and hard to guess."""
        given = super().clean() or {}
        first, second = given.get("password1"), given.get("password2")
        if first and second and first != second:
            self.add_error("password2", "The two passwords differ.")
        if first:
            user = auth.get_user_model()(username=given.get("username", ""))
            try:
                validate_password(first, user)
            except ValidationError as error:
                self.add_error("password1", error)
        return given


def return_url(request: HttpRequest) -> str:
    """Return the page to open after sign-in: a URL of this site, or empty."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    hosts = {request.get_host()}
    is_ours = url_has_allowed_host_and_scheme(wanted, hosts, require_https=request.is_secure())
    return wanted if is_ours and wanted.startswith("/") else ""


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))


def start_session(
    request: HttpRequest, user: Any, after: str = "", *, is_code_needed: bool = True
) -> HttpResponse:
    """Begin a session of this person's, after a code where the account has a second factor.

    Lead to ``after``, a URL of this site, or to where the request states.
    """
    wanted = after or return_url(request)
    if is_code_needed and second_factor.is_required(user):
        pending_sign_in.defer(request, user, wanted)
        return redirect("sign-in-code")
    pending_sign_in.complete(request, user)
    return HttpResponseRedirect(wanted or reverse("account"))


def _show(request: HttpRequest, page: str, form: Any, status: int = 0, **more: Any) -> HttpResponse:
    provider = settings.OIDC_NAME if settings.OIDC_ISSUER else ""
    context = {"section": "account", "form": form, "next": return_url(request), **more}
    context["provider"] = provider
    chosen = status or (422 if form.errors else 200)
    return render(request, f"accounts/{page}.html", context, status=chosen)


def _refuse(
    request: HttpRequest, page: str, form: Any, error: login_throttle.TooManyAttempts
) -> HttpResponse:
    """Too much was tried."""
    text = str(error)
    answer = _show(request, page, form, 429, refused=f"{text[0].upper()}{text[1:]}.")
    answer["Retry-After"] = str(error.retry_after_s)
    return answer


@sensitive_post_parameters(*_SECRETS)
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The form; a right name and password lead back to where one came from."""
    more = {"can_sign_up": settings.SIGN_UP_OPEN}
    if request.method == "GET":
        if request.user.is_authenticated:
            return HttpResponseRedirect(return_url(request) or reverse("account"))
        return _show(request, "sign_in", AuthenticationForm(request), **more)
    name = request.POST.get("username", "")[:150]
    try:
        attempt = login_throttle.count_sign_in(name, _address(request))
    except login_throttle.TooManyAttempts as error:
        return _refuse(request, "sign_in", AuthenticationForm(request), error)
    known = accounts.find_account(name)
    # An unknown name goes the same way, and takes as long.
    given = request.POST.copy()
    given["username"] = known.get_username() if known else name
    form = AuthenticationForm(request, data=given)
    if not form.is_valid():
        # A name without an account is not stored: a password may have been typed in its place.
        events.record(known, "account.sign-in-failed", "" if known else "a name without an account")
        return _show(request, "sign_in", form, typed=name, **more)
    attempt.clear()
    return start_session(request, form.get_user())


@never_cache
@require_http_methods(["GET", "POST"])
def sign_out(request: HttpRequest) -> HttpResponse:
    """A button that ends the session; a link alone cannot."""
    if request.method == "GET":
        return render(request, "accounts/sign_out.html", {"section": "account"})
    auth.logout(request)
    answer = redirect("atlas")
    # Pages of the account must not come back by the browser's back button.
    answer["Clear-Site-Data"] = '"cache"'
    return answer


@sensitive_post_parameters(*_SECRETS)
@never_cache
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Create an account, where this installation allows open registration."""
    if request.user.is_authenticated:
        return redirect("account")
    if not settings.SIGN_UP_OPEN:
        return render(request, "accounts/closed.html", {"section": "account"}, status=403)
    if request.method == "GET":
        return _show(request, "sign_up", SignUpForm())
    form = SignUpForm(request.POST)
    try:
        login_throttle.count_sign_up(_address(request))
    except login_throttle.TooManyAttempts as error:
        return _refuse(request, "sign_up", SignUpForm(), error)
    if not form.is_valid():
        return _show(request, "sign_up", form)
    try:
        user = accounts.create_account(
            form.cleaned_data["username"], form.cleaned_data["password1"]
        )
    except BadInput:
        form.add_error("username", "This name is taken; choose another.")
        return _show(request, "sign_up", form)
    return start_session(request, user)


@sensitive_post_parameters(*_SECRETS)
@never_cache
@require_http_methods(["GET", "POST"])
def welcome(request: HttpRequest, who: str, key: str) -> HttpResponse:
    """Accept an invitation: set a password and sign in."""
    user = accounts.find_invited(who, key)
    if user is None:
        return render(request, "accounts/stale.html", {"section": "account"}, status=404)
    form = SetPasswordForm(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        events.record(user, "account.password", "by a link")
        _revoke_tokens_where_asked(request, user)
        return start_session(request, user)
    more = {"invited": user.get_username(), "n_tokens": tokens.live(user).count()}
    answer = _show(request, "welcome", form, **more)
    # The URL is a secret, so it is sent in no referrer.
    answer["Referrer-Policy"] = "no-referrer"
    return answer


@sensitive_post_parameters(*_SECRETS)
@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Another password; every other session of the account ends, its tokens where asked for."""
    user: Any = request.user
    form = PasswordChangeForm(user, request.POST or None)
    if request.method == "GET":
        return _show(request, "password", form)
    try:
        attempt = login_throttle.count_sign_in(user.get_username(), _address(request))
    except login_throttle.TooManyAttempts as error:
        return _refuse(request, "password", PasswordChangeForm(user), error)
    if not form.is_valid():
        return _show(request, "password", form)
    attempt.clear()
    form.save()
    auth.update_session_auth_hash(request, form.user)
    events.record(user, "account.password")
    _revoke_tokens_where_asked(request, user)
    return HttpResponseRedirect(reverse("account") + "?changed=password")


def _revoke_tokens_where_asked(request: HttpRequest, user: Any) -> None:
    """Revoke the API tokens of a user if the box is ticked in the form of a new password."""
    if request.POST.get("revoke_tokens") == "on":
        tokens.revoke_all(user)
