"""Read published matrices and tables of values as samples.

PlanetLab-like square tables, WonderNetwork-like city pairs, and the plain CSV of every command.
"""

import csv
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from analysis.optimization.files.csv_errors import refuse
from analysis.optimization.files.parquet_samples import is_parquet, read_parquet
from analysis.optimization.model.samples import Row, Samples, client_weights, samples_of
from core.errors import BadInput
from core.files import open_text

COLUMNS = ("round", "client", "region", "value")
# Cells of eight bytes each; a file of distinct clients, regions and rounds would need more.
# Some editors put it before the first letter.
BYTE_ORDER_MARK = "\ufeff"
MAX_CELLS = 1_000_000_000


def read_samples(
    path: Path,
    weights: dict[str, float] | None = None,
    most_cells: int = MAX_CELLS,
    *,
    parquet: bool = False,
) -> Samples:
    """Read a CSV of round, client, region, value; raise BadInput naming the line or column.

    A Parquet file of the same columns is recognised by its first bytes where ``parquet`` is true.
    """
    if is_parquet(path):
        if not parquet:
            raise BadInput(f"{path.name}: Parquet is read by the command only; give CSV here")
        return read_parquet(path, weights, most_cells)
    table = _read_table(path, COLUMNS[:3], "value")
    codes, names = [], []
    for column in ("region", "client", "round"):
        coded = pc.dictionary_encode(table[column]).combine_chunks()
        codes.append(coded.indices.to_numpy(zero_copy_only=False))
        names.append(tuple(coded.dictionary.to_pylist()))
    shape = tuple(len(n) for n in names)
    if 0 in shape:
        raise BadInput(f"{path.name} holds no samples")
    if (cells := math.prod(shape)) > most_cells:
        sizes = "{} regions, {} clients and {} rounds".format(*shape)
        raise BadInput(f"{sizes} are {cells:,} cells; at most {most_cells:,} are taken")
    place = np.ravel_multi_index(tuple(codes), shape)
    _refuse_twice(place, cells)
    values = np.full(shape, np.nan)
    values.ravel()[place] = table["value"].to_numpy(zero_copy_only=False)
    return Samples(names[0], names[1], names[2], values, client_weights(names[1], weights))


def read_weights(path: Path) -> dict[str, float]:
    """Read a CSV of client, weight; raise BadInput naming the line or column."""
    table = _read_table(path, ("client",), "weight")
    names, weights = table["client"].to_pylist(), table["weight"].to_pylist()
    if None in weights:
        raise BadInput("a weight is missing", line=weights.index(None) + 2)
    found: dict[str, float] = {}
    for line, (name, weight) in enumerate(zip(names, weights, strict=True), 2):
        if name in found:
            raise BadInput(f"{name!r} has two weights", line=line)
        found[name] = weight
    return found


def read_square(path: Path, *, zero_is_missing: bool = True) -> Samples:
    """Read a square table of numbers, every node both region and client; raise BadInput.

    With ``zero_is_missing``, zeros off the diagonal are gaps, as in the published tables, and so is
    what lies below zero.
    """
    with open_text(path) as stream:
        texts = ((n, line.lstrip(BYTE_ORDER_MARK)) for n, line in enumerate(stream, 1))
        lines = [(n, line.split()) for n, line in texts if line.strip()]
    rows = [_numbers_of(n, words, len(lines)) for n, words in lines]
    if not rows:
        raise BadInput(f"{path.name} holds no table")
    values = np.array(rows, dtype=np.float64)
    if zero_is_missing:
        values[(values <= 0) & ~np.eye(len(rows), dtype=bool)] = np.nan
    names = tuple(str(j) for j in range(len(rows)))
    return Samples(names, names, ("all",), values[:, :, None])


def _numbers_of(number: int, words: list[str], columns: int) -> list[float]:
    if len(words) != columns:
        raise BadInput(f"{columns} rows need as many columns each, not {len(words)}", line=number)
    try:
        return [float(word) for word in words]
    except ValueError as error:
        raise BadInput(f"not a table of numbers: {error}", line=number) from error


def read_city_pairs(path: Path, regions: Iterable[str]) -> Samples:
    """Read pings between cities, sources as clients, the given cities as regions; raise BadInput.

    The client is the source of a ping, the region its destination; the value is the mean.
    """
    wanted = set(regions)
    with open_text(path) as stream:
        rows = list(_pairs(csv.DictReader(stream), wanted))
    lacking = wanted - {region for _, _, region, _ in rows}
    if lacking:
        raise BadInput(f"no ping to {sorted(lacking)[0]!r}", field="destination")
    return samples_of(rows)


def _pairs(lines: Iterable[dict[str, str]], wanted: set[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, 2):
        try:
            source, destination, value = line["source"], line["destination"], line["rtt_avg_ms"]
            if destination in wanted:
                yield "all", source, destination, float(value) if value else None
        except (KeyError, ValueError) as error:
            raise BadInput("source, destination and rtt_avg_ms are needed", line=number) from error


def _read_table(path: Path, names: tuple[str, ...], number: str) -> Any:
    """Read columns of names and one of numbers from 0 up, which may be empty; raise BadInput."""
    types = dict.fromkeys(names, pa.string()) | {number: pa.float64()}
    convert = arrow_csv.ConvertOptions(
        column_types=types,
        include_columns=list(types),
        null_values=["", "NaN", "nan"],
        strings_can_be_null=False,
    )
    try:
        table = arrow_csv.read_csv(path, convert_options=convert)
    except FileNotFoundError:
        raise
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        raise refuse(path, names, number, str(error)) from error
    low, high = pc.min_max(table[number]).as_py().values()
    unnamed = [n for n in names if n != "round" and pc.any(pc.equal(table[n], "")).as_py()]
    if unnamed or (low is not None and not 0 <= low <= high < math.inf):
        raise refuse(path, names, number, f"{number} must be finite and not negative")
    return table


def _refuse_twice(place: Any, size: int) -> None:
    seen = np.zeros(size, bool)
    seen[place] = True
    if int(seen.sum()) < place.size:
        _, first = np.unique(place, return_index=True)
        line = int(np.setdiff1d(np.arange(place.size), first)[0]) + 2
        raise BadInput("a second value for the same round, client and region", line=line)
