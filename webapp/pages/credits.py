"""What a plan costs at public networks, beside what may still be spent there."""

from collections.abc import Mapping
from typing import Any

from core.errors import NephoscopeError
from tasks import network_places
from webapp.pages import words

_NAMES = {"atlas": "RIPE Atlas", "globalping": "Globalping"}


def costs(credits: Mapping[str, int]) -> list[dict[str, Any]]:
    """One row per network that a plan uses, asked now: the need, and what is there for it."""
    return [_cost(network, need) for network, need in credits.items() if need]


def _cost(network: str, need: int) -> dict[str, Any]:
    row = {"name": _NAMES.get(network, network), "need": need, "is_short": False}
    try:
        told = network_places.credits(network)
    except NephoscopeError as error:
        return {**row, "text": f"what may be spent cannot be told now: {error}"}
    if network == "atlas":
        has = told["credits"]
        spent = words.count(told["spent_a_day"])
        text = f"the account has {words.count(has)}, and spends {spent} a day"
        return {**row, "text": text, "is_short": has < need}
    own = told["credits"] or 0
    free = f"{words.count(told['free'])} of {words.count(told['free_limit'])} free tests"
    text = f"{free} are left this hour, and {words.count(own)} credits"
    # Free ones come back every hour, so that only a longer campaign can wait for them.
    return {**row, "text": text, "is_short": told["free"] + own < need}
