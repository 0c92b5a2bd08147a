"""What a vantage point's machine can measure: sockets, address families, MTU, and its clock.

No packet is sent: opening a socket shows the permission, connecting one for UDP the route.
"""

import ctypes
import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

# Numbers of Linux that the module ``socket`` does not name.
_IP_MTU, _IPV6_MTU = 14, 24
# Documentation prefixes (RFC 5737, RFC 3849): only a default route leads there.
_OUTSIDE = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
_PORT = 9
# State of a clock that no time service keeps (``ntp_adjtime``).
_TIME_ERROR = 5


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """What was found; ``icmp`` is how echo requests are sent, and empty if they cannot be.

    ``mtu`` is that of the path to the site as the kernel knows it; unknown values are ``None``.
    """

    icmp: str
    raw: bool
    ipv4: bool
    ipv6: bool
    mtu: int | None
    clock_synchronized: bool | None
    clock_error_ms: float | None

    def as_json(self) -> dict[str, Any]:
        """The fields, as the site stores them."""
        return asdict(self)


class Finding(NamedTuple):
    """One line for people: what, whether it works, and what to do if it does not."""

    title: str
    value: str
    is_ok: bool
    advice: str = ""


def check_machine(host: str) -> SelfCheck:
    """Check this machine; ``host`` is the site's, or any that it reaches."""
    synchronized, error_ms = _read_clock()
    own = _families_of(host)
    return SelfCheck(
        icmp=_icmp_socket(),
        raw=_can_open(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP),
        ipv4=_has_route(socket.AF_INET) or socket.AF_INET in own,
        ipv6=_has_route(socket.AF_INET6) or socket.AF_INET6 in own,
        mtu=next(iter(own.values()), None),
        clock_synchronized=synchronized,
        clock_error_ms=error_ms,
    )


def _icmp_socket() -> str:
    for kind, name in ((socket.SOCK_DGRAM, "ping socket"), (socket.SOCK_RAW, "raw socket")):
        if _can_open(socket.AF_INET, kind, socket.IPPROTO_ICMP):
            return name
    return ""


def _can_open(family: int, kind: int, protocol: int) -> bool:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError:
        return False
    return True


def _has_route(family: socket.AddressFamily) -> bool:
    """Whether an address outside is routed, from an own address that others can answer."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((_OUTSIDE[family], _PORT))
            own = ipaddress.ip_address(sock.getsockname()[0].partition("%")[0])
    except OSError:
        return False
    return not (own.is_loopback or own.is_link_local)


def _families_of(host: str) -> dict[int, int | None]:
    """Address families by which a host is reached, with the MTU of the path."""
    found: dict[int, int | None] = {}
    with suppress(OSError):
        for family, _, _, _, address in socket.getaddrinfo(host, _PORT, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
                sock.connect(address)
                found.setdefault(family, _mtu_of(sock))
    return found


def _mtu_of(sock: socket.socket) -> int | None:
    is_v4 = sock.family == socket.AF_INET
    level = socket.IPPROTO_IP if is_v4 else socket.IPPROTO_IPV6
    try:
        return sock.getsockopt(level, _IP_MTU if is_v4 else _IPV6_MTU)
    except OSError:
        return None


class _Timex(ctypes.Structure):
    """``struct timex`` of Linux as far as it is read; the kernel writes 208 octets at most."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror_us", ctypes.c_long),
        ("rest", ctypes.c_byte * 256),
    )


def _read_clock() -> tuple[bool | None, float | None]:
    """Whether a time service keeps the clock, and its largest error in ms, as the kernel knows."""
    try:
        kernel = ctypes.CDLL(None)
        read = _Timex()
        state = kernel.adjtimex(ctypes.byref(read))
    except (OSError, AttributeError):
        return None, None
    if state < 0:
        return None, None
    if state == _TIME_ERROR:
        return False, None
    return True, read.maxerror_us / 1000


def describe(found: Mapping[str, Any]) -> list[Finding]:
    """The findings in the order of their weight, with advice."""
    icmp, mtu = found.get("icmp"), found.get("mtu")
    return [
        Finding("TCP, UDP, DNS and HTTP probes", "yes", is_ok=True),
        Finding(
            "ICMP echo",
            f"yes, by {icmp}" if icmp else "no",
            bool(icmp),
            "run sysctl -w net.ipv4.ping_group_range='0 2147483647', or give it CAP_NET_RAW",
        ),
        Finding(
            "raw packets",
            _yes_or_no(found.get("raw")),
            bool(found.get("raw")),
            "give it CAP_NET_RAW for multipath detection and traceroute by ICMP and TCP; "
            "traceroute by UDP works without",
        ),
        *(
            Finding(
                name,
                _yes_or_no(found.get(key)),
                bool(found.get(key)),
                f"targets over {name} are not reached: the machine has no route to them",
            )
            for name, key in (("IPv4", "ipv4"), ("IPv6", "ipv6"))
        ),
        Finding("MTU towards the site", f"{mtu} octets" if mtu else "not known", is_ok=True),
        _describe_clock(found),
    ]


def _yes_or_no(value: Any) -> str:
    return "yes" if value else "no"


def _describe_clock(found: Mapping[str, Any]) -> Finding:
    kept, error_ms = found.get("clock_synchronized"), found.get("clock_error_ms")
    if kept is None:
        return Finding("clock", "not known: the kernel does not say", is_ok=True)
    if not kept:
        advice = "start a time service (chrony, systemd-timesyncd); sample times are corrected"
        return Finding("clock", "not synchronized", is_ok=False, advice=advice)
    within = f", within {error_ms:.1f} ms" if error_ms is not None else ""
    return Finding("clock", f"synchronized{within}", is_ok=True)
