"""What a plan costs at public networks, beside what may still be spent there."""

from collections.abc import Mapping
from typing import Any

from core.errors import NephoscopeError
from tasks.networks import enlistment
from webapp.pages.ui import formatting

_NAMES = {"atlas": "RIPE Atlas", "globalping": "Globalping"}


def costs(credits: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row per network that a plan uses, asked now: the need, and what is there for it."""
    return [_cost(network, need) for network, need in credits.items() if need]


def _cost(network: str, need: int) -> dict[str, Any]:
    row = {"name": _NAMES.get(network, network), "need": need, "is_short": False}
    try:
        told = enlistment.credits(network)
    except NephoscopeError as error:
        return {**row, "text": f"what may be spent cannot be told now: {error}"}
    has = told["credits"] if network == "atlas" else told["free"] + (told["credits"] or 0)
    # Free ones come back every hour, so that only a longer campaign can wait for them.
    return {**row, "text": spendable(told), "is_short": has < need}


def spendable(told: Mapping[str, Any]) -> str:
    """Credits that the network reports as available now."""
    if told["network"] == "atlas":
        spent = formatting.count(told["spent_a_day"])
        return f"the account has {formatting.count(told['credits'])}, and spends {spent} a day"
    free = f"{formatting.count(told['free'])} of {formatting.count(told['free_limit'])} free tests"
    return f"{free} are left this hour, and {formatting.count(told['credits'] or 0)} credits"
