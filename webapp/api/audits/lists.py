"""REST API v1: saved domain lists of an account."""

from operator import attrgetter
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Query, Status
from ninja.errors import HttpError

from webapp.api.audits.documents import list_json
from webapp.api.framework.documents import tagged
from webapp.api.framework.files import download
from webapp.api.framework.paging import Page, paginate
from webapp.api.framework.routers import ACCOUNT, Router
from webapp.api.framework.strict_bodies import Body, Domains, Name, list_bytes
from webapp.store.access.visibility import owner_of
from webapp.store.audits import documents, lists
from webapp.store.models import SavedList
from webapp.store.requests.body_progress import get_body_progress

router = Router(tags=["domain lists"])


class DomainListIn(Body):
    """A domain list: names, or the text of a list in any form that a survey takes."""

    name: Name
    domains: Domains


class DomainListChange(Body):
    """What changes of a domain list; fields that are left out stay."""

    name: Name | None = None
    domains: Domains | None = None


def require_account(request: HttpRequest) -> Any:
    """The account of the requester; 401 without one."""
    user = owner_of(request.user)
    if user is None:
        raise HttpError(401, "send a token: lists, policies and suppressions belong to an account")
    return user


@router.get(
    "/domain-lists",
    response={200: "Page[audits.DomainList]"},
    operation_id="list_domain_lists",
)
def list_lists(request: HttpRequest, page: Query[Page]) -> Any:
    """Own domain lists by name; empty without an account."""
    rows = documents.owned_by(SavedList, request.user)
    return paginate(rows, page, attrgetter("slug"), list_json)


@router.post(
    "/domain-lists",
    response={201: "audits.DomainList"},
    operation_id="create_domain_list",
    openapi_extra=ACCOUNT,
)
def create_list(request: HttpRequest, given: DomainListIn, response: HttpResponse) -> Any:
    """Save a domain list; every line that cannot be used is in ``rejected`` with the reason."""
    owner, gone = require_account(request), get_body_progress(request).gone
    document = list_json(lists.create_list(owner, given.name, list_bytes(given.domains), gone))
    response["Location"] = document["links"]["self"]
    return Status(201, document)


@router.get(
    "/domain-lists/{slug}",
    response={200: "audits.DomainList", 304: None},
    operation_id="get_domain_list",
    openapi_extra=ACCOUNT,
)
def get_list(request: HttpRequest, slug: str) -> Any:
    """Counts and version of a list; ``ETag`` changes when they do."""
    return tagged(request, list_json(_own(request, slug)))


@router.get(
    "/domain-lists/{slug}/domains.txt",
    response={200: "text/plain"},
    operation_id="export_domain_list",
    openapi_extra=ACCOUNT,
)
def get_domains(request: HttpRequest, slug: str) -> Any:
    """The list as it was given."""
    row = _own(request, slug)
    return download(f"{slug}.txt", "text/plain; charset=utf-8", lists.read_list(row))


@router.patch(
    "/domain-lists/{slug}",
    response={200: "audits.DomainList"},
    operation_id="change_domain_list",
    openapi_extra=ACCOUNT,
)
def change_list(request: HttpRequest, slug: str, change: DomainListChange) -> Any:
    """Rename a list or replace its domains, which raises its version."""
    row = _own(request, slug)
    data = None if change.domains is None else list_bytes(change.domains)
    lists.change_list(row, change.name, data, get_body_progress(request).gone)
    return list_json(row)


@router.delete(
    "/domain-lists/{slug}",
    response={204: None},
    operation_id="delete_domain_list",
    openapi_extra=ACCOUNT,
)
def delete_list(request: HttpRequest, slug: str) -> Any:
    """Delete a list; audits of it stay."""
    lists.delete_list(_own(request, slug))
    return Status(204, None)


def _own(request: HttpRequest, slug: str) -> SavedList:
    row = documents.find(SavedList, slug, request.user)
    if row is None:
        raise Http404("you have no such domain list")
    return row
