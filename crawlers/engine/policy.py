"""What may be queried: names by the opt-out list, discovered servers by their addresses."""

import ipaddress
from collections.abc import Iterable, Sequence

from crawlers.engine.nameservers import Network, Server, may_query_found


class DomainSet:
    """Domains with everything below them, such as those that asked not to be measured."""

    def __init__(self, domains: Iterable[str]) -> None:
        self._domains = frozenset(domains)

    def find(self, name: str) -> str:
        """The domain of the set that is the name or above it; empty where there is none."""
        while name and name not in self._domains:
            name = name.partition(".")[2]
        return name

    def covers(self, name: str) -> bool:
        """Whether a name or anything above it is in the set."""
        return bool(self.find(name))

    def reaches_into(self, domain: str) -> bool:
        """Whether something below a domain is in the set."""
        return any(quiet.endswith(f".{domain}") for quiet in self._domains)


def contactable(
    addresses: Sequence[str],
    own: Sequence[Server],
    allowed: Sequence[Network],
    denied: Sequence[Network] = (),
) -> tuple[Server, ...]:
    """Authoritative servers at found addresses that may be contacted.

    Named servers on this machine hold the zones themselves, and nothing that was found is
    contacted beside them unless allowed by name, because an emulated world's servers have the
    addresses of real ones. Named resolvers elsewhere hold no zone.
    """
    unique = tuple(a for a in dict.fromkeys(addresses) if not _is_within(a, denied))
    if all(server.is_loopback for server in own):
        port = own[0].port
        found = (Server(a, port) for a in unique if _is_within(a, allowed))
        return tuple(dict.fromkeys((own[0], *found)))
    return tuple(Server(a) for a in unique if may_query_found(a, allowed))


def _is_within(address: str, networks: Sequence[Network]) -> bool:
    parsed = ipaddress.ip_address(address)
    return any(parsed.version == n.version and parsed in n for n in networks)
