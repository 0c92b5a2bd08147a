"""CSV of repeated benchmarks per machine in (value, starttime, VM_id), a log per machine out."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from core.errors import BadInput
from screening.log_readers.records import Log, count_values

NEEDED = ("value", "starttime", "VM_id")
DELIMITERS = (",", ";", "\t")
# Of machines that lived for minutes, public data sets have 40,000 in one table.
MOST_MACHINES = 200_000


def is_noise(text: str) -> bool:
    """Whether the first line names the columns that are needed."""
    return _find_delimiter(text) != ""


def _find_delimiter(text: str) -> str:
    """What is between the columns, when the first line names all that are needed."""
    header = text[:1000].lstrip().split("\n", 1)[0]
    needed = {name.lower() for name in NEEDED}
    for sign in DELIMITERS:
        if needed <= {_plain(name) for name in header.split(sign)}:
            return sign
    return ""


def _plain(name: str) -> str:
    return name.strip().strip('"').strip().lower()


def read_noise(text: str, unit: str = "value") -> list[Log]:
    """One log per machine, values in time order in ``details``; BadInput when no row is good."""
    machines: dict[str, list[tuple[float, float]]] = {}
    rejected = []
    for number, row in _read_rows(text):
        try:
            name, point = _read_point(row)
            machines.setdefault(name, []).append(point)
        except (ValueError, TypeError) as error:
            rejected.append((number, str(error)[:120]))
        if len(machines) > MOST_MACHINES:
            raise BadInput(f"more than {MOST_MACHINES:,} machines", line=number)
    if not machines:
        raise BadInput("no row has a value, a time and a machine")
    return [
        _build_log(name, sorted(points), unit, tuple(rejected)) for name, points in machines.items()
    ]


def _read_point(row: dict[str, str]) -> tuple[str, tuple[float, float]]:
    at, value = read_time(row["starttime"] or ""), float(row["value"] or "")
    name = (row["vm_id"] or "").strip()[:64]
    if not np.isfinite(value) or not np.isfinite(at):
        raise ValueError("no finite value")
    if not name:
        raise ValueError("no machine")
    return name, (at, value)


def _read_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    delimiter = _find_delimiter(text)
    rows = csv.reader(text.lstrip().splitlines(), delimiter=delimiter)
    try:
        names = [_plain(name) for name in next(rows)]
        for number, cells in enumerate(rows, 2):
            if delimiter == ";":
                # Where columns are parted so, the comma is the decimal sign.
                cells = [cell.replace(",", ".") for cell in cells]
            if cells:
                yield number, dict(zip(names, [*cells, *[""] * len(names)], strict=False))
    except csv.Error as error:
        raise BadInput(f"no CSV: {error}") from None


def read_time(text: str) -> float:
    """Seconds since the epoch of an ISO time or of a number; without a zone it is UTC.

    ValueError for anything else.
    """
    plain = text.strip().removesuffix(" UTC")
    try:
        moment = datetime.fromisoformat(plain)
    except ValueError:
        number = float(plain)
    else:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    # Numbers that large count milliseconds or finer.
    while abs(number) >= 1e11 and np.isfinite(number):
        number /= 1000
    return number


def _build_log(
    name: str, points: list[tuple[float, float]], unit: str, rejected: tuple[tuple[int, str], ...]
) -> Log:
    times = np.array([at for at, _ in points])
    data = np.array([value for _, value in points])
    values, counts = count_values(data)
    return Log(
        "vm-noise",
        f"VM {name}",
        unit,
        1,
        values,
        counts,
        float(data.max()),
        float(np.ptp(times)),
        rejected=rejected,
        details={"at": times, "values": data},
    )
