"""The system's own ``traceroute``, for machines that close raw sockets to us but not to it."""

import re
import shutil
import subprocess

from probes.net.ssrf_guard import Endpoint
from probes.packets.hops import Reply

_SWITCH = {"udp": "-U", "icmp": "-I", "tcp": "-T"}
_HOP = re.compile(r"^\s*(\d+)\s+(.*)$")
_WORD = re.compile(r"(?P<silent>\*)|(?P<rtt>[\d.]+)\s+ms|(?P<note>![A-Z<>\d]*)|(?P<address>\S+)")
_NOTES = {"!N": "net", "!H": "host", "!P": "protocol", "!X": "prohibited"}
# More than any real answer has; a hop line of 255 attempts has some 5,000 characters.
_MAX_TEXT = 1_000_000


def trace(
    endpoint: Endpoint, protocol: str, attempts: int, max_ttl: int, timeout_s: float
) -> list[Reply]:
    """Run it; raises ``PermissionError`` where there is none or it may not do this."""
    command = shutil.which("traceroute")
    if command is None:
        raise PermissionError("this machine has no traceroute")
    port = ["-p", str(endpoint.port)] if endpoint.port else []
    done = subprocess.run(
        [
            command,
            f"-{endpoint.family}",
            "-n",
            _SWITCH[protocol],
            "-q",
            str(attempts),
            "-m",
            str(max_ttl),
            "-w",
            str(timeout_s),
            *port,
            endpoint.address,
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=max_ttl * attempts * timeout_s + 5,
    )
    if done.returncode:
        raise PermissionError(done.stderr.strip() or "traceroute failed")
    return read_output(done.stdout[:_MAX_TEXT], endpoint.address)


def read_output(text: str, target: str) -> list[Reply]:
    """Replies of its text (with ``-n``); lines that are no hops are passed over."""
    replies: list[Reply] = []
    for line in text.splitlines():
        hop = _HOP.match(line)
        if hop and 0 < int(hop[1]) < 256:
            replies += _read_hop(int(hop[1]), hop[2], target)
    return replies


def _read_hop(ttl: int, text: str, target: str) -> list[Reply]:
    found: list[Reply] = []
    address = ""
    for word in _WORD.finditer(text):
        if word["silent"]:
            found.append(Reply(ttl, 0))
        elif word["address"]:
            address = word["address"]
        elif word["note"] and found:
            last = found[-1]
            kind = _NOTES.get(word["note"], "other")
            found[-1] = Reply(ttl, 0, last.address, last.rtt_ms, kind)
        elif word["rtt"] and address and word["rtt"].count(".") <= 1:
            kind = "target" if address == target else "hop"
            found.append(Reply(ttl, 0, address, float(word["rtt"]), kind))
    return found
