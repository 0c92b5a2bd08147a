"""What one run of one engine costs, from the kernel's own counters.

Takes a command; returns the CPU seconds of it and its children, of the server beside it, and of
everything else on the machine in that time, with wall time and peak memory.
"""

import contextlib
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# The high-water mark only grows, so a look now and then misses almost nothing.
_LOOK_S = 0.02
LIMIT_S = 300


class Failed(RuntimeError):
    """An engine ended with an error or not at all; the text is its last words."""


@dataclass(frozen=True)
class Cost:
    """One run; CPU is user and system time together."""

    names: int
    client_cpu_s: float
    server_cpu_s: float
    foreign_cpu_s: float
    wall_s: float
    peak_mib: float
    # Datagrams that found a receive buffer full: on either side, or elsewhere on the machine.
    buffer_drops: int

    @property
    def cpu_us(self) -> float:
        """Client CPU microseconds per name."""
        return self.client_cpu_s / self.names * 1e6

    @property
    def names_per_s(self) -> float:
        """Names per second of wall time, start-up included."""
        return self.names / self.wall_s


@dataclass(frozen=True)
class _Counters:
    """The kernel's counters at one moment."""

    server_s: float
    busy_s: float
    own_s: float
    drops: int
    at_s: float


def measure(
    command: Sequence[str],
    names: int,
    server_pids: Iterable[int] = (),
    environment: Mapping[str, str] | None = None,
) -> Cost:
    """Run a command to its end and account for it; raises ``Failed``."""
    pids = tuple(server_pids)
    with tempfile.TemporaryFile() as errors:
        before = _read_counters(pids)
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        peak_kib, usage = _watch(process, before.at_s + LIMIT_S)
        after = _read_counters(pids)
        if process.returncode:
            errors.seek(0)
            last = errors.read()[-600:].decode(errors="replace")
            raise Failed(f"{command[0]} ended with {process.returncode}: {last}")
    client_s = usage.ru_utime + usage.ru_stime
    server_s = after.server_s - before.server_s
    busy_s = after.busy_s - before.busy_s - (after.own_s - before.own_s)
    return Cost(
        names=names,
        client_cpu_s=client_s,
        server_cpu_s=server_s,
        foreign_cpu_s=max(0.0, busy_s - client_s - server_s),
        wall_s=after.at_s - before.at_s,
        peak_mib=peak_kib / 1024,
        buffer_drops=after.drops - before.drops,
    )


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def buffer_drops() -> int:
    """Datagrams dropped so far on this machine because a receive buffer was full."""
    lines = [line.split() for line in Path("/proc/net/snmp").read_text().splitlines()]
    heads, values = (line for line in lines if line[0] == "Udp:")
    return int(values[heads.index("RcvbufErrors")])


def _watch(process: subprocess.Popen[bytes], until_s: float) -> tuple[int, resource.struct_rusage]:
    # The rusage figure for memory would include this process, which the child was forked from.
    peak_kib = 0
    while True:
        peak_kib = max(peak_kib, sum(map(_high_water_kib, family(process.pid))))
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return peak_kib, usage
        if time.monotonic() > until_s:
            process.kill()
        time.sleep(_LOOK_S)


def _high_water_kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def _read_counters(pids: Sequence[int]) -> _Counters:
    user, nice, system, _idle, _wait, hard, soft, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return _Counters(
        server_s=sum(map(_cpu_s, pids)),
        busy_s=(user + nice + system + hard + soft) / _TICKS_PER_S,
        own_s=time.process_time(),
        drops=buffer_drops(),
        at_s=time.monotonic(),
    )


def _cpu_s(pid: int) -> float:
    # The command's name may hold spaces, so fields are counted behind its closing bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
