"""Range tables, placements and changes as the documents that the console gives."""

import ipaddress
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import date
from itertools import repeat
from typing import Any

from cartography.ranges.diff import Change
from core.records import Placement
from webapp.store.models import RangeTable
from webapp.store.ranges.fetching import last_results


def lookup_rows(
    placements: Sequence[Placement], origins: Sequence[tuple[int, ...]] | None
) -> Iterator[dict[str, Any]]:
    """Lines of ``ranges lookup``: an address that is none gets an ``error``; ``origins`` is
    there where a route table is."""
    for place, asns in zip(placements, origins or repeat(None), strict=False):
        row = _lookup_row(place)
        yield row if asns is None else {**row, "origins": list(asns)}


def _lookup_row(placement: Placement) -> dict[str, Any]:
    row = {
        "address": placement.address,
        "provider": placement.provider,
        "service": placement.service,
        "services": list(placement.services),
        "region": placement.region,
        "border_group": placement.border_group,
        "prefix": placement.prefix,
        "as_of": str(placement.as_of) if placement.as_of else None,
        "kind": str(placement.kind),
        "region_as_published": placement.region_as_published,
    }
    if placement.provider is None and not _is_address(placement.address):
        row["error"] = "not an IP address"
    return row


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def table_row(table: RangeTable) -> dict[str, Any]:
    """One table of ``ranges list``."""
    return {
        "provider": table.provider,
        "variant": table.variant,
        "as_of": str(table.as_of),
        "origin": table.origin,
        "sha256": table.sha256,
        **table.counts,
    }


def tables_with_age(today: date) -> list[dict[str, Any]]:
    """The newest table of each provider and variant, with its age, and each provider's requests
    without success."""
    newest = {
        (row.provider, row.variant): row
        for row in RangeTable.objects.filter(origin="").order_by("as_of", "imported_at", "id")
    }
    failing = [visit for visit in last_results() if visit.n_failures]
    return [
        {
            "provider": row.provider,
            "variant": row.variant,
            "as_of": row.as_of,
            "age_days": (today - row.as_of).days,
            "entries": row.counts.get("entries", 0),
            "failing": [visit for visit in failing if visit.provider == row.provider],
        }
        for _, row in sorted(newest.items())
    ]


def diff_document(old: RangeTable, new: RangeTable, changes: Sequence[Change]) -> dict[str, Any]:
    """The document of ``ranges diff``."""
    return {
        "provider": new.provider,
        "variant": new.variant,
        "old": str(old.as_of),
        "new": str(new.as_of),
        "counts": dict(Counter(str(change.kind) for change in changes)),
        "changes": [asdict(change) for change in changes],
    }
