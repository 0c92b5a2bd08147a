"""Where an iterative run starts: root servers, by default those of the Internet."""

import ipaddress
import tomllib
from pathlib import Path

from core.errors import BadInput
from core.paths import FIXTURES
from crawlers.engine.nameservers import DNS_PORT, Server

HINTS_PATH = FIXTURES / "root-hints.toml"


def read_root_hints(path: Path = HINTS_PATH, *, ipv6: bool = False) -> tuple[Server, ...]:
    """Root servers of a hints file, those with IPv4 addresses first; raises ``BadInput``.

    IPv6 addresses are left out unless asked for.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))["servers"]
        found = [ipaddress.ip_address(a) for addresses in table.values() for a in addresses]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise BadInput(f"{path.name} holds no root servers: {error}") from error
    chosen = [str(address) for address in found if address.version == 4]
    if ipv6:
        chosen += [str(address) for address in found if address.version == 6]
    if not chosen:
        raise BadInput(f"{path.name} names no root server; write it like the file in fixtures/")
    return tuple(Server(address, DNS_PORT) for address in chosen)
