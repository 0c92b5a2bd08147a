"""Schemas of the lake's tables, and the way from records to columns."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from core.records import DomainOutcome, Front, Lookup, NameServerPlace, Placement

_RECORD = pa.struct(
    [("name", pa.string()), ("type", pa.string()), ("ttl", pa.int64()), ("data", pa.string())]
)
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
    # One row per question whose name exists or whose question failed: the raw observation.
    "lookups": pa.schema(
        [
            ("domain", pa.string()),
            ("name", pa.string()),
            ("type", pa.string()),
            ("status", pa.string()),
            ("technique", pa.string()),
            ("answers", pa.list_(_RECORD)),
            ("authorities", pa.list_(_RECORD)),
            ("resolver", pa.string()),
            ("protocol", pa.string()),
            ("attempts", pa.int32()),
            ("rtt_ms", pa.float64()),
            ("at", pa.timestamp("us", tz="UTC")),
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
            ("answers", pa.list_(_RECORD)),
            ("resolver", pa.string()),
            ("protocol", pa.string()),
            ("attempts", pa.int32()),
            ("rtt_ms", pa.float64()),
            ("at", pa.timestamp("us", tz="UTC")),
        ]
    ),
}


def rows_of_lookups(lookups: Iterable[Lookup]) -> list[dict[str, Any]]:
    """Rows of ``lookups``, in the order given."""
    return [
        {
            **lookup.answer.as_json(),
            "at": datetime.fromtimestamp(lookup.answer.at, UTC),
            "domain": lookup.domain,
            "technique": str(lookup.technique),
            "status": str(lookup.answer.status),
        }
        for lookup in lookups
    ]


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
