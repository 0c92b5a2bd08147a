"""Schemas of probe samples and paths in the lake, and tables built from plain rows.

Imported measurements have the same columns as those of the installation's vantage points.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

# These columns have few distinct values and millions of rows.
_TEXT = pa.dictionary(pa.int32(), pa.string())
HOP = pa.struct([("ttl", pa.uint8()), ("address", _TEXT), ("rtt_ms", pa.float32())])
_HOP = ("ttl", "address", "rtt_ms")
# Where a measurement belongs: one slot of one campaign, and the two ends.
_PLACE: list[tuple[str, pa.DataType]] = [
    ("round", pa.int32()),
    ("vantage", _TEXT),
    ("target", _TEXT),
    # The cloud end; empty where it is unknown.
    ("provider", _TEXT),
    ("region", _TEXT),
    ("zone", _TEXT),
    ("at", pa.timestamp("us", tz="UTC")),
    ("probe", _TEXT),
    ("status", _TEXT),
    # Which of a campaign's activities it was, in which slot of its window, and how many seconds
    # after the moment that was planned; empty for measurements of others.
    ("activity", _TEXT),
    ("slot", pa.int32()),
    ("late_s", pa.float32()),
]
CAMPAIGN_SCHEMAS: dict[str, pa.Schema] = {
    # One row per run of a probe that gives values: milliseconds or bytes per second, by the probe.
    # What was sent and gave no value is lost.
    "samples": pa.schema(
        [
            *_PLACE,
            ("sent", pa.int32()),
            ("values", pa.list_(pa.float32())),
            ("reason", pa.string()),
            ("detail", pa.string()),
        ]
    ),
    # One row per traceroute; one hop per packet, without an address after a time-out.
    "paths": pa.schema(
        [
            *_PLACE,
            # Whether the cloud is where the path begins ("from") or where it leads ("to").
            ("direction", _TEXT),
            ("source", pa.string()),
            ("destination", pa.string()),
            ("flow", pa.int32()),
            ("reached", pa.bool_()),
            ("hops", pa.list_(HOP)),
        ]
    ),
}
_DEFAULTS: dict[str, Any] = {
    "round": 0,
    "provider": "",
    "region": "",
    "zone": "",
    "status": "OK",
    "reason": "",
    "detail": "",
    "direction": "",
    "source": "",
    "destination": "",
    "flow": 0,
    "activity": "",
}


def table_of(kind: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Build a table of ``samples`` or ``paths``; missing fields of a row are empty."""
    schema = CAMPAIGN_SCHEMAS[kind]
    kept = list(rows)
    columns = [[r.get(n, _DEFAULTS.get(n)) for r in kept] for n in schema.names]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def fill_table(kind: str, found: pa.Table, extra: Mapping[str, Any]) -> pa.Table:
    """A table of ``samples`` or ``paths`` from columns that are there; the rest are empty."""
    schema = CAMPAIGN_SCHEMAS[kind]
    arrays = []
    for field in schema:
        column = extra.get(field.name)
        if column is None and field.name in found.column_names:
            column = found[field.name]
        if column is None:
            column = pa.repeat(pa.scalar(_DEFAULTS.get(field.name)), found.num_rows)
        arrays.append(_cast_column(column, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _cast_column(column: Any, kind: pa.DataType) -> Any:
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return coded.cast(kind)


def rows_of_result(
    result: Mapping[str, Any], place: Mapping[str, Any]
) -> tuple[str, list[dict[str, Any]]]:
    """Return the table name and the rows of one probe result in its JSON form.

    ``place`` identifies the run: round, vantage, target, provider, region, zone, direction. A
    multipath traceroute has one row per flow.
    """
    head = {
        **place,
        "at": round(result["at"] * 1e6),
        "probe": result["probe"],
        "status": str(result["status"]),
    }
    if "replies" in result:
        return "paths", [{**head, **own} for own in _flows_of(result)]
    detail = {
        k: v for k, v in result.items() if k not in _OTHER_COLUMNS and v not in (None, "", ())
    }
    own = {name: result[name] for name in ("sent", "values", "reason")}
    return "samples", [{**head, **own, "detail": json.dumps(detail, sort_keys=True)}]


# Fields with separate columns, and those that repeat the values.
_OTHER_COLUMNS = frozenset(
    {
        "at",
        "probe",
        "status",
        "reason",
        "sent",
        "lost",
        "values",
        "target",
        "attempts",
        "transits_ms",
    }
)


def _flows_of(result: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    flows: dict[int, list[Mapping[str, Any]]] = {}
    for reply in result["replies"]:
        flows.setdefault(reply["flow"], []).append(reply)
    for flow, replies in sorted(flows.items() or [(0, [])]):
        replies.sort(key=lambda reply: reply["ttl"])
        yield {
            "source": result["source"],
            "destination": result["address"],
            "flow": flow,
            "reached": any(reply["kind"] == "target" for reply in replies),
            "hops": [
                {name: reply[name] for name in ("ttl", "address", "rtt_ms")} for reply in replies
            ],
        }
