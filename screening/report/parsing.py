"""Parse an agent's report from bytes into frozen records; all untrusted input passes here.

Reports that contradict themselves are refused too, because a figure that cannot be right is
useless.
"""

import hashlib
import json
from bisect import bisect_left
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NoReturn

from core.errors import BadInput
from screening.agent_parts.causes import STALL_US, Stall
from screening.agent_parts.histograms import SLOTS, find_slot
from screening.report.schema import CPU, MOST_BYTES, REPORT
from screening.report.validation import refuse

# A clock may be wrong by a day before a report from the future is refused.
FUTURE_S = 86_400.0
# A sleep never ends early, but clocks and slots round.
TOLERANCE = 1.05
# The first slot that may count a stall, and the first that counts nothing else.
STALL_SLOT = find_slot(STALL_US * 1000)
SURE_SLOT = find_slot(STALL_US * 1000 - 1) + 1


@dataclass(frozen=True, slots=True)
class Host:
    """The machine that was measured, in its own words."""

    name: str
    cpu_model: str
    vcpus: int
    kernel: str
    machine: str
    hypervisor: str
    clock_source: str
    cgroup: int
    quota_cpus: float
    python: str
    machine_id: str = ""
    addresses: tuple[str, ...] = ()
    provider: str = ""
    region: str = ""
    zone: str = ""
    instance_type: str = ""


@dataclass(frozen=True, slots=True)
class CpuTiming:
    """One virtual CPU's sleeps; ``histogram`` holds (slot, count), ascending."""

    cpu: int
    mode: str
    seconds: float
    wakeups: int
    stalls_10ms: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    steal_ms: float
    run_delay_ms: float
    throttled_ms: float
    busy_ms: float
    own_ms: float
    own_share: float
    pinned: bool
    slack: bool
    histogram: tuple[tuple[int, int], ...]
    stalls: tuple[Stall, ...]


