"""Compare the zones of a region by the domains in them, from the table of a survey's zones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from core.statistics.intervals import DEVIATIONS_95, wilson_interval
from webapp.store.surveys import selectors

Row = dict[str, Any]
UNKNOWN = "unknown"


def crowded_zones(known: Iterable[Row]) -> list[Row]:
    """Return those of the known zones in regions with two or more, the most domains first.

    ``share`` is that of the region's uses of known zones by domains, with the 95 % interval
    ``low`` to ``high``; ``even`` is one by the number of zones. A zone is ``crowded`` where the
    whole interval is above ``even``. Domains, not names, are counted as independent.
    """
    regions: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in known:
        regions[row["provider"], row["region"]].append(row)
    rows = [row for own in regions.values() if len(own) > 1 for row in _of_region(own)]
    return sorted(rows, key=lambda r: (-r["domains"], r["provider"], r["region"], r["zone"]))


def known_zones(slug: str) -> list[Row]:
    """Return the rows of identified zones that have a domain."""
    found = selectors.report(slug, "zone-usage")
    if found is None:
        return []
    rows = (dict(zip(found.columns, cells, strict=True)) for cells in found.rows)
    return [row for row in rows if row["zone"] != UNKNOWN and row["domains"]]


def _of_region(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Compare the zones of one region."""
    rows = list(rows)
    uses = sum(row["domains"] for row in rows)
    even = 1 / len(rows)
    made = []
    for row in rows:
        share = row["domains"] / uses
        low, high = wilson_interval(share, uses, DEVIATIONS_95)
        kept = {k: row[k] for k in ("provider", "region", "zone", "domains", "subdomains")}
        figures = {"share": share, "low": low, "high": high, "even": even, "n": uses}
        made.append({**kept, "only_here": row["only_here"], **figures, "crowded": low > even})
    return made
