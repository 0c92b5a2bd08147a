"""Search a public network for probes in a worker, and store the answer.

No page and no call of the API waits for a network. Only probes of that answer are enlisted.
"""

import logging
from dataclasses import asdict
from typing import Any

from django.utils import timezone

from core.clock import Clock
from core.errors import Conflict, NephoscopeError
from tasks.networks import enlistment
from tasks.networks.enlistment import Wanted
from tasks.platform.app import AWAY, app, queue
from webapp.store.models import VantagePoint
from webapp.store.vantages import network_search
from webapp.store.vantages.network_search import Search

log = logging.getLogger(__name__)


def ask(wanted: Wanted) -> Search:
    """Leave the question to a worker; raises ``BadInput`` for what no network could have."""
    enlistment.check(wanted)
    search = network_search.create_search(asdict(wanted))
    try:
        queue(search_network, search["key"])
    except AWAY as error:
        log.warning("a question for %s waits for the broker: %s", wanted.network, error)
        search |= {"state": network_search.FAILED, "error": "no worker can be reached"}
        network_search.save(search)
    return search


@app.task(name="tasks.network_finds.look")
def search_network(key: str, clock: Clock | None = None) -> None:
    """Ask the network: first what may be spent, then where such probes are."""
    search = network_search.load(key)
    if search is None or search["state"] == network_search.READY:
        return
    wanted = Wanted(**search["wanted"])
    network_search.save(search | {"state": network_search.ASKING})
    search |= _credits(wanted.network, clock)
    network_search.save(search | {"state": network_search.ASKING})
    network_search.save(search | _places(wanted, clock) | {"said_at": timezone.now().isoformat()})


def _credits(network: str, clock: Clock | None) -> dict[str, Any]:
    try:
        return {"credits": enlistment.credits(network, clock)}
    except NephoscopeError as error:
        return {"credits_error": str(error)}


def _places(wanted: Wanted, clock: Clock | None) -> dict[str, Any]:
    try:
        found = enlistment.find_places(wanted, clock)
    except NephoscopeError as error:
        return {"state": network_search.FAILED, "error": str(error)}
    chosen = enlistment.spread(found, wanted.count)
    named = [{**p, "name": enlistment.name_of(wanted.network, p)} for p in chosen]
    return {"state": network_search.READY, "places": named, "matching": len(found)}


def enlist(search: Search, names: list[str] | None = None) -> list[VantagePoint]:
    """Vantage points at the places that were found, or at some of them; raises ``BadInput``."""
    if search["state"] != network_search.READY:
        raise Conflict("the network has not answered yet; ask again in a moment")
    places = search["places"]
    if names is not None:
        places = [p for p in places if p["name"] in set(names)]
    return enlistment.create_points(search["wanted"]["network"], places)
