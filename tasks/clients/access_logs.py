"""Count the clients of access logs by the address tables of this installation.

No address is stored: what leaves are counts of cells with enough different clients.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from cartography.access_logs.cells import MIN_CLIENTS
from cartography.access_logs.counting import KINDS, ClientCounter, ClientCounts
from core.errors import BadInput
from webapp.store.ranges import asn_choice, geolocation
from webapp.store.ranges.compiled import origin_table_of

# Of an upload, unpacked; the command reads files of any size.
MAX_UPLOAD_BYTES = 256 * 1024 * 1024
__all__ = ["KINDS", "MIN_CLIENTS", "count_files", "count_upload", "describe", "summary_lines"]


def count_files(paths: Sequence[Path], as_of: date | None = None) -> dict[str, Any]:
    """Return the document of files of any length; raise ``BadInput`` naming file and line."""
    counter, tables = _counter(as_of)
    for path in paths:
        try:
            counter.read(path)
        except BadInput as error:
            raise BadInput(f"{path.name}: {error}" if len(paths) > 1 else str(error)) from error
    return describe(counter.counts(), tables)


def count_upload(data: bytes, name: str, max_bytes: int | None = None) -> dict[str, Any]:
    """Return the document of an upload; raise ``BadInput`` naming line and reason."""
    counter, tables = _counter(None)
    counter.read_bytes(data, name, max_bytes or MAX_UPLOAD_BYTES)
    return describe(counter.counts(), tables)


def _counter(as_of: date | None) -> tuple[ClientCounter, dict[str, str | None]]:
    row, places = geolocation.table_in_force(as_of)
    chosen = [asn_choice.choose(as_of, family) for family in (4, 6)]
    origins = [origin_table_of(choice.table) for choice in chosen if choice is not None]
    route_day = next((str(choice.table.as_of) for choice in chosen if choice), None)
    return ClientCounter(places, origins), {"places": str(row.as_of), "routes": route_day}


def describe(counts: ClientCounts, tables: Mapping[str, str | None]) -> dict[str, Any]:
    """Return what was counted as a JSON document; ``weights`` are those of each kind of cell."""
    located = sum(counts.countries.values())
    n_read = sum(file.n_read for file in counts.files)
    return {
        "files": [
            {
                "name": file.name,
                "form": file.form,
                "lines": file.n_lines,
                "read": file.n_read,
                "wrong": file.wrong,
                "damage": file.damage,
            }
            for file in counts.files
        ],
        "requests": n_read,
        "located": located,
        "unmatched": counts.unmatched,
        "withheld": counts.withheld,
        "min_clients": MIN_CLIENTS,
        "tables": dict(tables),
        "weights": {kind: _ordered(counts.weights(kind)) for kind in KINDS},
    }


def summary_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a document holds, in sentences, without the weights."""
    for file in found["files"]:
        yield f"{file['name']}: {file['form']}, {file['read']:,} of {file['lines']:,} lines read"
        for reason, row in file["wrong"].items():
            lines = ", ".join(map(str, row["first_lines"]))
            yield f"  {row['count']:,} lines: {reason}; the first: {lines}"
        if file["damage"]:
            yield f"  {file['damage']}"
    yield (
        f"{found['located']:,} of {found['requests']:,} requests located; {found['unmatched']:,} "
        f"in no table of addresses; {found['withheld']:,} of countries with fewer than "
        f"{found['min_clients']} different clients"
    )
    routes = found["tables"]["routes"]
    yield f"countries as of {found['tables']['places']}, " + (
        f"networks as of {routes}" if routes else "no networks: there is no route table"
    )


def _ordered(weights: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(weights.items(), key=lambda row: (-row[1], row[0])))
