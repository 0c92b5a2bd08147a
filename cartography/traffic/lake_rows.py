"""Rows of text as rows of the lake: typed, placed, clients hidden; what cannot be used is counted.

A row is refused only for what would make a count wrong. A time that is masked or damaged is no such
thing: the row counts, and belongs to no hour.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cartography.traffic.address_cache import AddressCache, LabelArrays
from cartography.traffic.anonymization import Pseudonymizer
from cartography.traffic.columns import OWN_COLUMNS, SIZES, Columns, read_transport, read_volume
from cartography.traffic.endpoints import Endpoints, LocalFlags, find_endpoints, text_column
from cartography.traffic.error_counts import KEPT_LINES, ErrorCounts
from cartography.traffic.text_columns import Mask, read_counts, read_hours
from lake.traffic import FLOW_SCHEMAS

NO_ADDRESS = "an end is not an address"
BAD_PORT = "not a port"
BAD_PROTOCOL = "unknown transport"
BAD_NUMBER = "a size is not a number"
_MAX_PORT = 65_535
_MASKED = r"^X*$"

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """What reading needs besides the rows."""

    atlas: LabelArrays
    addresses: AddressCache
    pseudonyms: Pseudonymizer
    log: int
    tally: ErrorCounts


@dataclass(frozen=True)
class TypedRows:
    """The accepted rows of a piece of a log: those for the lake, and what the account needs."""

    lake: pa.Table
    # Of every accepted row: its provider's number (-1 for none), whether that is a cloud, bytes.
    provider: NDArray[np.int8]
    is_cloud: Mask
    volume: pa.Array | None
    hours: pa.Array

    def __len__(self) -> int:
        return len(self.provider)


@dataclass(frozen=True)
class _Fields:
    """The columns of all rows of a piece that had to be read before any was accepted."""

    sides: Endpoints
    ports: list[pa.Array]
    sizes: dict[str, pa.Array]
    transport: pa.Array | None


def read_rows(kind: str, raw: pa.Table, reading: Reading) -> TypedRows:
    """Type, place and hide the rows of one kind; refused ones are tallied."""
    if kind == "x509":
        return _read_certificates(raw)
    fields, good = _read_fields(kind, raw, reading)
    atlas, label = reading.atlas, fields.sides.label[good]
    hours, is_cloud = read_hours(raw["ts"]), atlas.is_cloud[label]
    volume = read_volume(kind, fields.sizes)
    return TypedRows(
        _lake_rows(kind, raw, fields, reading, good[is_cloud], hours),
        atlas.provider[label],
        is_cloud,
        volume.take(pa.array(good)) if volume is not None else None,
        hours.take(pa.array(good)),
    )


def _read_certificates(raw: pa.Table) -> TypedRows:
    """Certificates have no ends; all of them are kept for the flows that showed them."""
    columns = OWN_COLUMNS["x509"](raw, {})
    nowhere = np.full(raw.num_rows, -1, dtype=np.int8)
    none = pa.nulls(raw.num_rows, pa.int32())
    return TypedRows(_fit("x509", columns), nowhere, nowhere == 0, None, none)


def _read_fields(kind: str, raw: pa.Table, reading: Reading) -> tuple[_Fields, Rows]:
    """What is read of all rows, and which rows are good."""
    sides = _find_endpoints(raw, reading)
    ports = [read_counts(raw[f"id.{end}_p"], _MAX_PORT) for end in ("orig", "resp")]
    sizes = {name: read_counts(raw[name]) for name in SIZES[kind]}
    transport = read_transport(raw)
    nowhere = np.zeros(raw.num_rows, dtype=bool)
    checks = [
        (NO_ADDRESS, ~sides.is_readable),
        (BAD_PORT, ports[0][1] | ports[1][1]),
        (BAD_NUMBER, reduce(np.logical_or, (bad for _, bad in sizes.values()), nowhere)),
    ]
    if transport is not None:
        checks.append((BAD_PROTOCOL, pc.is_null(transport).to_numpy(zero_copy_only=False)))
    good = _accept(raw["line"], checks, reading.tally)
    numbers = {name: values for name, (values, _) in sizes.items()}
    return _Fields(sides, [values for values, _ in ports], numbers, transport), good


def _find_endpoints(raw: pa.Table, reading: Reading) -> Endpoints:
    page, ends = reading.addresses.encode(raw["id.orig_h"], raw["id.resp_h"])
    stated = _read_local_flags(raw, "local_orig"), _read_local_flags(raw, "local_resp")
    return find_endpoints(page, ends, reading.atlas, stated, reading.addresses.is_named)


def _read_local_flags(raw: pa.Table, name: str) -> LocalFlags:
    """Read the log's flag of a local end: 1, 0, or -1 where it is missing."""
    if name not in raw.column_names:
        return np.full(raw.num_rows, -1, dtype=np.int8)
    text = pc.utf8_lower(raw[name].combine_chunks())
    yes = pc.is_in(text, value_set=pa.array(["t", "true"]))
    no = pc.is_in(text, value_set=pa.array(["f", "false"]))
    word = pc.if_else(yes, 1, pc.if_else(no, 0, -1))
    return np.asarray(word.to_numpy(zero_copy_only=False), dtype=np.int8)


