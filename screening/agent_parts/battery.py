"""The battery: CPU, disk and network tests at a cadence, one row of values per round out."""

from __future__ import annotations

import random
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from screening.agent_parts.disk import Disk
from screening.agent_parts.kernel import read_text, read_wall_clock
from screening.agent_parts.network import echo

# About half a second on the processors of 2026, and the same work everywhere.
CPU_STEPS = 4_000_000
IP_RECVERR = 11
HOP_TRIES = 3
HOP_WAIT_S = 0.5
TRACE_PORT = 33434


class Plan:
    """What a battery does: rounds every so many seconds, with files in one folder."""

    def __init__(self, rounds: int, every_s: float, folder: str, files: int) -> None:
        self.rounds, self.every_s = rounds, every_s
        self.folder, self.files = folder, files
        self.peer: tuple[str, int] | None = None
        self.target = ""


def run_battery(plan: Plan, pause: Callable[[float], None] = time.sleep) -> list[dict[str, Any]]:
    """All rounds; a test that cannot be made is a row's ``missing`` with its reason."""
    chance, found = random.Random(), []
    disk, reason = _open_disk(plan)
    start = time.monotonic()
    try:
        for at in range(plan.rounds):
            pause(max(0.0, start + at * plan.every_s - time.monotonic()))
            row: dict[str, Any] = {"at": round(read_wall_clock(), 3), "cpu_ms": time_cpu_ms()}
            row["missing"] = {"disk": reason} if reason else {}
            if disk:
                row.update(disk.measure(chance))
            _add_network(row, plan)
            found.append(row)
    except KeyboardInterrupt:
        # What was measured in hours is kept.
        if not found:
            raise
    finally:
        if disk:
            disk.close()
    return found


def _open_disk(plan: Plan) -> tuple[Disk | None, str]:
    try:
        return Disk(plan.folder, plan.files), ""
    except OSError as error:
        return None, str(error)[:200]


def time_cpu_ms() -> float:
    """Wall time of a fixed piece of floating-point work in one thread."""
    start_ns, value = time.monotonic_ns(), 1.0
    for _ in range(CPU_STEPS):
        value = value * 1.0000001 + 0.5
    return round((time.monotonic_ns() - start_ns) / 1e6, 3)


def _add_network(row: dict[str, Any], plan: Plan) -> None:
    try:
        hops = find_hops_ms(plan.target or find_gateway())
        if hops and hops[0] is not None:
            row["first_hop_ms"] = hops[0]
        if len(hops) == 3 and None not in hops:
            row["three_hops_ms"] = round(sum(hop or 0 for hop in hops), 4)
        elif "first_hop_ms" not in row:
            row["missing"]["hops"] = "no router answered"
    except OSError as error:
        row["missing"]["hops"] = str(error)[:200]
    try:
        if plan.peer:
            row["echo_32kb_ms"] = echo(*plan.peer)
        else:
            row["missing"]["echo"] = "no --peer was given"
    except OSError as error:
        row["missing"]["echo"] = str(error)[:200]


def find_gateway() -> str:
    """Address of the default router; OSError when there is none."""
    for line in read_text("/proc/net/route").splitlines()[1:]:
        words = line.split()
        if words[1] == "00000000":
            return socket.inet_ntoa(struct.pack("<I", int(words[2], 16)))
    raise OSError("no default route")


def find_hops_ms(target: str) -> list[float | None]:
    """Round trips to the first three hops towards an address, the best of three tries each.

    It needs no privilege: Linux hands a router's complaint to the socket that caused it.
    """
    found: list[float | None] = []
    for ttl in (1, 2, 3):
        times = [_time_hop_ms(target, ttl) for _ in range(HOP_TRIES)]
        known = [each for each in times if each is not None]
        found.append(min(known) if known else None)
        if not known:
            break
    return found


def _time_hop_ms(target: str, ttl: int) -> float | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        probe.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        probe.connect((target, TRACE_PORT))
        poller = select.poll()
        poller.register(probe, 0)
        start_ns = time.monotonic_ns()
        probe.send(b"nephoscope battery")
        if not poller.poll(HOP_WAIT_S * 1000):
            return None
        return round((time.monotonic_ns() - start_ns) / 1e6, 4)
