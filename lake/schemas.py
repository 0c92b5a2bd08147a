"""Schemas of the lake's tables, and the way from records to columns."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from core.records import DomainOutcome, Front, Lookup, NameServerPlace, Placement
from lake import columns

_PLACEMENT = [
    ("address", pa.string()),
    ("provider", pa.string()),
    ("service", pa.string()),
    ("services", pa.list_(pa.string())),
    ("region", pa.string()),
    ("border_group", pa.string()),
    ("prefix", pa.string()),
    ("as_of", pa.date32()),
    ("kind", pa.string()),
    ("region_as_published", pa.string()),
]
SCHEMAS: dict[str, pa.Schema] = {
    # One row per question of an existing name, and per failed question: the raw observation.
    "lookups": pa.schema(
        [
            ("domain", pa.string()),
            ("name", pa.string()),
            ("type", pa.string()),
            ("status", pa.string()),
            ("technique", pa.string()),
            ("answers", pa.list_(columns.RECORD)),
            ("authorities", pa.list_(columns.RECORD)),
            ("resolver", pa.string()),
            ("protocol", pa.string()),
            ("attempts", pa.int32()),
            ("rtt_ms", pa.float64()),
            ("at", pa.timestamp("us", tz="UTC")),
            ("name_id", pa.int64()),
            ("ipv4", columns.IPV4),
            ("ipv6", columns.IPV6),
        ]
    ),
    # One row per domain asked.
    "domains": pa.schema(
        [
            ("domain", pa.string()),
            ("rank", pa.int64()),
            ("transfer", pa.string()),
            ("wildcard", pa.bool_()),
            ("asked", pa.int64()),
            ("found", pa.int64()),
            ("nxdomain", pa.int64()),
            ("nodata", pa.int64()),
            ("wildcard_filtered", pa.int64()),
            ("failed", pa.list_(pa.struct([("status", pa.string()), ("count", pa.int64())]))),
            ("queries", pa.int64()),
            ("name_servers", pa.list_(pa.string())),
        ]
    ),
    # One row per (name, address) of every name with an address.
    "placements": pa.schema(
        [("domain", pa.string()), ("name", pa.string()), *_PLACEMENT],
    ),
    # One row per (name, label, instance).
    "fronts": pa.schema(
        [
            ("domain", pa.string()),
            ("name", pa.string()),
            ("provider", pa.string()),
            ("label", pa.string()),
            ("rule", pa.string()),
            ("evidence", pa.string()),
            ("instance", pa.string()),
        ]
    ),
    # One row per (domain, name server, address); the address is empty when there is none.
    "servers": pa.schema(
        [("domain", pa.string()), ("server", pa.string()), ("status", pa.string()), *_PLACEMENT],
    ),
    # One row per cloud-using name and vantage: the second pass, failures included.
    "vantage_lookups": pa.schema(
        [
            ("domain", pa.string()),
            ("vantage", pa.string()),
            ("name", pa.string()),
            ("type", pa.string()),
            ("status", pa.string()),
            ("answers", pa.list_(columns.RECORD)),
            ("resolver", pa.string()),
            ("protocol", pa.string()),
            ("attempts", pa.int32()),
            ("rtt_ms", pa.float64()),
            ("at", pa.timestamp("us", tz="UTC")),
        ]
    ),
    # One row per question of an audit (CAA, DS, MX of a listed domain), denials included.
    "audit_lookups": pa.schema(
        [
            ("domain", pa.string()),
            ("name", pa.string()),
            ("type", pa.string()),
            ("status", pa.string()),
            ("answers", pa.list_(columns.RECORD)),
            ("resolver", pa.string()),
            ("protocol", pa.string()),
            ("attempts", pa.int32()),
            ("rtt_ms", pa.float64()),
            ("at", pa.timestamp("us", tz="UTC")),
        ]
    ),
    # One row per address with an imported availability zone.
    "zones": pa.schema(
        [
            ("address", pa.string()),
            ("region", pa.string()),
            ("zone", pa.string()),
            ("method", pa.string()),
            ("confidence", pa.float64()),
            ("reason", pa.string()),
            # Votes, round trips and margins as JSON, and when the newest of them was observed.
            ("evidence", pa.string()),
            ("observed_at", pa.timestamp("us", tz="UTC")),
        ]
    ),
    # One row per domain and country of its customers, with the country's weight: brought too.
    "customers": pa.schema(
        [("domain", pa.string()), ("country", pa.string()), ("weight", pa.float64())]
    ),
}
# A survey's files have the addresses as text too; parts, which are many, do not repeat them.
FILE_SCHEMAS = {
    **SCHEMAS,
    "lookups": SCHEMAS["lookups"].append(pa.field("addresses", columns.ADDRESSES)),
}
# Tables that are attached to a survey from elsewhere; no shard of the manifest represents them.
IMPORTED_TABLES = frozenset({"zones", "customers", "audit_lookups"})


def table_of_lookups(lookups: Iterable[Lookup], first_id: int = 0) -> pa.Table:
    """The part of ``lookups``, by domain and name; names get numbers, from ``first_id`` on."""
    rows = sorted(lookups, key=_place)
    if not rows:
        return SCHEMAS["lookups"].empty_table()
    answers = [lookup.answer for lookup in rows]
    names, types, statuses, found, authorities, *rest = zip(*answers, strict=True)
    resolvers, protocols, attempts, rtts_ms, times = rest
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(name, first_id + len(numbers)) for name in names]
    text = (
        [lookup.domain for lookup in rows],
        names,
        types,
        statuses,
        [str(lookup.technique) for lookup in rows],
    )
    arrays = [
        *(pa.array(column, pa.string()) for column in text),
        columns.sections_column(found),
        columns.sections_column(authorities),
        *(pa.array(column, pa.string()) for column in (resolvers, protocols)),
        pa.array(attempts, pa.int32()),
        pa.array(rtts_ms, pa.float64()),
        columns.times_column(times),
        pa.array(ids, pa.int64()),
        columns.ipv4_column(found),
        columns.ipv6_column(found),
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMAS["lookups"])


def _place(lookup: Lookup) -> tuple[str, str, str]:
    return lookup.domain, lookup.answer.name, lookup.answer.type


def rows_of_domains(outcomes: Iterable[DomainOutcome]) -> list[dict[str, Any]]:
    """Rows of ``domains``."""
    names = SCHEMAS["domains"].names
    return [
        {
            **{name: getattr(outcome, name) for name in names},
            "failed": [{"status": status, "count": n} for status, n in outcome.failed],
            "name_servers": list(outcome.name_servers),
        }
        for outcome in outcomes
    ]


def row_of_placement(placement: Placement) -> dict[str, Any]:
    """The columns that every placed address has."""
    return {
        **{name: getattr(placement, name) for name, _ in _PLACEMENT},
        "services": list(placement.services),
        "kind": str(placement.kind),
    }


def rows_of_placements(placed: Iterable[tuple[str, str, Placement]]) -> list[dict[str, Any]]:
    """Rows of ``placements`` from (domain, name, placement)."""
    return [
        {"domain": domain, "name": name, **row_of_placement(placement)}
        for domain, name, placement in placed
    ]


def rows_of_fronts(fronts: Iterable[tuple[str, Front]]) -> list[dict[str, Any]]:
    """Rows of ``fronts`` from (domain, front)."""
    names = SCHEMAS["fronts"].names[1:]
    return [
        {"domain": domain, **{name: getattr(front, name) for name in names}}
        for domain, front in fronts
    ]


def rows_of_servers(places: Iterable[NameServerPlace]) -> list[dict[str, Any]]:
    """Rows of ``servers``."""
    return [
        {
            "domain": place.domain,
            "server": place.server,
            "status": str(place.status),
            **row_of_placement(place.placement),
        }
        for place in places
    ]