@dataclass(frozen=True, slots=True)
class CallTiming:
    """Calls to one server at one rate; calls without reply are lost, not forgotten."""

    server: str
    rate: int
    seconds: float
    calls: int
    answered: int
    lost: int
    late: int
    over_10ms: int
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    histogram: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One run of the agent; ``fingerprint`` distinguishes a repetition from an abused id."""

    report_id: str
    fingerprint: str
    agent_version: str
    started_at: float
    sleep_us: int
    seconds: float
    host: Host
    cpus: tuple[CpuTiming, ...]
    network: tuple[CallTiming, ...]
    battery: tuple[dict[str, Any], ...]
    pressure_us: dict[str, dict[str, int]]
    notes: tuple[str, ...]


def parse_report(data: bytes, now: float) -> Report:
    """Check and read a report; BadInput names the field that is wrong."""
    if len(data) > MOST_BYTES:
        raise BadInput(f"a report has at most {MOST_BYTES} bytes, not {len(data)}")
    document = _read_json(data)
    REPORT.check(document, "")
    if document["started_at"] > now + FUTURE_S:
        raise refuse("started_at", "is in the future: set the machine's clock")
    cpus = tuple(_read_cpu(entry, f"cpus[{at}]") for at, entry in enumerate(document["cpus"]))
    if len({cpu.cpu for cpu in cpus}) != len(cpus):
        raise refuse("cpus", "names a virtual CPU twice")
    _check_speed(cpus, document["sleep_us"])
    calls = document.get("network", [])
    return Report(
        report_id=document["report_id"],
        fingerprint=hashlib.sha256(_write_canonical(document)).hexdigest(),
        agent_version=document["agent_version"],
        started_at=float(document["started_at"]),
        sleep_us=document["sleep_us"],
        seconds=float(document["seconds"]),
        host=_read_host(document["host"]),
        cpus=cpus,
        network=tuple(_read_calls(entry, f"network[{at}]") for at, entry in enumerate(calls)),
        battery=tuple(document.get("battery", [])),
        pressure_us=document.get("pressure_us", {}),
        notes=tuple(document.get("notes", [])),
    )


def is_repetition(known_fingerprint: str | None, report: Report) -> bool:
    """Whether the same report has come before; BadInput when its id was for another one."""
    if known_fingerprint is None:
        return False
    if known_fingerprint != report.fingerprint:
        raise refuse("report_id", "was used for a different report")
    return True


def _read_json(data: bytes) -> Any:
    try:
        return json.loads(
            data, parse_constant=_refuse_constant, object_pairs_hook=_reject_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the report is not a JSON document: {str(error)[:120]}") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("a field is repeated")
    return entries


def _write_canonical(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _read_host(entry: dict[str, Any]) -> Host:
    return Host(**{**entry, "addresses": tuple(entry.get("addresses", ()))})


def _read_cpu(entry: dict[str, Any], path: str) -> CpuTiming:
    histogram = _read_histogram(entry["histogram"], entry["wakeups"], path)
    values = {name: entry[name] for name in CPU if name not in ("causes", "histogram", "stalls")}
    stalls = tuple(map(Stall._make, entry["stalls"]))
    _check_stalls(stalls, entry, histogram, path)
    return CpuTiming(**values, histogram=histogram, stalls=stalls)


def _read_histogram(rows: list[list[int]], total: int, path: str) -> tuple[tuple[int, int], ...]:
    slots = list(map(itemgetter(0), rows))
    if slots != sorted(set(slots)) or (slots and slots[-1] >= SLOTS):
        raise refuse(f"{path}.histogram", f"has ascending slots below {SLOTS}")
    if sum(map(itemgetter(1), rows)) != total:
        raise refuse(f"{path}.histogram", "does not add up to the number counted beside it")
    return tuple((slot, count) for slot, count in rows)


def _check_stalls(
    stalls: tuple[Stall, ...],
    entry: dict[str, Any],
    histogram: tuple[tuple[int, int], ...],
    path: str,
) -> None:
    surely, perhaps = _count_from(histogram, SURE_SLOT), _count_from(histogram, STALL_SLOT)
    if not surely <= entry["stalls_10ms"] <= perhaps:
        raise refuse(f"{path}.stalls_10ms", "disagrees with the histogram")
    if len(stalls) > entry["stalls_10ms"]:
        raise refuse(f"{path}.stalls", "are more than were counted")
    end_us = entry["seconds"] * 1e6 * TOLERANCE + 1e5
    for at, stall in enumerate(stalls):
        if not STALL_US <= stall.length_us <= end_us or stall.at_us > end_us:
            raise refuse(f"{path}.stalls[{at}]", "is no stall of 10 ms or more within the run")


def _count_from(histogram: tuple[tuple[int, int], ...], slot: int) -> int:
    return sum(count for _, count in histogram[bisect_left(histogram, (slot, -1)) :])


def _check_speed(cpus: tuple[CpuTiming, ...], sleep_us: int) -> None:
    for at, cpu in enumerate(cpus):
        if cpu.wakeups * sleep_us > cpu.seconds * 1e6 * TOLERANCE + 1e5:
            raise refuse(f"cpus[{at}].wakeups", "are more than fit into the time")
        if not cpu.p50_us <= cpu.p99_us <= cpu.p999_us <= cpu.max_us * TOLERANCE:
            raise refuse(f"cpus[{at}]", "has percentiles that fall")


def _read_calls(entry: dict[str, Any], path: str) -> CallTiming:
    histogram = _read_histogram(entry["histogram"], entry["answered"], path)
    if entry["answered"] + entry["lost"] != entry["calls"]:
        raise refuse(f"{path}.calls", "are not those answered and those lost")
    if entry["over_10ms"] > entry["answered"]:
        raise refuse(f"{path}.over_10ms", "are more than were answered")
    return CallTiming(**{**entry, "histogram": histogram})
