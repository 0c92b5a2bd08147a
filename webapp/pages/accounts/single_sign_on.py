"""Signing in at an OpenID Connect provider: authorization code flow with PKCE.

State, nonce, signature, issuer, audience and times of the ID token are checked by Authlib. Nothing
of the provider's tokens is kept: the session here begins with the verified person and ends by
itself.
"""

import functools
import logging
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from core.errors import Conflict, Forbidden, Unavailable
from webapp.pages.accounts.sign_in import return_url, start_session
from webapp.pages.ui.access import signed_in
from webapp.store.access import events, identities

log = logging.getLogger(__name__)
_NEXT, _CONNECTS = "oidc_next", "oidc_connects"
# The provider is queried while a person waits.
_TIMEOUT_S = 10
# How long a visitor may stay at the provider.
_AT_PROVIDER_S = 1_800
# Signatures by the provider's own key. Others need a secret that both know, or none at all.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")


@never_cache
@require_GET
def authorize(request: HttpRequest) -> HttpResponse:
    """Send the visitor to the provider; a signed-in one connects their account."""
    _require_provider()
    request.session[_NEXT] = return_url(request)
    request.session[_CONNECTS] = request.user.pk if request.user.is_authenticated else None
    if not request.user.is_authenticated:
        # Rows of visitors who never come back are removed with the next sign-in.
        request.session.set_expiry(_AT_PROVIDER_S)
    callback = settings.SITE_URL + reverse("oidc-callback")
    try:
        answer: HttpResponse = _discovered().authorize_redirect(request, callback)
    except Unavailable as error:
        return _refuse(request, str(error), 503)
    return answer


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponse:
    """Begin a session for who comes back from the provider."""
    _require_provider()
    try:
        claims = _verified_claims(request)
        return _finish(request, claims)
    except Unavailable as error:
        return _refuse(request, str(error), 503)
    except (Forbidden, Conflict) as error:
        events.record(None, "account.sign-in-failed", f"at the provider: {error}")
        return _refuse(request, str(error), 403)


def _finish(request: HttpRequest, claims: dict[str, Any]) -> HttpResponse:
    after, connects = request.session.pop(_NEXT, ""), request.session.pop(_CONNECTS, None)
    user: Any = request.user
    if connects is None:
        request.session.set_expiry(None)
        # Factors beside the password are the provider's.
        return start_session(request, identities.sign_in(claims), after, is_code_needed=False)
    if user.pk != connects:
        raise Forbidden("another account has signed in here meanwhile; begin again")
    identities.connect(user, claims)
    return HttpResponseRedirect(reverse("account") + "?changed=connected")


@never_cache
@signed_in
@require_POST
def disconnect(request: HttpRequest) -> HttpResponse:
    """Remove the identities of the account."""
    try:
        identities.disconnect(request.user)
    except Conflict as error:
        return _refuse(request, str(error), 409)
    return HttpResponseRedirect(reverse("account") + "?changed=disconnected")


def _require_provider() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404("no provider is configured")


def _refuse(request: HttpRequest, reason: str, status: int) -> HttpResponse:
    context = {"section": "account", "reason": f"{reason[0].upper()}{reason[1:]}."}
    return render(request, "accounts/not_signed_on.html", context, status=status)


def _verified_claims(request: HttpRequest) -> dict[str, Any]:
    """The claims of the ID token for the code in the URL.

    Raise ``Forbidden`` where the provider refuses or anything of the reply is not valid.
    """
    # An extra: only where a provider is configured is it installed.
    from authlib.common.errors import AuthlibBaseError  # noqa: PLC0415
    from joserfc.errors import JoseError  # noqa: PLC0415
    from requests import RequestException  # noqa: PLC0415

    try:
        token = _discovered().authorize_access_token(request)
    except RequestException as error:
        raise _away(error) from error
    except (AuthlibBaseError, JoseError, ValueError, KeyError) as error:
        log.warning("a sign-on was refused: %s", error)
        raise Forbidden("the provider's reply is not valid, or it refused; begin again") from error
    if "userinfo" not in token:
        raise Forbidden("the provider does not say who signs in")
    return dict(token["userinfo"])


def _discovered() -> Any:
    """The client, once it knows the provider's addresses; raises ``Unavailable``."""
    from requests import RequestException  # noqa: PLC0415

    client = _client(settings.OIDC_ISSUER, settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET)
    try:
        known = client.load_server_metadata()
    except (RequestException, ValueError) as error:
        raise _away(error) from error
    if str(known.get("issuer", "")).rstrip("/") != settings.OIDC_ISSUER:
        _client.cache_clear()
        raise _away(f"it calls itself {known.get('issuer')!r}")
    offered = known.get("id_token_signing_alg_values_supported") or ["RS256"]
    known["id_token_signing_alg_values_supported"] = [x for x in offered if x in _ALGORITHMS]
    return client


def _away(reason: object) -> Unavailable:
    log.warning("the OpenID Connect provider cannot be used: %s", reason)
    return Unavailable("the sign-on provider does not answer; try again later")


@functools.lru_cache(maxsize=1)
def _client(issuer: str, client_id: str, secret: str) -> Any:
    from authlib.integrations.django_client import OAuth  # noqa: PLC0415

    return OAuth().register(
        "oidc",
        client_id=client_id,
        client_secret=secret or None,
        server_metadata_url=f"{issuer}/.well-known/openid-configuration",
        client_kwargs={
            "scope": "openid profile email",
            "code_challenge_method": "S256",
            "token_endpoint_auth_method": "client_secret_basic" if secret else "none",
            "default_timeout": _TIMEOUT_S,
        },
    )
