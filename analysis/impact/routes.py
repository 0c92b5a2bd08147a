"""Parse route shares by downstream ISP, from a CSV or the JSON of ``isp-diversity``.

A share is the part of a region's routes that leave it by that ISP.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from analysis.impact.csv_tables import read_rows
from core.errors import BadInput

# Route shares by downstream ISP and region.
Routes = Mapping[str, Mapping[str, float]]
# Shares may add up to a little more than one, since they come rounded.
ROUNDING = 1e-3


def read_routes(data: bytes) -> dict[str, dict[str, float]]:
    """Read ``region,isp,share`` or the JSON of ``isp-diversity``; raise BadInput."""
    if data.lstrip()[:1] == b"{":
        return _mean_of_zones(_of_document(data))
    rows = read_rows(data, "isps", ("region", "isp", "share"), ("zone",))
    found = []
    for row in rows:
        share = row.number("share", 0.0, 1.0)
        if share is None:
            raise BadInput("isps: share is empty", line=row.line)
        found.append((row.need("region"), row.text("zone"), row.need("isp"), share))
    return _mean_of_zones(found)


def _of_document(data: bytes) -> list[tuple[str, str, str, float]]:
    try:
        regions: list[dict[str, Any]] = json.loads(data)["regions"]
        return [
            (row["region"], row.get("zone") or "", _name(isp), float(isp["share"]))
            for row in regions
            for isp in row["isps"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"isps: not a document of isp-diversity: {error}") from error


def _name(isp: dict[str, Any]) -> str:
    name = str(isp.get("name") or "").strip()
    return f"AS{isp['asn']} {name}".strip()


def _mean_of_zones(rows: Iterable[tuple[str, str, str, float]]) -> dict[str, dict[str, float]]:
    """Return the mean of a region's zones, since a region uses them alike as far as is known."""
    zones: dict[str, dict[str, dict[str, float]]] = {}
    for region, zone, isp, share in rows:
        isps = zones.setdefault(region, {}).setdefault(zone, {})
        if isp in isps:
            raise BadInput(f"isps: {isp!r} is listed twice in {region!r}", field="isps")
        isps[isp] = share
    found: dict[str, dict[str, float]] = {}
    for region, parts in zones.items():
        for zone, isps in parts.items():
            if sum(isps.values()) > 1 + ROUNDING:
                place = f"{region} {zone}".strip()
                raise BadInput(f"isps: the shares of {place!r} are over 1", field="isps")
            for isp, share in isps.items():
                known = found.setdefault(isp, {})
                known[region] = known.get(region, 0.0) + share / len(parts)
    return found
