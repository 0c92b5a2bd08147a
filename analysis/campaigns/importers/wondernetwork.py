"""Import pings between the servers of WonderNetwork: averages of pairs, or hourly rows.

The daily files identify servers by number; a second file has the names. Timestamps give rounds.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.campaigns.importers.public_matrices import (
    pair_row,
    parse_rtt_ms,
    read_errors_as_bad_input,
)
from core.errors import BadInput
from core.files import open_text
from lake.campaigns import table_of

_AVERAGE_COLUMNS = ("rtt_avg_ms", "avg", "rtt_avg", "average")
_TIME_COLUMNS = ("timestamp", "time", "at")
Row = dict[str, Any]


def read_city_pings(
    path: Path, servers: Path | None = None, regions: Iterable[str] = (), round_s: int = 3600
) -> pa.Table:
    """Read rows of source, destination and average; only those to ``regions`` if given.

    Raise ``BadInput`` naming the line or column, or a region without pings.
    """
    wanted = set(regions)
    names = read_servers(servers) if servers else {}
    with read_errors_as_bad_input(path), open_text(path) as stream:
        rows = list(_rows(path, csv.DictReader(stream), names, wanted, round_s))
    lacking = wanted - {row["region"] for row in rows}
    if lacking:
        raise BadInput(f"no ping to {sorted(lacking)[0]!r}", field="destination")
    if not rows:
        raise BadInput(f"{path.name} holds no pings")
    return table_of("samples", rows)


def read_servers(path: Path) -> dict[str, str]:
    """Read the names of servers by number; raise ``BadInput``."""
    with read_errors_as_bad_input(path), open_text(path) as stream:
        reader = csv.DictReader(stream)
        if not {"id", "name"} <= set(reader.fieldnames or ()):
            raise BadInput(f"{path.name} needs the columns id and name", field="servers")
        return {row["id"]: row["name"] for row in reader}


def _rows(
    path: Path,
    lines: "csv.DictReader[str]",
    names: Mapping[str, str],
    wanted: set[str],
    round_s: int,
) -> Iterator[Row]:
    known = set(lines.fieldnames or ())
    average = next((name for name in _AVERAGE_COLUMNS if name in known), "")
    time_column = next((name for name in _TIME_COLUMNS if name in known), "")
    if not (average and {"source", "destination"} <= known):
        raise BadInput(f"{path.name} needs the columns source, destination and avg or rtt_avg_ms")
    for line in lines:
        try:
            source, target = (names.get(line[k], line[k]) for k in ("source", "destination"))
            if (not wanted or target in wanted) and source != target:
                yield _row(
                    source, target, line[average], line[time_column] if time_column else "", round_s
                )
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise BadInput(f"{path.name}: {error}", line=lines.line_num) from error


def _row(source: str, target: str, average: str, time: str, round_s: int) -> Row:
    at = _parse_time(time) if time else None
    own = {"round": int(at.timestamp()) // round_s if at else 0, "at": at}
    return pair_row(source, target, parse_rtt_ms(average.strip())) | own


def _parse_time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo else at.replace(tzinfo=UTC)
