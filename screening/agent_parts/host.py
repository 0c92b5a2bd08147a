"""The machine that is measured: names and versions that explain a result, nothing secret."""

from __future__ import annotations

import contextlib
import hmac
import os
import platform
import socket
from typing import Any

from screening.agent_parts.kernel import find_quota, read_text
from screening.agent_parts.placement import DMI, find_placement


def read_host(name: str = "", given: dict[str, str] | None = None) -> dict[str, Any]:
    """Description of this machine for the report; ``given`` is placement from the command line."""
    quota = find_quota()
    return {
        "name": (name or socket.gethostname())[:253],
        "cpu_model": _find_cpu_model()[:200],
        "vcpus": os.cpu_count() or 1,
        "kernel": (f"{platform.system()} {platform.release()}")[:200],
        "machine": platform.machine()[:64],
        "hypervisor": find_hypervisor()[:200],
        "clock_source": read_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ).strip()[:64],
        "cgroup": quota.version if quota else 0,
        "quota_cpus": round(quota.limit, 3) if quota else 0.0,
        "python": platform.python_version()[:64],
        "machine_id": find_machine_id(),
        "addresses": find_addresses(),
        **find_placement(given or {}),
    }


def find_machine_id() -> str:
    """Distinguishes two machines of one name, without revealing the machine's own id."""
    own = (read_text("/etc/machine-id") or read_text("/var/lib/dbus/machine-id")).strip()
    return hmac.new(own.encode(), b"nephoscope.screening", "sha256").hexdigest()[:32] if own else ""


def find_addresses() -> list[str]:
    """Own addresses towards the world, by which others' network tests name this machine.

    Connecting a datagram socket sends nothing; both targets are reserved for documentation.
    """
    found = []
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(probe.getsockname()[0].partition("%")[0])
    return found


def find_hypervisor() -> str:
    """The hypervisor of the machine, empty where it cannot be detected."""
    xen = read_text("/sys/hypervisor/type").strip()
    board = " ".join(read_text(DMI + name).strip() for name in ("sys_vendor", "product_name"))
    flags = next((x for x in read_text("/proc/cpuinfo").splitlines() if x.startswith("flags")), "")
    guest = "hypervisor" in flags.split()
    return (xen or (board.strip() if guest else "") or ("unnamed" if guest else "")).strip()


def _find_cpu_model() -> str:
    for line in read_text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Hardware", "Model"):
            return value.strip()
    return platform.processor() or platform.machine()
