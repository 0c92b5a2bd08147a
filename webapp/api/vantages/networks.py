"""REST API v1: search probes of public measurement networks and enlist them."""

from typing import Any, Literal

from django.http import Http404, HttpRequest, HttpResponse
from ninja import Field, Status

from tasks.networks import search as finding
from tasks.networks.enlistment import MOST_PLACES, Wanted
from webapp.api.framework.authentication import require_operator
from webapp.api.framework.routers import OPERATOR, Router
from webapp.api.framework.strict_bodies import Body
from webapp.api.vantages.routes import Country
from webapp.store.vantages import network_search
from webapp.store.vantages.documents import document
from webapp.store.vantages.network_search import Search

router = Router(tags=["vantage points"])


class WantedIn(Body):
    """Criteria of a search; every field is an option of ``manage.py networks``."""

    network: Literal["globalping", "atlas"]
    country: Country = ""
    city: str = Field("", max_length=80)
    asn: int = Field(0, ge=0, lt=2**32)
    count: int = Field(20, ge=1, le=MOST_PLACES)


class NamesIn(Body):
    """Names of found places to enlist; all without names."""

    names: list[str] | None = None


@router.post(
    "/networks/finds",
    response={202: "vantages.NetworkSearch"},
    openapi_extra=OPERATOR,
)
def create_network_search(request: HttpRequest, wanted: WantedIn, response: HttpResponse) -> Any:
    """Start a search for probes and credits of a network; poll ``Location``."""
    require_operator(request)
    search = finding.ask(Wanted(**wanted.dict()))
    response["Location"] = f"/api/v1/networks/finds/{search['key']}"
    return Status(202, search)


@router.get(
    "/networks/finds/{name}",
    response={200: "vantages.NetworkSearch"},
    openapi_extra=OPERATOR,
)
def get_network_search(request: HttpRequest, name: str) -> Any:
    """Return the results so far: credits first, then places."""
    return _get_search(request, name)


@router.post(
    "/networks/finds/{name}/enlist",
    response={201: "vantages.EnlistedPoints"},
    operation_id="enlist_probes",
    openapi_extra=OPERATOR,
)
def enlist(request: HttpRequest, name: str, chosen: NamesIn) -> Any:
    """Create vantage points from the found places; no credits are spent."""
    points = finding.enlist(_get_search(request, name), chosen.names)
    rows = [document(p, operator=True) for p in points]
    return Status(201, {"count": len(rows), "results": rows})


def _get_search(request: HttpRequest, key: str) -> Search:
    require_operator(request)
    search = network_search.load(key)
    if search is None:
        raise Http404("there is no such search, or it is older than a day")
    return search
