"""Name servers: parsing of their addresses, those of the system, and which may be queried."""

import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from core.errors import BadInput, MissingData

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
DNS_PORT = 53


class Server(NamedTuple):
    """One name server address and port."""

    address: str
    port: int = DNS_PORT

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.address

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.address).is_loopback

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if self.is_ipv6 else f"{self.address}:{self.port}"


def parse_server(text: str) -> Server:
    """Read ``IP``, ``IP:PORT`` or ``[IPv6]:PORT``; raises ``BadInput``."""
    text = text.strip()
    host, port = text, str(DNS_PORT)
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError as error:
        raise BadInput(
            f"{text!r} is not IP[:PORT]; name servers are given by address", field="name-server"
        ) from error
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput(f"{port!r} is not a port from 1 to 65535", field="name-server")
    return Server(address, int(port))


def system_name_servers(path: Path = Path("/etc/resolv.conf")) -> tuple[Server, ...]:
    """The resolvers of this machine; raises ``MissingData`` where none is configured."""
    servers = []
    try:
        for line in path.read_text().splitlines():
            words = line.split("#")[0].split()
            if len(words) >= 2 and words[0] == "nameserver":
                servers.append(Server(str(ipaddress.ip_address(words[1].split("%")[0]))))
    except (OSError, ValueError):
        servers = []
    if not servers:
        raise MissingData(
            "this machine has no resolver configured; name one with --name-server IP[:PORT] "
            "or NEPHOSCOPE_NAME_SERVERS"
        )
    return tuple(servers)


def may_query_found(address: str, allowed: Sequence[Network] = ()) -> bool:
    """Whether a server that was *found* (in an answer) may be queried.

    Only public unicast addresses are, so that an answer cannot steer the crawler into a private
    or metadata network; the operator opens others by name.
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    if any(parsed.version == n.version and parsed in n for n in allowed):
        return True
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved
