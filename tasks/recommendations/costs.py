"""Prices of a question and its Pareto front of cost, value and value after a loss, as documents."""

from dataclasses import asdict, replace
from typing import Any

from analysis.impact.costs.pareto_fronts import Costing, find_front
from analysis.impact.costs.price_lists import PriceList, listed_prices
from analysis.impact.prices import Prices
from analysis.optimization import Study
from tasks.recommendations.request import Known, Question

# Sets of a front that a document lists, the cheapest first; all of them are counted.
MOST_LISTED = 1000


def find_prices(known: Known, *, use_listed: bool) -> Prices | None:
    """Return the prices of the regions: the listed ones where asked for, then a list of the user's,
    then the table of prices. None where none were brought."""
    if known.price_list is None and not use_listed:
        return known.prices
    found = _lists(known).prices_of(known.samples.regions)
    own = known.prices or Prices()
    return Prices(
        {**found.running, **own.running},
        {**found.internet, **own.internet},
        {**found.between, **own.between},
    )


def _lists(known: Known) -> PriceList:
    listed = listed_prices()
    return listed if known.price_list is None else listed.replaced(known.price_list)


def describe_prices(question: Question) -> dict[str, Any] | None:
    """Return the dates and sources of listed prices in use; None where none are."""
    known = question.known
    if known.price_list is None and not question.front and question.joint_cost is None:
        return None
    lists = _lists(known)
    found = {name: row for name in known.samples.regions if (row := lists.find(name))}
    own = known.prices.running if known.prices else {}
    used = {name: row for name, row in found.items() if name not in own}
    sources = {(row.provider, row.source, row.as_of): row.is_approximate for row in used.values()}
    return {
        "currency": lists.currency,
        "sources": [
            {"provider": provider, "source": source, "as_of": as_of.isoformat()}
            for provider, source, as_of in sorted(sources)
        ],
        "approximate": sorted(name for name, row in used.items() if row.is_approximate),
        "own_table": sorted(own),
    }


def describe_front(study: Study, question: Question) -> dict[str, Any] | None:
    """Return the Pareto front over the sizes of the question; None where it was not asked for."""
    if not question.front:
        return None
    prices = find_prices(question.known, use_listed=True) or Prices()
    costing = Costing(prices, question.traffic, question.budget)
    # The third axis is the loss of a region, so that the second is the value without one.
    asked = replace(question.constraints, survive_loss=False)
    found = find_front(study, question.ks, asked, costing)
    return {
        "n": len(found.sets),
        "evaluated": found.evaluated,
        "proven": True,
        "budget": question.budget,
        "unpriced": list(found.unpriced),
        "sizes": list(question.ks),
        "rows": [{"k": len(one.regions), **asdict(one)} for one in found.sets[:MOST_LISTED]],
    }
