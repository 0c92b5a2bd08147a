"""What may be queried: names by the opt-out list, discovered servers by their addresses."""

import ipaddress
from collections.abc import Iterable, Sequence

from crawlers.engine.nameservers import Network, Server, may_query_found


class OptOut:
    """Domains that asked not to be measured, with everything below them."""

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domains)

    def covers(self, name: str) -> bool:
        """Whether a name or anything above it is on the list."""
        while name:
            if name in self._domains:
                return True
            name = name.partition(".")[2]
        return False

    def reaches_into(self, domain: str) -> bool:
        """Whether something below a domain is on the list."""
        return any(quiet.endswith(f".{domain}") for quiet in self._domains)


def contactable(
    addresses: Sequence[str], own: Sequence[Server], allowed: Sequence[Network]
) -> tuple[Server, ...]:
    """Authoritative servers at found addresses that may be contacted.

    Named servers on this machine hold the zones themselves, and nothing that was found is
    contacted beside them unless allowed by name, because an emulated world's servers have the
    addresses of real ones. Named resolvers elsewhere hold no zone.
    """
    unique = tuple(dict.fromkeys(addresses))
    if all(server.is_loopback for server in own):
        port = own[0].port
        found = (Server(a, port) for a in unique if _is_within(a, allowed))
        return tuple(dict.fromkeys((own[0], *found)))
    return tuple(Server(a) for a in unique if may_query_found(a, allowed))


def _is_within(address: str, networks: Sequence[Network]) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed.version == n.version and parsed in n for n in networks)
