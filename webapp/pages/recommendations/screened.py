"""Screened machines in the regions of a set: how many were good, from the pools of the reader."""

from collections.abc import Mapping, Sequence
from typing import Any

from tasks.screening.good_shares import find_region_rows
from webapp.pages.screening.views import format_share


def find_screened(user: Any, members: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return rows of the regions with screened machines, and the codes of the regions without.

    ``members`` have the provider and the code of each region of the set.
    """
    pairs = [(str(m["provider"]), str(m["code"])) for m in members]
    known = find_region_rows(user, pairs)
    return {
        "rows": [format_share(known[pair]) for pair in pairs if pair in known],
        "without": [code for provider, code in pairs if (provider, code) not in known],
    }
