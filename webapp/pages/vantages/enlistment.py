"""Probes of public networks as vantage points: which are looked for, what was found, and taking it.

A worker asks the network, credits first; the page shows how far that is and never waits itself.
"""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core.errors import BadInput
from tasks.networks import enlistment
from tasks.networks import search as finding
from webapp.pages.vantages.credits import spendable
from webapp.pages.vantages.formatting import SOURCES
from webapp.pages.vantages.forms import EnlistForm
from webapp.pages.vantages.views import SECTION, operators_only
from webapp.store.vantages import network_search
from webapp.store.vantages.network_search import Search

# (network, the setting with its key, where keys are made, what measuring there costs)
_NETWORKS = (
    (
        "globalping",
        "NEPHOSCOPE_GLOBALPING_TOKEN",
        "dash.globalping.io",
        "One test a slot. The free ones of the hour are used first, also without a key.",
    ),
    (
        "atlas",
        "NEPHOSCOPE_ATLAS_KEY",
        "atlas.ripe.net/keys",
        "Two credits a packet: a ping of five costs 10, a traceroute of three a hop 60. "
        "Nothing can be created without a key.",
    ),
)


@operators_only
@never_cache
@require_http_methods(["GET", "POST"])
def search(request: HttpRequest) -> HttpResponse:
    """What is looked for; sent, a worker asks the network."""
    form = EnlistForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            search = finding.ask(form.wanted)
        except BadInput as error:
            form.add_error(error.field if error.field in form.fields else None, str(error))
        else:
            return HttpResponseRedirect(reverse("found-vantage-points", args=[search["key"]]))
    networks = [
        {
            "name": SOURCES[name],
            "key": key,
            "place": place,
            "price": price,
            "has_key": enlistment.has_key(name),
        }
        for name, key, place, price in _NETWORKS
    ]
    context = {"section": SECTION, "form": form, "networks": networks}
    status = 422 if form.errors else 200
    return render(request, "vantages/enlist.html", context, status=status)


@operators_only
@never_cache
@require_http_methods(["GET", "POST"])
def found(request: HttpRequest, key: str) -> HttpResponse:
    """How far the question is; what was found, with what may be spent; sent, it is taken."""
    search = network_search.load(key)
    if search is None:
        raise Http404("there is no such search, or it is older than a day")
    refused = ""
    if request.method == "POST":
        try:
            points = finding.enlist(search, request.POST.getlist("places"))
        except BadInput:
            refused = "Choose one place at least."
        else:
            source = search["wanted"]["network"]
            query = f"?source={source}&enlisted={len(points)}"
            return HttpResponseRedirect(reverse("vantage-points") + query)
    status = 422 if refused else 200
    return render(request, "vantages/found.html", _context(search, refused), status=status)


def _context(search: Search, refused: str) -> dict[str, Any]:
    wanted = search["wanted"]
    chosen = {"country": wanted["country"].upper(), "city": wanted["city"]}
    where = [v for v in chosen.values() if v] + ([f"AS{wanted['asn']}"] if wanted["asn"] else [])
    return {
        "section": SECTION,
        "find": search,
        "network": SOURCES[wanted["network"]],
        "where": ", ".join(where),
        "said_at": parse_datetime(search["said_at"]) if search["said_at"] else None,
        "spendable": spendable(search["credits"]) if search["credits"] else "",
        "is_waiting": search["state"] in (network_search.WAITING, network_search.ASKING),
        "refused": refused,
    }
