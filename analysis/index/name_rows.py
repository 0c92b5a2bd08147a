"""What was found of one name, from the few rows of its key.

The same relations as the queries of ``analysis.index.profiles``, for rows that were read from
sorted parts: DuckDB plans each query for longer than it runs over so few rows.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from analysis.deployment.dictionary import EDGE_LABELS

Row = dict[str, Any]


def select(
    lookups: pa.Table, placements: pa.Table, fronts: pa.Table
) -> tuple[list[Row], list[Row], list[Row]]:
    """(lookups, placements, fronts) of the name of all rows.

    One lookup per listed domain and type, that of the closest domain first; one placement per
    address and one front end per provider, label and instance, of the closest domain.
    """
    found = _with_times(lookups)
    asked = [row for row in found if row["type"] in ("A", "AAAA") and _is_name(row)]
    asked.sort(key=lambda row: (-len(row["domain"]), row["type"], *_nulls_last(row["at"])))
    front_rows = fronts.to_pylist()
    edges = {_front_key(row) for row in front_rows if row["label"] in EDGE_LABELS}
    places = [_sited(row, edges) for row in placements.to_pylist() if _is_in_domain(row)]
    ends = [row for row in front_rows if _is_in_domain(row)]
    return asked, _closest(places, _address), _closest(ends, _label)


def _with_times(lookups: pa.Table) -> list[Row]:
    place = lookups.schema.get_field_index("at")
    rows: list[Row] = lookups.remove_column(place).to_pylist()
    for row, at in zip(rows, lookups["at"].cast(pa.int64()).to_pylist(), strict=True):
        row["at"] = None if at is None else datetime.fromtimestamp(at / 1e6, UTC)
    return rows


def _is_in_domain(row: Row) -> bool:
    """``IN_DOMAIN``: a server may answer with what does not lie in the domain."""
    name, domain = row["name"], row["domain"]
    return bool(name == domain or name.endswith(f".{domain}"))


def _is_name(row: Row) -> bool:
    """``IS_NAME``, but for the type: not a query for a name server of the domain."""
    is_found = row["technique"] not in (None, "listed") or row["name"] == row["domain"]
    return is_found and _is_in_domain(row)


def _front_key(row: Row) -> tuple[str, str, str]:
    return row["domain"], row["name"], row["provider"]


def _sited(row: Row, edges: set[tuple[str, str, str]]) -> Row:
    """``SITED``: an address behind a CDN's front end does not determine a region."""
    is_edge = row["kind"] == "cloud" and row["provider"] is not None and _front_key(row) in edges
    return {**row, "kind": "cdn"} if is_edge else row


def _address(row: Row) -> tuple[Any, ...]:
    return (row["address"],)


def _label(row: Row) -> tuple[Any, ...]:
    return row["provider"], row["label"], row["instance"]


def _closest(rows: Iterable[Row], key: Callable[[Row], tuple[Any, ...]]) -> list[Row]:
    """One row per key, in the order of the keys: that of the longest domain."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        known = found.setdefault(key(row), row)
        if len(row["domain"]) > len(known["domain"]):
            found[key(row)] = row
    return [found[each] for each in sorted(found, key=lambda each: [*map(_nulls_last, each)])]


def _nulls_last(value: Any) -> tuple[bool, Any]:
    return value is None, "" if value is None else value
