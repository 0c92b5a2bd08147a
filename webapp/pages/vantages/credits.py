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
        balance = enlistment.credits(network)
    except NephoscopeError as error:
        return {**row, "text": f"the balance cannot be read now: {error}"}
    has = balance["credits"] if network == "atlas" else balance["free"] + (balance["credits"] or 0)
    # Free ones come back every hour, so that only a longer campaign can wait for them.
    return {**row, "text": spendable(balance), "is_short": has < need}


def spendable(balance: Mapping[str, Any]) -> str:
    """Credits that the network reports as available now."""
    if balance["network"] == "atlas":
        spent = formatting.count(balance["spent_a_day"])
        return f"the account has {formatting.count(balance['credits'])}, and spends {spent} a day"
    free, of = (formatting.count(balance[name]) for name in ("free", "free_limit"))
    credits = formatting.count(balance["credits"] or 0)
    return f"{free} of {of} free tests are left this hour, and {credits} credits"
