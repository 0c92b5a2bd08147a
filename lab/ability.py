"""What this machine can do for a laboratory: namespaces, and what makes a link slow or lossy."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ability:
    """``reason`` says why there can be no laboratory; ``links`` is netem or tun."""

    reason: str = ""
    links: str = ""

    @property
    def words(self) -> str:
        """One sentence for people."""
        if self.reason:
            return f"No laboratory here: {self.reason}."
        if self.links == "netem":
            return "Links are veth pairs, delayed by the kernel (netem)."
        return (
            "This kernel has no netem: links with a delay, loss or rate are pairs of TUN devices "
            "joined by a process that forwards packets late or not at all."
        )


@cache
def find_ability() -> Ability:
    """Try it out; nothing stays behind."""
    if os.name != "posix" or shutil.which("ip") is None:
        return Ability("there is no ip command to make namespaces with")
    if os.geteuid() != 0:
        return Ability(
            "network namespaces need root; as another user, begin with "
            "`unshare --user --map-root-user --net --mount`"
        )
    if not _can("true"):
        return Ability("the kernel does not let us make network namespaces")
    if shutil.which("tc") and _can(
        "ip link add a type veth peer name b && tc qdisc add dev a root netem delay 1ms"
    ):
        return Ability(links="netem")
    if not Path("/dev/net/tun").exists():
        return Ability("there is neither netem nor /dev/net/tun for links with a delay")
    return Ability(links="tun")


def _can(command: str) -> bool:
    done = subprocess.run(
        ["unshare", "--net", "sh", "-c", command], capture_output=True, check=False
    )
    return done.returncode == 0
