"""REST API v1: the account of the requester."""

from typing import Any

from django.http import HttpRequest
from ninja.errors import HttpError

from webapp.api.framework.routers import ACCOUNT, Router
from webapp.store.access import quotas

router = Router(tags=["account"])


@router.get(
    "/account",
    response={200: "service.Account"},
    openapi_extra=ACCOUNT,
)
def get_account(request: HttpRequest) -> Any:
    """Return the account and scope of the token or session; 401 without either."""
    if not request.user.is_authenticated:
        raise HttpError(401, "send a token as Authorization: Bearer …")
    token = getattr(request, "api_token", None)
    return {
        "name": request.user.get_username(),
        "token": None
        if token is None
        else {
            "name": token.name,
            "scope": token.scope,
            "subjects": token.subjects,
            "expires_at": token.expires_at,
        },
        "active_surveys": quotas.active_surveys(request.user),
    }
