"""The tables of ISP diversity of a campaign."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from analysis.campaigns.routes import diversity

Row = dict[str, Any]


def isp_tables(routes: pa.Table, names: Mapping[int, str]) -> dict[str, list[Row]]:
    """Return IMC'13 Table 14 by zone and region, ISP shares, failures, and unknown routes.

    ``names`` maps AS numbers to names, as far as known.
    """
    inbound = "to" in routes["direction"].unique().to_pylist()
    whole = diversity.route_totals(routes)
    by_reason = whole.pop("by_reason")
    return {
        "isp-zones": [_named(r, names, "largest") for r in diversity.diversity_table(routes)],
        "isp-regions": [
            _named(r, names, "largest") for r in diversity.diversity_table(routes, diversity.REGION)
        ],
        "isp-shares": [_named(r, names, "isp") for r in diversity.isp_shares(routes)],
        "isp-failures": [_named(r, names, "isp") for r in diversity.isp_failures(routes)],
        "isp-unknown": diversity.unknown_reasons(routes, diversity.REGION),
        "isp-totals": [{**whole, "inbound": inbound, **by_reason}],
    }


def _named(row: Row, names: Mapping[int, str], field: str) -> Row:
    return {**row, "name": names.get(row[field], "") if row[field] is not None else ""}
