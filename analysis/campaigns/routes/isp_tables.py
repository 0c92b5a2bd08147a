"""Routes with their ISPs go in; the tables of ISP diversity of a campaign come out."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from analysis.campaigns.routes import diversity

Row = dict[str, Any]


def isp_tables(routes: pa.Table, names: Mapping[int, str]) -> dict[str, list[Row]]:
    """Table 14 by zone and by region, shares, what one failing ISP cuts off, and the unknown.

    ``names`` are those of ASes, as far as they are known.
    """
    inbound = "to" in routes["direction"].unique().to_pylist()
    whole = diversity.totals(routes)
    by_reason = whole.pop("by_reason")
    return {
        "isp-zones": [_named(r, names, "largest") for r in diversity.table(routes)],
        "isp-regions": [
            _named(r, names, "largest") for r in diversity.table(routes, diversity.REGION)
        ],
        "isp-shares": [_named(r, names, "isp") for r in diversity.shares(routes)],
        "isp-failures": [_named(r, names, "isp") for r in diversity.failures(routes)],
        "isp-unknown": diversity.reasons(routes, diversity.REGION),
        "isp-totals": [{**whole, "inbound": inbound, **by_reason}],
    }


def _named(row: Row, names: Mapping[int, str], field: str) -> Row:
    return {**row, "name": names.get(row[field], "") if row[field] is not None else ""}
