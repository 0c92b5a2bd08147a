"""CSV of repeated benchmarks per machine in (value, starttime, VM_id), a log per machine out."""

import csv
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np

from core.errors import BadInput
from screening.logs.records import Log, count_values

NEEDED = ("value", "starttime", "VM_id")
MOST_MACHINES = 10_000


def is_noise(text: str) -> bool:
    """Whether the first line names the columns that are needed."""
    header = text[:1000].split("\n", 1)[0]
    return set(NEEDED) <= {name.strip() for name in header.split(",")}


def read_noise(text: str, unit: str = "value") -> list[Log]:
    """One log per machine, values in time order in ``details``; BadInput when no row is good."""
    machines: dict[str, list[tuple[float, float]]] = {}
    rejected = []
    for number, row in _read_rows(text):
        try:
            at = read_time(row["starttime"] or "")
            value = float(row["value"] or "")
            if not np.isfinite(value):
                raise ValueError("no finite value")
            machines.setdefault(str(row["VM_id"]).strip()[:64], []).append((at, value))
        except (ValueError, TypeError) as error:
            rejected.append((number, str(error)[:120]))
        if len(machines) > MOST_MACHINES:
            raise BadInput(f"more than {MOST_MACHINES:,} machines", line=number)
    if not machines:
        raise BadInput("no row has a value, a time and a machine")
    return [
        _make_log(name, sorted(points), unit, tuple(rejected)) for name, points in machines.items()
    ]


def _read_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        yield from enumerate(csv.DictReader(text.splitlines()), 2)
    except csv.Error as error:
        raise BadInput(f"no CSV: {error}") from None


def read_time(text: str) -> float:
    """Seconds since the epoch of an ISO time; without a zone it is UTC. ValueError otherwise."""
    moment = datetime.fromisoformat(text.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _make_log(
    name: str, points: list[tuple[float, float]], unit: str, rejected: tuple[tuple[int, str], ...]
) -> Log:
    times = np.array([at for at, _ in points])
    data = np.array([value for _, value in points])
    values, counts = count_values(data)
    return Log("vm-noise", f"VM {name}", unit, 1, values, counts, float(data.max()),
               float(np.ptp(times)), rejected=rejected,
               details={"at": times, "values": data})  # fmt: skip
