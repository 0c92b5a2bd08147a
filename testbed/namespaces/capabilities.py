"""Capabilities of this machine for a laboratory: namespaces and link emulation."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import cache

from core.paths import PROJECT
from testbed.namespaces.netns import find_tool
from testbed.namespaces.topology import Family

_UNPRIVILEGED_HINT = (
    "as another user, begin with `unshare --user --map-root-user --net --mount` and "
    "`mount -t tmpfs none /run`"
)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """``reason`` is why a laboratory is impossible; ``links`` is netem or tun.

    With ``seeded`` the kernel's losses are reproducible.
    """

    reason: str = ""
    links: str = ""
    seeded: bool = False
    families: tuple[Family, ...] = (4, 6)

    @property
    def summary(self) -> str:
        """Summary in a sentence."""
        if self.reason:
            return f"No laboratory here: {self.reason}."
        without = "" if 6 in self.families else " There is no IPv6 here: all of it is IPv4."
        if self.links == "netem":
            return f"Links are veth pairs, delayed by the kernel (netem).{without}"
        return (
            "This kernel has no netem: links with a delay, loss or rate are pairs of TUN devices "
            f"joined by a process that forwards packets late or not at all.{without}"
        )

    def as_json(self) -> str:
        """Return the capabilities as JSON, the output of the probe."""
        return json.dumps(asdict(self))


@cache
def detect_capabilities() -> Capabilities:
    """Detect the capabilities in a temporary namespace."""
    if sys.platform != "linux":
        return Capabilities(f"network namespaces are Linux's, and this is {sys.platform}")
    if find_tool("ip") is None:
        return Capabilities("there is no ip command to make namespaces with; install iproute2")
    if os.geteuid() != 0:
        return Capabilities(f"network namespaces need root; {_UNPRIVILEGED_HINT}")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "testbed.namespaces.capability_probe"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        report = json.loads(done.stdout)
    except ValueError:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        return Capabilities(f"the trial of what this machine can do failed: {lines[-1][:200]}")
    return Capabilities(**{**report, "families": tuple(report["families"])})
