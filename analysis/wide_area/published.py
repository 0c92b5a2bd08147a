"""Tables that others publish become samples: matrices of round trips, and speed tests.

What matrices look like is known where regions are chosen; here their values become rows.
"""

import csv
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.matrices import open_text, read_city_pairs, read_square
from analysis.regions.samples import Samples
from core.errors import BadInput
from lake.measurements import fill_table, table_of

# A day: what is longer is not a round trip in milliseconds.
_LONGEST_MS = 86_400_000.0
_TEXT = pa.dictionary(pa.int32(), pa.string())


def samples_table(samples: Samples, probe: str, *, scale: float = 1.0) -> pa.Table:
    """One row per value of a matrix: clients are vantage points; gaps are rows that lost all."""
    shape = samples.values.shape
    region, client, period = (index.ravel() for index in np.indices(shape, np.int32))
    values = samples.values.ravel() * scale
    heard = ~np.isnan(values)
    offsets = np.concatenate([[0], np.cumsum(heard)]).astype(np.int32)
    regions = _coded(region, samples.regions)
    rows = pa.table({
        "round": period,
        "vantage": _coded(client, samples.clients),
        "target": regions,
        "region": regions,
        "sent": np.ones(len(values), np.int32),
        "values": pa.ListArray.from_arrays(offsets, pa.array(values[heard].astype(np.float32))),
    })  # fmt: skip
    statuses = _coded(np.where(heard, 0, 1).astype(np.int32), ("OK", "TIMEOUT"))
    extra = {
        "probe": pa.repeat(pa.scalar(probe), len(values)),
        "status": statuses,
        "at": pa.nulls(len(values), pa.timestamp("us", tz="UTC")),
    }
    return fill_table("samples", rows, extra)


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    """Files that are not there, or are cut where they are packed, are told as bad input."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError, csv.Error) as error:
        raise BadInput(f"{path.name} cannot be read: {error}") from error


def read_planetlab(paths: Iterable[Path], *, seconds: bool = False) -> pa.Table:
    """Square tables, one round each, every node both ends; raises ``BadInput``.

    ``seconds`` is for tables in seconds, such as Seattle's. Nodes to themselves are left out.
    """
    tables = []
    for number, path in enumerate(paths):
        with _sound(path):
            samples = read_square(path)
        values = samples.values.copy()
        np.einsum("iij->ij", values)[:] = np.nan
        one = Samples(samples.regions, samples.clients, (str(number),), values)
        table = samples_table(one, "matrix-rtt", scale=1e3 if seconds else 1.0)
        kept = table.filter(pa.array(np.not_equal(table["vantage"].to_pylist(),
                                                  table["region"].to_pylist())))  # fmt: skip
        rounds = pa.array(np.full(len(kept), number, np.int32))
        tables.append(kept.set_column(0, "round", rounds))
    if not tables:
        raise BadInput("there are no tables")
    return pa.concat_tables(tables)


def read_wondernetwork(path: Path, regions: Iterable[str]) -> pa.Table:
    """Pings between cities, to the cities that stand for regions; raises ``BadInput``."""
    with _sound(path):
        return samples_table(read_city_pairs(path, regions), "matrix-rtt")


def read_cloudping(path: Path, provider: str = "aws") -> pa.Table:
    """Regions by regions as JSON, from the outer to the inner; raises ``BadInput``."""
    try:
        found = json.loads(path.read_bytes())
        rows = list(_cells(found, provider))
    except (ValueError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise BadInput(f"{path.name} is no matrix of regions: {error}") from error
    return table_of("samples", rows)


def _cells(found: Mapping[str, Any], provider: str) -> Iterator[dict[str, Any]]:
    for source, row in found.items():
        for target, value in row.items():
            values = [] if value is None else [_round_trip(value)]
            yield {
                "vantage": f"{provider}/{source}",
                "target": target,
                "provider": provider,
                "region": target,
                "probe": "matrix-rtt",
                "status": "OK" if values else "TIMEOUT",
                "sent": 1,
                "values": values,
            }


def _round_trip(value: Any) -> float:
    """Milliseconds; raises ``ValueError`` for what no packet can take."""
    found = float(value)
    if not 0.0 <= found <= _LONGEST_MS:
        raise ValueError(f"{value!r} is no round trip")
    return found


# Columns of speed tests under the names that exports give them; the first that is there counts.
_MLAB = {
    "at": ("TestTime", "test_time", "timestamp", "date"),
    "vantage": ("client", "client_name", "ClientASN", "client_asn", "client_country", "country"),
    "region": ("site", "server_site", "Site", "server", "metro"),
    "rate": ("MeanThroughputMbps", "mean_throughput_mbps", "download_mbps"),
    "rtt": ("MinRTT", "min_rtt", "min_rtt_ms"),
    "loss": ("LossRate", "loss_rate"),
}


def read_mlab(path: Path, round_s: int = 900) -> tuple[pa.Table, pa.Table]:
    """Speed tests as CSV: samples of throughput (bytes per second) and of least round trips (ms).

    Raises ``BadInput`` naming the line or column.
    """
    rates, rtts = [], []
    with _sound(path), open_text(path) as stream:
        reader = csv.DictReader(stream)
        columns = {k: _column(k, reader.fieldnames or ()) for k in _MLAB}
        for number, line in enumerate(reader, 2):
            try:
                head = _test(line, columns, round_s)
                rate, rtt, loss = (_value(line, columns[k]) for k in ("rate", "rtt", "loss"))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
                raise BadInput(str(error), line=number) from error
            detail = json.dumps({"loss_rate": loss[0]}) if loss else ""
            rate_bytes = [r * 125_000 for r in rate]
            rates.append(
                {**head, "probe": "mlab-throughput", "values": rate_bytes, "detail": detail}
            )
            rtts.append({**head, "probe": "mlab-min-rtt", "values": rtt})
    return table_of("samples", rates), table_of("samples", rtts)


def _column(kind: str, names: Iterable[str]) -> str:
    known = set(names)
    for name in _MLAB[kind]:
        if name in known:
            return name
    if kind in ("loss", "rtt"):
        return ""
    raise BadInput(f"none of the columns {', '.join(_MLAB[kind])} is there", field=kind)


def _test(line: Mapping[str, str], columns: Mapping[str, str], round_s: int) -> dict[str, Any]:
    text = line[columns["at"]]
    at = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
    if at.tzinfo is None:
        at = datetime.fromisoformat(at.isoformat() + "+00:00")
    return {
        "round": int(at.timestamp()) // round_s,
        "vantage": line[columns["vantage"]],
        "target": line[columns["region"]],
        "region": line[columns["region"]],
        "at": at,
        "sent": 1,
    }


def _value(line: Mapping[str, str], column: str) -> list[float]:
    text = line.get(column) or ""
    found = [float(text)] if text else []
    # No link carries as many Mbit/s, and no packet travels as long.
    if not all(0.0 <= value <= _LONGEST_MS for value in found):
        raise ValueError(f"{text!r} is no measured value")
    return found


def _coded(codes: Any, names: tuple[str, ...]) -> pa.Array:
    texts = pa.array(names, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts).cast(_TEXT)
