"""REST API v1: who asks, and who else may see a survey."""

from typing import Any

from django.http import Http404, HttpRequest
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import ConfigDict

from webapp.api.documents import survey_json
from webapp.store import selectors, services, sharing

router = Router(tags=["account"])


class SurveyChange(Schema):
    """What may be changed of a survey: whether everybody sees it."""

    model_config = ConfigDict(extra="forbid")

    public: bool


@router.get("/account", response={200: dict})
def get_account(request: HttpRequest) -> Any:
    """Whose token or session this is, and what it may do; 401 without either."""
    if not request.user.is_authenticated:
        raise HttpError(401, "send a token as Authorization: Bearer …")
    token = getattr(request, "api_token", None)
    return {
        "name": request.user.get_username(),
        "token": None
        if token is None
        else {"name": token.name, "scope": token.scope, "expires_at": token.expires_at},
        "active_surveys": services.active_surveys(request.user),
    }


@router.put("/surveys/{slug}/visibility", response={200: dict})
def change_survey(request: HttpRequest, slug: str, change: SurveyChange) -> Any:
    """Publish a survey or make it private again; only for who made it."""
    campaign = sharing.made_by(request.user, slug)
    if campaign is None:
        if selectors.campaign(slug, request.user):
            raise HttpError(403, "only who made this survey may change who sees it")
        raise Http404("there is no such survey")
    if change.public:
        sharing.publish(campaign)
    else:
        sharing.withdraw(campaign)
    campaign.refresh_from_db()
    return survey_json(selectors.row_of(campaign))
