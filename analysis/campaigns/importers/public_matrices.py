"""Import published matrices of round-trip times and lists of pairs as samples.

The matrix formats are parsed by ``optimization.files.matrices``; here their values become rows.
"""

import csv
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from analysis.optimization.files.matrices import read_square
from analysis.optimization.model.samples import Samples
from core.errors import BadInput
from core.files import open_text
from lake.campaigns import fill_table, table_of

# A day: longer values are not round-trip times in milliseconds.
MAX_RTT_MS = 86_400_000.0
_TEXT = pa.dictionary(pa.int32(), pa.string())
Cell = tuple[str, str, Any]


def samples_table(samples: Samples, probe: str, *, scale: float = 1.0) -> pa.Table:
    """Return one row per value of a matrix: clients are vantage points; gaps are lost samples."""
    shape = samples.values.shape
    region, client, period = (index.ravel() for index in np.indices(shape, np.int32))
    values = samples.values.ravel() * scale
    # Some tables mark a missing value by a negative one.
    answered = np.isfinite(values) & (values >= 0)
    offsets = np.concatenate([[0], np.cumsum(answered)]).astype(np.int32)
    regions = _coded(region, samples.regions)
    rows = pa.table(
        {
            "round": period,
            "vantage": _coded(client, samples.clients),
            "target": regions,
            "region": regions,
            "sent": np.ones(len(values), np.int32),
            "values": pa.ListArray.from_arrays(
                offsets, pa.array(values[answered].astype(np.float32))
            ),
        }
    )
    statuses = _coded(np.where(answered, 0, 1).astype(np.int32), ("OK", "TIMEOUT"))
    extra = {
        "probe": pa.repeat(pa.scalar(probe), len(values)),
        "status": statuses,
        "at": pa.nulls(len(values), pa.timestamp("us", tz="UTC")),
    }
    return fill_table("samples", rows, extra)


@contextmanager
def read_errors_as_bad_input(path: Path) -> Iterator[None]:
    """Convert errors of missing, truncated or corrupt files to ``BadInput``."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, OSError, csv.Error) as error:
        raise BadInput(f"{path.name} cannot be read: {error}") from error


def read_planetlab(paths: Iterable[Path], *, scale: float = 1.0) -> pa.Table:
    """Read square tables, one round each, every node both ends; raise ``BadInput``.

    ``scale`` converts values to milliseconds; Seattle's are seconds. The diagonal is left out.
    """
    tables = []
    for number, path in enumerate(paths):
        with read_errors_as_bad_input(path):
            samples = read_square(path)
        values = samples.values.copy()
        np.einsum("iij->ij", values)[:] = np.nan
        one = Samples(samples.regions, samples.clients, (str(number),), values)
        table = samples_table(one, "matrix-rtt", scale=scale)
        kept = table.filter(
            pa.array(np.not_equal(table["vantage"].to_pylist(), table["region"].to_pylist()))
        )
        rounds = pa.array(np.full(len(kept), number, np.int32))
        tables.append(kept.set_column(0, "round", rounds))
    if not tables:
        raise BadInput("there are no tables")
    return pa.concat_tables(tables)


def read_pairs(path: Path, *, scale: float = 1.0) -> pa.Table:
    """Read lines of source, destination and round trip, as of King and Meridian.

    ``scale`` converts values to milliseconds; a missing or negative value is a lost sample. Lines
    that only name a node, a heading and the diagonal are left out. Raise ``BadInput``.
    """
    with read_errors_as_bad_input(path), open_text(path) as stream:
        rows = [row for n, line in enumerate(stream, 1) if (row := _pair(n, line, scale))]
    if not rows:
        raise BadInput(f"{path.name} holds no pairs: give source, destination and round-trip time")
    return table_of("samples", rows)


def _pair(number: int, line: str, scale: float) -> dict[str, Any] | None:
    words = line.replace(",", " ").replace(";", " ").replace('"', " ").split()
    if not words or words[0].startswith("#") or words[0] == "node":
        return None
    if len(words) != 3:
        raise BadInput("source, destination and round-trip time are needed", line=number)
    try:
        value = parse_rtt_ms(float(words[2]) * scale, least=-MAX_RTT_MS)
    except ValueError as error:
        if number == 1:
            return None  # a heading
        raise BadInput(f"{words[2]!r} is not a round-trip time", line=number) from error
    is_self = words[0] == words[1]
    return None if is_self else pair_row(words[0], words[1], value if value and value > 0 else None)


def read_cloudping(path: Path, provider: str = "aws") -> pa.Table:
    """Read a matrix of regions by regions, source first; raise ``BadInput``.

    As objects in an object, with or without a frame (``data``), as a list of regions with their
    ``averages``, or as CSV with the names in its first line and column.
    """
    with read_errors_as_bad_input(path), open_text(path) as stream:
        text = stream.read()
    try:
        cells = _cells_of(json.loads(text)) if text.lstrip()[:1] in "[{" else _cells_of_csv(text)
        rows = [pair_row(f"{provider}/{s}", t, parse_rtt_ms(v), provider) for s, t, v in cells]
    except (
        ValueError,
        AttributeError,
        TypeError,
        OverflowError,
        RecursionError,
        KeyError,
        csv.Error,
    ) as error:
        raise BadInput(f"{path.name} is not a matrix of regions: {error}") from error
    if not rows:
        raise BadInput(f"{path.name} is not a matrix of regions: it holds no values")
    return table_of("samples", rows)


def _cells_of(found: Any) -> Iterator[Cell]:
    if isinstance(found, list):
        for entry in found:
            for average in entry["averages"]:
                yield entry["region"], average["regionTo"], average["average"]
        return
    framed = found.get("data")
    rows: Mapping[str, Any] = framed if isinstance(framed, Mapping) else found
    for source, row in rows.items():
        for target, value in row.items():
            yield source, target, value


def _cells_of_csv(text: str) -> Iterator[Cell]:
    lines = csv.reader(text.splitlines())
    names = next(lines, [])[1:]
    for line in filter(None, lines):
        if len(line) != len(names) + 1:
            raise BadInput(
                f"{len(line)} cells where {len(names) + 1} are named", line=lines.line_num
            )
        for target, value in zip(names, line[1:], strict=True):
            yield line[0], target, value.strip()


def pair_row(source: str, target: str, value: float | None, provider: str = "") -> dict[str, Any]:
    """Return one sample of a pair: a round-trip time in milliseconds, or a lost one."""
    return {
        "vantage": source,
        "target": target,
        "provider": provider,
        "region": target,
        "probe": "matrix-rtt",
        "status": "TIMEOUT" if value is None else "OK",
        "sent": 1,
        "values": [] if value is None else [value],
    }


def parse_rtt_ms(value: Any, least: float = 0.0) -> float | None:
    """Parse milliseconds, None if empty; raise ``ValueError`` below ``least`` or above a day."""
    if value is None or value == "":
        return None
    found = float(value)
    if not least <= found <= MAX_RTT_MS:
        raise ValueError(f"{value!r} is not a round-trip time")
    return found


def _coded(codes: Any, names: tuple[str, ...]) -> pa.Array:
    texts = pa.array(names, pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes), texts).cast(_TEXT)
