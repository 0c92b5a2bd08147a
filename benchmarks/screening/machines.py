"""Machines made on one host: a network namespace and a CPU control group each, with known load.

A host is a control group of the greatest weight, so that other work of this computer does not
disturb it. It holds the group of the machine and, where there is a neighbour, the neighbour's,
which has nearly all of the host's weight: while the neighbour computes, the machine waits.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType

from benchmarks.screening import neighbours
from core.paths import PROJECT
from testbed.namespaces import control_network, namespace_exec, netns
from testbed.namespaces.capabilities import detect_capabilities

QUOTA_CPUS = 0.2


@dataclass(frozen=True, slots=True)
class Load:
    """What disturbs a machine: a neighbour's bursts in ms, or its own work beyond its quota."""

    busy_ms: float = 0.0
    period_ms: float = 0.0
    quota: bool = False


@dataclass
class Machine:
    """One machine; ``host`` holds its group and that of its neighbour."""

    name: str
    cpu: int
    load: Load
    host: Path
    version: int
    address: str = ""
    _busy: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def group(self) -> Path:
        """The control group of the machine's own processes."""
        return self.host / "machine"

    def command(self, prefix: str, words: list[str]) -> list[str]:
        """The command line that runs a program in the machine's namespace."""
        return namespace_exec.command(prefix + self.name, words)

    def start(self, prefix: str, words: list[str]) -> "subprocess.Popen[str]":
        """Start a program in the machine: its namespace, its control group, its CPU."""
        return subprocess.Popen(
            self.command(prefix, words),
            cwd=PROJECT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=partial(self._join, self.group),
        )

    def _join(self, group: Path) -> None:
        neighbours.follow_parent()
        neighbours.shorten_slice()
        (group / "cgroup.procs").write_text(str(os.getpid()))
        os.sched_setaffinity(0, {self.cpu})

    def disturb(self, is_active: bool) -> None:
        """Start or end the neighbour, or the machine's own load."""
        if is_active == (self._busy is not None):
            return
        if self._busy is not None:
            self._busy.kill()
            self._busy.wait()
            self._busy = None
            neighbours.set_weight(self.group, self.version, neighbours.GREATEST)
            return
        group = self.group if self.load.quota else self.host / "neighbour"
        words = [str(self.load.busy_ms), str(self.load.period_ms)]
        code = neighbours.HOG if self.load.quota else neighbours.BURST
        self._busy = subprocess.Popen(
            [sys.executable, "-c", code, *words], preexec_fn=partial(self._join, group)
        )
        if not self.load.quota:
            neighbours.set_weight(self.group, self.version, neighbours.LEAST)


class Machines:
    """Machines and their host network, as a context; ``OSError`` where they cannot be made."""

    def __init__(self, loads: dict[str, Load]) -> None:
        """One machine for each name; they share the CPUs of this process in turn."""
        self._loads = loads
        self._stack = contextlib.ExitStack()
        self.prefix = ""
        self.machines: dict[str, Machine] = {}

    def __enter__(self) -> "Machines":
        if reason := find_missing():
            raise OSError(reason)
        netns.remove_stale()
        with contextlib.ExitStack() as stack:
            self._connect(stack)
            top, version = stack.enter_context(create_hosts())
            cpus = sorted(os.sched_getaffinity(0))
            for number, (name, load) in enumerate(self._loads.items()):
                host = stack.enter_context(create_host(top / f"host{number}", version, load.quota))
                cpu = cpus[number % len(cpus)]
                address = control_network.find_address(number)
                machine = Machine(name, cpu, load, host, version, address)
                stack.callback(machine.disturb, False)
                self.machines[name] = machine
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._stack.close()

    def _connect(self, stack: contextlib.ExitStack) -> None:
        self.prefix = netns.new_prefix()
        names = [control_network.NODE, *self._loads]
        stack.callback(netns.remove, [self.prefix + name for name in names])
        for name in names:
            netns.add(self.prefix + name)
        centre = self.prefix + control_network.NODE
        netns.run_inside(centre, lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
        control_network.connect_hosts(self.prefix, list(self._loads))
        for name in self._loads:
            # Machines reach each other through the centre; the agent asks for its own address.
            route = f"route add default via {control_network.ADDRESS} dev {control_network.NODE}"
            netns.batch(self.prefix + name, ["link set dev lo up", route])


def find_missing() -> str:
    """Why machines cannot be made here; empty where they can."""
    return detect_capabilities().reason or neighbours.find_missing("quota")


@contextlib.contextmanager
def create_hosts() -> Iterator[tuple[Path, int]]:
    """The control group of all hosts, and the version of control groups."""
    root, version = neighbours.find_cpu_folder()
    top = root / f"nephoscope-hosts-{os.getpid()}"
    with create_group(top):
        neighbours.set_weight(top, version, neighbours.GREATEST)
        _delegate(top, version)
        yield top, version


@contextlib.contextmanager
def create_host(folder: Path, version: int, is_limited: bool) -> Iterator[Path]:
    """A host with the groups of one machine, with or without a CPU quota, and of a neighbour."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(create_group(folder))
        neighbours.set_weight(folder, version, neighbours.GREATEST)
        _delegate(folder, version)
        for name in ("machine", "neighbour"):
            neighbours.set_weight(
                stack.enter_context(create_group(folder / name)), version, neighbours.GREATEST
            )
        if is_limited:
            neighbours.set_quota(folder / "machine", version, QUOTA_CPUS)
        yield folder


@contextlib.contextmanager
def create_group(folder: Path) -> Iterator[Path]:
    """A control group, removed with the context after the processes left in it."""
    folder.mkdir()
    try:
        yield folder
    finally:
        for word in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(word), 9)
        neighbours.remove_group(folder)


def _delegate(folder: Path, version: int) -> None:
    if version == 2:
        (folder / "cgroup.subtree_control").write_text("+cpu")


def wait_all(children: "dict[str, subprocess.Popen[str]]", limit_s: float) -> dict[str, str]:
    """Standard output of each program; RuntimeError with the message of one that failed."""
    deadline, found = time.monotonic() + limit_s, {}
    for name, child in children.items():
        out, error = child.communicate(timeout=max(1.0, deadline - time.monotonic()))
        if child.returncode:
            raise RuntimeError(f"{name}: {error.strip()[-400:]}")
        found[name] = out
    return found
