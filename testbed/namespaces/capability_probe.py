"""Probe of what the kernel and its tools support, in a namespace that ends with this process.

Runs as a separate process, since it leaves its network namespace; prints JSON.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from testbed.namespaces import netns, setup_commands
from testbed.namespaces.capabilities import Capabilities
from testbed.namespaces.topology import LinkShape

# All that links of a plan ever ask of netem, and numbers as they are written there.
_ALL_OPTIONS = LinkShape(4.5, 0.3, 0.025, 40.0)


class Unsupported(Exception):
    """Why a laboratory is impossible."""


def probe_capabilities() -> Capabilities:
    """Everything that a laboratory needs, in the order in which it is built."""
    try:
        _require("cannot write below /run", _create_folders)
        _require("the kernel does not let us make network namespaces", netns.unshare)
        _require("namespaces cannot be kept", _bind_namespace)
        _require(
            "the settings of a namespace cannot be written, as in a container that is not "
            "privileged",
            _write_setting,
        )
        _require("", _configure_veth)
    except Unsupported as no:
        return Capabilities(str(no))
    links = {seeded: _supports_netem(seeded) for seeded in (False, True)}
    if not links[False] and (why := _tun_error()):
        return Capabilities(
            f"there is neither netem nor a TUN device for links with a delay ({why})"
        )
    families = (4, 6) if _has_ipv6() else (4,)
    kind = "netem" if links[False] else "tun"
    return Capabilities("", kind, links[True], families)  # type: ignore[arg-type]


def _require(what: str, work: Callable[[], None]) -> None:
    try:
        work()
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        why = f"{place}{error.strerror or error}"
        raise Unsupported(f"{what} ({why})" if what else why) from error


def _create_folders() -> None:
    for folder in (netns.RUN, netns.LOCKS):
        folder.mkdir(parents=True, exist_ok=True)


def _bind_namespace() -> None:
    place = netns.RUN / f"trial-{os.getpid()}"
    place.touch(mode=0o444)
    try:
        netns.bind_to_file(place)
    finally:
        netns.remove([place.name])


def _write_setting() -> None:
    place = Path("/proc/sys/net/ipv4/ip_forward")
    place.write_text("1")


def _configure_veth() -> None:
    """Two veth devices, and what routes and silent routers ask for."""
    _command("ip", "link add name here type veth peer name there", "there are no veth devices")
    _command("ip", "addr add 28.0.0.1/30 dev here", "addresses cannot be given")
    _command("ip", "link set dev here up", "devices cannot be taken up")
    ways = "nexthop via 28.0.0.2 dev here nexthop via 28.0.0.2 dev here"
    _command("ip", "link set dev there up", "devices cannot be taken up")
    _command("ip", f"route add 28.1.0.0/16 {ways}", "there are no routes with several ways")
    _command("ip", setup_commands.BLACKHOLE_RULE, "there are no rules for routes")


def _command(tool: str, line: str, what: str) -> None:
    """Run a command as the laboratory does; raise ``OSError`` with the tool's message."""
    found = netns.find_tool(tool)
    done = subprocess.run(
        [found or tool, "-batch", "-"], input=line, text=True, capture_output=True, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it says nothing"]
        raise OSError(f"{what}, says {tool}: {lines[0][:160]}")


def _supports_netem(seeded: bool) -> bool:
    """Whether ``tc`` and the kernel take netem with all that links ask of it."""
    if netns.find_tool("tc") is None:
        return False
    try:
        _command(
            "tc", setup_commands.netem_command("here", _ALL_OPTIONS, 7 if seeded else None), ""
        )
    except OSError:
        return False
    return True


def _tun_error() -> str:
    """Why no TUN device can be opened; empty when one can."""
    try:
        os.close(setup_commands.open_tun("tun"))
    except OSError as error:
        return f"/dev/net/tun: {error.strerror}"
    return ""


def _has_ipv6() -> bool:
    place = Path("/proc/sys/net/ipv6/conf/all/disable_ipv6")
    if not place.exists():
        return False
    with contextlib.suppress(OSError):
        place.write_text("0")
        _command("ip", "addr add 2d00::1/64 dev here nodad", "")
        return True
    return False


if __name__ == "__main__":
    sys.stdout.write(probe_capabilities().as_json() + "\n")
