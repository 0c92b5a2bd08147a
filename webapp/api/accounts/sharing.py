"""REST API v1: visibility and share links of surveys, campaigns and audits."""

from functools import partial
from operator import attrgetter
from typing import Annotated, Any

from django.http import Http404, HttpRequest
from ninja import Query, Status
from ninja.errors import HttpError

from webapp.api.framework.documents import survey_json
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, schema
from webapp.store.access import sharing
from webapp.store.access.visibility import may_see
from webapp.store.models import ShareLink, Survey
from webapp.store.surveys import selectors

router = Router(tags=["sharing"])


class Visibility(Body):
    """Whether the object is public."""

    public: bool


class NewLink(Body):
    """Lifetime of a link in days: 7, 30 or 365, or 0 until it is revoked."""

    days: Annotated[int, schema(enum=sharing.LIFETIME_DAYS)] = 30


def get_own_or_error(request: HttpRequest, kind: str, slug: str) -> sharing.Shareable:
    """Return an object of the requester; raise 403 for a visible object of others, else 404."""
    found = sharing.find_own(request.user, kind, slug)
    if found is not None:
        return found
    if may_see(kind, [slug], request.user):
        raise HttpError(403, f"only the owner of this {kind} may do this")
    raise Http404(f"there is no such {kind}")


def _link_document(request: HttpRequest, link: ShareLink) -> dict[str, Any]:
    path = sharing.path_of(link)
    return {
        "id": link.pk,
        # Empty once the secret key has changed.
        "link": request.build_absolute_uri(path) if path else "",
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "last_used_at": link.last_used_at,
    }


def _set_visibility(
    request: HttpRequest, kind: str, slug: str, change: Visibility
) -> sharing.Shareable:
    thing = get_own_or_error(request, kind, slug)
    if change.public:
        sharing.publish(thing, request.user)
    else:
        sharing.withdraw(thing, request.user)
    thing.refresh_from_db()
    return thing


def _list_links(request: HttpRequest, kind: str, slug: str, page: Page) -> Any:
    thing = get_own_or_error(request, kind, slug)
    return paginate(
        list(sharing.links_of(thing)), page, attrgetter("pk"), partial(_link_document, request)
    )


def _create_link(request: HttpRequest, kind: str, slug: str, asked: NewLink) -> Any:
    thing = get_own_or_error(request, kind, slug)
    link = sharing.issue(request.user, thing, asked.days)
    return Status(201, _link_document(request, link))


def _revoke_link(request: HttpRequest, kind: str, slug: str, number: int) -> Any:
    thing = get_own_or_error(request, kind, slug)
    if not sharing.links_of(thing).filter(pk=number).exists():
        raise Http404("there is no such link")
    sharing.revoke(request.user, number)
    return Status(204, None)


@router.put(
    "/surveys/{slug}/visibility",
    response={200: "surveys.Survey"},
    openapi_extra=ACCOUNT,
)
def change_survey_visibility(request: HttpRequest, slug: str, change: Visibility) -> Any:
    """Publish a survey or make it private again; its creator only."""
    found = _set_visibility(request, "survey", slug, change)
    return survey_json(selectors.row_of(Survey.objects.get(pk=found.pk)))


@router.put(
    "/measurements/{slug}/visibility",
    response={200: "measurements.CampaignVisibility"},
    openapi_extra=ACCOUNT,
)
def change_campaign_visibility(request: HttpRequest, slug: str, change: Visibility) -> Any:
    """Publish a campaign or make it private again; its creator only."""
    found = _set_visibility(request, "campaign", slug, change)
    return {"campaign": found.slug, "is_public": found.owner_id is None}


@router.put(
    "/audits/{slug}/visibility",
    response={200: "audits.AuditVisibility"},
    openapi_extra=ACCOUNT,
)
def change_audit_visibility(request: HttpRequest, slug: str, change: Visibility) -> Any:
    """Publish an audit or make it private again; its creator only."""
    found = _set_visibility(request, "audit", slug, change)
    return {"audit": found.slug, "is_public": found.owner_id is None}


def _add_link_operations(path: str, kind: str, shown: str) -> None:
    """Add ``list_KIND_links``, ``create_KIND_link`` and ``revoke_KIND_link`` below ``path``."""

    def list_links(request: HttpRequest, slug: str, page: Query[Page]) -> Any:
        return _list_links(request, kind, slug, page)

    def create_link(request: HttpRequest, slug: str, asked: NewLink) -> Any:
        return _create_link(request, kind, slug, asked)

    def revoke_link(request: HttpRequest, slug: str, number: int) -> Any:
        return _revoke_link(request, kind, slug, number)

    article = "an" if kind[0] in "aeiou" else "a"
    operations: tuple[tuple[Any, str, dict[int, str | None], str, str], ...] = (
        (
            list_links,
            "GET",
            {200: "Page[common.Link]"},
            f"list_{kind}_links",
            f"List the share links of {article} {kind}; its creator only.",
        ),
        (
            create_link,
            "POST",
            {201: "common.Link"},
            f"create_{kind}_link",
            f"Create a share link that gives read access to {shown} of the {kind}.",
        ),
        (revoke_link, "DELETE", {204: None}, f"revoke_{kind}_link", "Revoke a link."),
    )
    for view, method, response, name, description in operations:
        view.__name__, view.__doc__ = name, description
        router.add_api_operation(
            f"{path}/{{int:number}}" if method == "DELETE" else path,
            [method],
            view,
            response=response,
            openapi_extra=ACCOUNT,
        )


_add_link_operations("/surveys/{slug}/links", "survey", "all pages, tables and files")
_add_link_operations("/measurements/{slug}/links", "campaign", "all pages, tables and files")
_add_link_operations("/audits/{slug}/links", "audit", "the report and findings")
