"""Resolve a target and admit or refuse its address; every probe calls this first.

The address that was checked is the address that is used, which defeats DNS rebinding.
"""

import socket
import threading
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeVar

from probes.records import Outcome, ProbeStatus, Target

Address = IPv4Address | IPv6Address
Record = TypeVar("Record", bound=Outcome)
# Addresses of instance metadata that lie in public space; all others are private or link-local.
METADATA = ("168.63.129.16/32", "192.0.0.192/32", "100.100.100.200/32", "fd00:ec2::254/128")
# Forms of IPv6 address that carry an IPv4 address which some gateway would use.
_NAT64 = ip_network("64:ff9b::/96")
# The middle of addresses of ISATAP (RFC 5214, 6.1), before the IPv4 address.
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
# All of IPv6 that is given out for the public (RFC 4291, 2.4). The rest has site-local addresses,
# translators of private networks (64:ff9b:1::/48, ::ffff:0:0:0/96) and unallocated blocks.
_GIVEN_OUT = ip_network("2000::/3")
# Within allocated space, or missing in older tables: documentation, and relays of 6to4.
_CLOSED = ("3fff::/20", "192.88.99.0/24", "192.0.0.0/24")
_COMPATIBLE = ip_network("::/96")
# Forms that are given up (RFC 4291, 2.5.5.1; Teredo): never public, with any embedded address.
_DEAD = ("::/96", "2001::/32")
# A name with more addresses than this, as in a list of what is to be blocked, is refused.
_MOST_ADDRESSES = 256
_FAMILIES = {0: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that passed the gate."""

    family: int
    address: str
    port: int

    @property
    def domain(self) -> socket.AddressFamily:
        return socket.AF_INET6 if self.family == 6 else socket.AF_INET

    @property
    def sockaddr(self) -> tuple[str, int]:
        return self.address, self.port


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no endpoint."""

    status: ProbeStatus
    reason: str
    address: str = ""

    def outcome(
        self, kind: type[Record], probe: tuple[str, int], target: Target, at: float
    ) -> Record:
        """The record of a run that ended here."""
        name, version = probe
        return kind(
            probe=name,
            version=version,
            target=target,
            address=self.address,
            at=at,
            status=self.status,
            reason=self.reason,
        )


def admit(
    target: Target, allow: tuple[str, ...] = (), deny: tuple[str, ...] = (), timeout_s: float = 5.0
) -> Endpoint | Refusal:
    """Resolve a target and give its first address that may be probed.

    ``allow`` and ``deny`` are prefixes: the first opens what is closed by nature, the second
    closes what its owner does not want probed. Raises ``ValueError`` for text that is not a prefix.
    """
    found = _resolve(target, timeout_s)
    if isinstance(found, Refusal):
        return found
    refused = ""
    for address in found[:_MOST_ADDRESSES]:
        refused = why_forbidden(address, allow, deny)
        if not refused:
            endpoint = Endpoint(address.version, str(address), target.port)
            if _within(address, allow) or not is_own(endpoint):
                return endpoint
            refused = f"{address} is this machine's own"
    return Refusal(ProbeStatus.FORBIDDEN, refused, str(found[:_MOST_ADDRESSES][-1]))


def admit_all(
    target: Target, allow: tuple[str, ...] = (), timeout_s: float = 5.0
) -> Endpoint | Refusal:
    """The same for a target from untrusted input: refused where any of its addresses is.

    Names with a public and a private address are made for rebinding. Raises ``ValueError``.
    """
    found = _resolve(target, timeout_s)
    if isinstance(found, Refusal):
        return found
    for address in found[:_MOST_ADDRESSES]:
        refused = why_forbidden(address, allow, ())
        endpoint = Endpoint(address.version, str(address), target.port)
        if not refused and not _within(address, allow) and is_own(endpoint):
            refused = f"{address} is this machine's own"
        if refused:
            return Refusal(ProbeStatus.FORBIDDEN, refused, str(address))
    return Endpoint(found[0].version, str(found[0]), target.port)


def why_forbidden(address: Address, allow: tuple[str, ...], deny: tuple[str, ...]) -> str:
    """The reason not to probe an address; empty when it may be probed.

    Raises ``ValueError`` for text that is not a prefix.
    """
    if _within(address, deny):
        return f"{address} is on the list of those who do not want to be probed"
    if _within(address, allow):
        return ""
    if _within(address, METADATA):
        return f"{address} serves instance metadata"
    inner = _carried(address)
    for one in inner:
        carried = why_forbidden(one, allow, deny)
        if carried:
            return f"{address} carries an address that may not be probed: {carried}"
    if inner and not _within(address, _DEAD):
        return ""
    is_strange = address.version == 6 and address not in _GIVEN_OUT
    if is_strange or address.is_multicast or not address.is_global or _within(address, _CLOSED):
        return f"{address} is not a public address"
    return ""


def is_own(endpoint: Endpoint) -> bool:
    """Whether an address is this machine's, so that a socket may stand there."""
    foreign = "192.0.2.1" if endpoint.family == 4 else "2001:db8::1"
    # Where sockets may have any address, that proves nothing.
    return _binds(endpoint.domain, endpoint.address) and not _binds(endpoint.domain, foreign)


def _binds(domain: socket.AddressFamily, address: str) -> bool:
    with socket.socket(domain, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((address, 0))
        except OSError:
            return False
    return True


def _within(address: Address, prefixes: tuple[str, ...]) -> bool:
    return any(address in _network(p) for p in prefixes)


@lru_cache(maxsize=4096)
def _network(prefix: str) -> Any:
    return ip_network(prefix)


def _carried(address: Address) -> tuple[IPv4Address, ...]:
    """The addresses that some gateway would send to; Teredo's has that of its server, too."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    is_isatap = int(address) >> 32 & 0xFFFFFFFF in _ISATAP
    if address in _NAT64 or is_isatap or (address in _COMPATIBLE and int(address) > 1):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()


def _resolve(target: Target, timeout_s: float) -> list[Address] | Refusal:
    try:
        literal = ip_address(target.host.partition("%")[0])
    except ValueError:
        return _ask(target, timeout_s)
    if target.family and literal.version != target.family:
        return Refusal(ProbeStatus.NO_NAME, f"{literal} is not of family {target.family}")
    return [literal]


def _ask(target: Target, timeout_s: float) -> list[Address] | Refusal:
    """The system's own resolver has no time limit, so it is queried from a thread."""
    found: list[list[Address]] = []
    worker = threading.Thread(target=_resolve_into, args=(target, found), daemon=True)
    worker.start()
    worker.join(timeout_s)
    if worker.is_alive():
        return Refusal(ProbeStatus.TIMEOUT, "the name was not resolved in time")
    if not found or not found[0]:
        return Refusal(ProbeStatus.NO_NAME, "the name has no such address")
    return found[0]


def _resolve_into(target: Target, found: list[list[Address]]) -> None:
    try:
        rows = socket.getaddrinfo(
            target.host, target.port, _FAMILIES[target.family], socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        return
    found.append([ip_address(str(row[4][0]).partition("%")[0]) for row in rows])