def _accept(lines: pa.ChunkedArray, checks: Sequence[tuple[str, Mask]], tally: ErrorCounts) -> Rows:
    """The rows that pass every check; each other one is counted under its first reason."""
    left = np.ones(len(lines), dtype=bool)
    for reason, bad in checks:
        hit = np.flatnonzero(left & bad)
        tally.add(reason, lines.take(pa.array(hit[:KEPT_LINES])).to_pylist(), len(hit))
        left &= ~bad
    return np.flatnonzero(left)


def _lake_rows(
    kind: str, raw: pa.Table, fields: _Fields, reading: Reading, rows: Rows, hours: pa.Array
) -> pa.Table:
    """The rows with an end in a cloud."""
    chosen = pa.array(rows)
    columns = _endpoint_columns(fields, reading, rows)
    columns["hour"] = hours.take(chosen)
    if fields.transport is not None:
        columns["transport"] = fields.transport.take(chosen)
    sizes = {name: values.take(chosen) for name, values in fields.sizes.items()}
    columns |= OWN_COLUMNS[kind](raw.take(chosen), sizes)
    uids = raw["uid"].take(chosen).combine_chunks()
    columns["key"] = _keys(uids, columns, fields, rows)
    return _fit(kind, columns)


def _endpoint_columns(fields: _Fields, reading: Reading, rows: Rows) -> Columns:
    sides, atlas, page = fields.sides, reading.atlas, fields.sides.page
    label = sides.label[rows]
    at = pa.array(label)
    toward = pa.array(sides.is_toward[rows])
    origin, response = (port.take(pa.array(rows)) for port in fields.ports)
    return {
        "log": pa.array(np.full(len(rows), reading.log, dtype=np.int16)),
        "provider": pa.array(atlas.providers, pa.string()).take(pa.array(atlas.provider[label])),
        "region": atlas.regions.take(at),
        "kind": atlas.kinds.take(at),
        "toward": toward,
        "inside": pa.array(sides.is_inside[rows]),
        "client": text_column(
            sides.clients(rows), lambda n: reading.pseudonyms.hide(page.packed[n])
        ),
        "server": text_column(sides.servers(rows), page.texts.__getitem__),
        "port": pc.if_else(toward, response, origin),
    }


def _keys(uids: pa.Array, columns: Columns, fields: _Fields, rows: Rows) -> pa.Array:
    """Zeek's uid; where it is masked or missing, both ends with their ports and the transport."""
    masked = pc.fill_null(pc.match_substring_regex(uids, _MASKED), True)
    if not pc.any(masked).as_py():
        return uids
    origin, response = (port.take(pa.array(rows)) for port in fields.ports)
    other = pc.if_else(columns["toward"], origin, response)
    transport = columns.get("transport", pa.array(["tcp"] * len(uids), pa.string()))
    parts = [columns["client"], other.cast(pa.string()), columns["server"]]
    parts += [columns["port"].cast(pa.string()), transport]
    parts = [pc.fill_null(part, "") for part in parts]
    return pc.if_else(masked, pc.binary_join_element_wise(*parts, "|"), uids)


def _fit(kind: str, columns: Columns) -> pa.Table:
    """The columns in the lake's order and types."""
    schema = FLOW_SCHEMAS[kind]
    made = {}
    for field in schema:
        column = columns[field.name]
        if pa.types.is_dictionary(field.type):
            column = column.dictionary_encode()
        made[field.name] = column.cast(field.type)
    return pa.table(made, schema=schema)
