"""The sentence over each traffic table: a finding with its number, never a label."""

from collections.abc import Mapping
from typing import Any

from core.report_tables import Table
from core.wording import Portion, percent, provider_name, share_of

_NOTHING = "No flow that a client inside opened towards a cloud was seen"
Rows = list[dict[str, Any]]


def find_headlines(tables: Mapping[str, Table]) -> dict[str, str]:
    """A sentence for each table."""
    rows = {
        table_id: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table_id, table in tables.items()
    }
    made = {
        "traffic-clouds": _clouds(rows["traffic-clouds"]),
        "traffic-protocols": _protocols(rows["traffic-protocols"]),
        "traffic-domains": _domains(rows["traffic-domains"]),
        "traffic-evidence": _evidence(rows["traffic-evidence"]),
        "traffic-directions": _directions(rows["traffic-directions"]),
        "traffic-regions": _regions(rows["traffic-regions"]),
    }
    return {table_id: made[table_id] for table_id in tables}


def _measure(rows: Rows) -> str:
    """Return bytes, or flows where no log has bytes."""
    return "bytes" if any(row["bytes"] for row in rows) else "flows"


def _clouds(rows: Rows) -> str:
    *clouds, total = rows
    if not total["flows"]:
        return _NOTHING
    by = _measure(clouds)
    first = max(clouds, key=lambda row: row[by])
    who = provider_name(first["provider"])
    share_text = _share(first[f"{by}_share"], by, total["flows"])
    return f"{share_text} the {by} towards clouds go to {who}"


def _protocols(rows: Rows) -> str:
    own = [row for row in rows if row["provider"] == "total"]
    if not any(row["flows"] for row in own):
        return _NOTHING
    by = _measure(own)
    web = sum(row[f"{by}_share"] or 0 for row in own if row["protocol"] in ("http", "https"))
    tls = sum(row[f"{by}_share"] or 0 for row in own if row["protocol"] == "https")
    flows = sum(row["flows"] for row in own)
    whole = None if by == "bytes" else flows
    return f"{_share(web, by, flows)} the {by} are HTTP or HTTPS, {share_of(tls, whole)} are HTTPS"


def _domains(rows: Rows) -> str:
    if not rows:
        return "No HTTP or HTTPS flow towards a cloud names its domain"
    if not any(row["bytes"] for row in rows):
        first = max(rows, key=lambda row: row["flows"])
        return f"{first['domain']} has the most HTTP(S) flows; no log tells their bytes"
    first = max(rows, key=lambda row: row["bytes"])
    return f"{first['domain']} alone has {percent(first['bytes_share'])} of the HTTP(S) bytes"


def _evidence(rows: Rows) -> str:
    known = ("host", "server name", "certificate name", "alternative name")
    flows = sum(row["flows"] for row in rows)
    if not flows:
        return "No HTTP or HTTPS flow towards a cloud was seen"
    named = sum(row["flows"] for row in rows if row["evidence"] in known)
    part = Portion(named, flows, "HTTP(S) flow", "HTTP(S) flows")
    return part.sentence("tells the domain that it is for", "tell the domain that they are for")


def _directions(rows: Rows) -> str:
    flows = sum(row["flows"] for row in rows)
    if not flows:
        return "No flow with an end in a cloud was seen"
    counted = sum(row["flows"] for row in rows if row["counted"])
    part = Portion(counted, flows, "flow with a cloud", "flows with a cloud")
    return part.sentence("was opened by a client inside", "were opened by clients inside")


def _regions(rows: Rows) -> str:
    placed = [row for row in rows if row["region"]]
    if not placed:
        return "No flow went to a block that its provider assigns to a region"
    by = _measure(placed)
    first = max(placed, key=lambda row: row[by])
    where = f"{first['region']} of {provider_name(first['provider'])}"
    share = first[f"{by}_share"]
    whole = round(first["flows"] / share) if share else None
    return f"{where} has the most: {_share(share, by, whole)} that cloud's {by}"


def _share(value: float, by: str, flows: int | None) -> str:
    """``3 of`` or ``97.2 % of``; bytes are always given as per cent."""
    return f"{share_of(value, None if by == 'bytes' else flows)} of"
