"""REST API v1: who may see a survey or a measurement campaign, and the links that show it."""

from functools import partial
from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest
from ninja import Query, Status
from ninja.errors import HttpError

from webapp.api.framework.documents import survey_json
from webapp.api.framework.paging import Page, paged
from webapp.api.framework.problems import Problem
from webapp.api.framework.routers import Router
from webapp.api.framework.strict_bodies import Body
from webapp.store.access import sharing
from webapp.store.access.visibility import may_see
from webapp.store.models import ShareLink, Survey
from webapp.store.surveys import selectors

router = Router(tags=["sharing"])
_ERRORS = {401: Problem, 403: Problem, 404: Problem, 422: Problem}


class Visibility(Body):
    """Whether everybody sees it."""

    public: bool


class NewLink(Body):
    """How many days a link lives: 7, 30 or 365, or 0 until it is taken back."""

    days: int = 30


def made_or_refused(request: HttpRequest, kind: str, slug: str) -> sharing.Thing:
    """A thing that the asker made; raises ``HttpError`` 403 for what all see, else ``Http404``."""
    found = sharing.made_by(request.user, kind, slug)
    if found is not None:
        return found
    if may_see(kind, [slug], request.user):
        raise HttpError(403, f"only who made this {kind} may do this")
    raise Http404(f"there is no such {kind}")


def _document(request: HttpRequest, link: ShareLink) -> dict[str, Any]:
    path = sharing.path_of(link)
    return {
        "id": link.pk,
        # Empty once the secret key has changed.
        "link": request.build_absolute_uri(path) if path else "",
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "last_used_at": link.last_used_at,
    }


def _change(request: HttpRequest, kind: str, slug: str, change: Visibility) -> sharing.Thing:
    thing = made_or_refused(request, kind, slug)
    if change.public:
        sharing.publish(thing)
    else:
        sharing.withdraw(thing)
    thing.refresh_from_db()
    return thing


def _list(request: HttpRequest, kind: str, slug: str, page: Page) -> Any:
    thing = made_or_refused(request, kind, slug)
    return paged(list(sharing.links_of(thing)), page, attrgetter("pk"), partial(_document, request))


def _make(request: HttpRequest, kind: str, slug: str, asked: NewLink) -> Any:
    thing = made_or_refused(request, kind, slug)
    link = sharing.issue(request.user, thing, asked.days)
    return Status(201, _document(request, link))


def _take_back(request: HttpRequest, kind: str, slug: str, number: int) -> Any:
    thing = made_or_refused(request, kind, slug)
    if not sharing.links_of(thing).filter(pk=number).exists():
        raise Http404("there is no such link")
    sharing.revoke(request.user, number)
    return Status(204, None)


@router.put("/surveys/{slug}/visibility", response={200: dict, **_ERRORS})
def change_survey(request: HttpRequest, slug: str, change: Visibility) -> Any:
    """Publish a survey or make it private again; only for who made it."""
    found = _change(request, "survey", slug, change)
    return survey_json(selectors.row_of(Survey.objects.get(pk=found.pk)))


@router.get("/surveys/{slug}/links", response={200: dict, **_ERRORS})
def list_survey_links(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """Links that show a survey to whoever has them; only for who made it."""
    return _list(request, "survey", slug, page)


@router.post("/surveys/{slug}/links", response={201: dict, **_ERRORS})
def make_survey_link(request: HttpRequest, slug: str, asked: NewLink) -> Any:
    """A new link; whoever has it reads every page, table and file of the survey."""
    return _make(request, "survey", slug, asked)


@router.delete("/surveys/{slug}/links/{int:number}", response={204: None, **_ERRORS})
def take_survey_link_back(request: HttpRequest, slug: str, number: int) -> Any:
    """End a link for good."""
    return _take_back(request, "survey", slug, number)


@router.put("/measurements/{slug}/visibility", response={200: dict, **_ERRORS})
def change_measurement(request: HttpRequest, slug: str, change: Visibility) -> Any:
    """Publish a campaign or make it private again; only for who made it."""
    found = _change(request, "campaign", slug, change)
    return {"campaign": found.slug, "is_public": found.owner_id is None}


@router.get("/measurements/{slug}/links", response={200: dict, **_ERRORS})
def list_measurement_links(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
    """Links that show a campaign to whoever has them; only for who made it."""
    return _list(request, "campaign", slug, page)


@router.post("/measurements/{slug}/links", response={201: dict, **_ERRORS})
def make_measurement_link(request: HttpRequest, slug: str, asked: NewLink) -> Any:
    """A new link; whoever has it reads every page, table and file of the campaign."""
    return _make(request, "campaign", slug, asked)


@router.delete("/measurements/{slug}/links/{int:number}", response={204: None, **_ERRORS})
def take_measurement_link_back(request: HttpRequest, slug: str, number: int) -> Any:
    """End a link for good."""
    return _take_back(request, "campaign", slug, number)
