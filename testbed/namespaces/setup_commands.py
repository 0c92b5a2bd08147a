"""Commands that set up namespaces, devices, addresses and routes of a topology."""

import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from testbed.namespaces.routing import Routes
from testbed.namespaces.topology import LinkShape, Node, Topology

_TUNSETIFF, _TUN, _NO_PI = 0x400454CA, 0x1, 0x1000
# Octets of an Ethernet frame's head.
_FRAME = 14
# What is set in every namespace before there are devices.
_SETTINGS: dict[str, int | str] = {
    # Echoes without raw sockets; no other group is known where another user began the laboratory.
    "ipv4/ping_group_range": "0 0",
    "ipv4/conf/all/rp_filter": 0,
    "ipv4/conf/default/rp_filter": 0,
    # The host may have disabled IPv6 by default.
    "ipv6/conf/all/disable_ipv6": 0,
    "ipv6/conf/default/disable_ipv6": 0,
    "ipv6/conf/default/accept_dad": 0,
    "ipv6/conf/all/keep_addr_on_down": 1,
    "ipv6/conf/default/keep_addr_on_down": 1,
    "ipv4/icmp_msgs_per_sec": 1_000_000,
    "ipv4/icmp_msgs_burst": 1_000_000,
}
_ROUTER: dict[str, int | str] = {
    "ipv4/ip_forward": 1,
    "ipv6/conf/all/forwarding": 1,
    # Balancers look at addresses and ports.
    "ipv4/fib_multipath_hash_policy": 1,
    "ipv6/fib_multipath_hash_policy": 1,
    # Errors come from where the packet came in, as with most routers.
    "ipv4/icmp_errors_use_inbound_ifaddr": 1,
}


def apply_sysctls(node: Node) -> None:
    """The settings of a node, made in its namespace."""
    every_ms = 1000 if node.limited else 0
    limits = {"ipv4/icmp_ratelimit": every_ms, "ipv6/icmp/ratelimit": every_ms}
    # Consecutive load balancers would all choose alike; newer kernels support a seed for each.
    limits["ipv4/fib_multipath_hash_seed"] = crc32(node.name.encode())
    for key, value in {**_SETTINGS, **limits, **(_ROUTER if node.kind == "router" else {})}.items():
        # Settings that this kernel does not know are those of another one.
        if (place := Path("/proc/sys/net", key)).exists():
            place.write_text(str(value))


def device_name(plan: Topology, number: int, node: str) -> str:
    """Return the name of a node's device on a link: the neighbour's, numbered if ambiguous."""
    other = plan.links[number].other(node)
    parallel = [n for n in plan.links_by_node[node] if plan.links[n].other(node) == other]
    return f"{other[:11]}.{parallel.index(number)}" if len(parallel) > 1 else other[:15]


def open_tun(name: str) -> int:
    """A TUN device in the namespace of the caller; raises ``OSError``."""
    number = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(number, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _TUN | _NO_PI))
    return number


def veth_command(plan: Topology, number: int, prefix: str) -> str:
    """The command, in the namespace of the first node, for a link without shaping."""
    link = plan.links[number]
    first, second = (device_name(plan, number, node) for node in (link.first, link.second))
    macs = [_mac(number, side) for side in (0, 1)]
    peer = f"peer name {second} address {macs[1]} netns {prefix}{link.second}"
    # Without the word before it, a name like "a" is read as the beginning of another word.
    return f"link add name {first} address {macs[0]} type veth {peer}"


def _mac(number: int, side: int) -> str:
    return f"02:00:00:{number >> 8:02x}:{number & 255:02x}:0{side}"


def netem_command(name: str, line: LinkShape, seed: int | None) -> str:
    """The command of ``tc`` for one end of a link; seeds are known from version 6.6 on.

    Every value is explicit, since the kernel keeps the previous rate otherwise.
    """
    words = [f"qdisc replace dev {name} root netem limit 1000 delay {line.delay_ms:g}ms"]
    words += [f"{line.jitter_ms:g}ms"] if line.jitter_ms else []
    words += [f"loss random {line.loss * 100:g}%"]
    # The rate is that of IP packets: the frame around them is not counted.
    words += [f"rate {line.rate_mbit:g}mbit -{_FRAME}" if line.rate_mbit else "rate 0bit"]
    return " ".join([*words, *([] if seed is None else [f"seed {seed}"])])


def segment_commands(plan: Topology, node: str) -> Iterator[str]:
    """Hosts send packets of the usual size: netem takes 64 KB of one for a single packet."""
    for number in plan.links_by_node[node]:
        yield f"link set dev {device_name(plan, number, node)} gso_max_segs 1"


def address_commands(plan: Topology, node: Node) -> Iterator[str]:
    """Addresses, and devices up."""
    yield "link set dev lo up"
    for number in plan.links_by_node[node.name]:
        name = device_name(plan, number, node.name)
        for family in plan.families:
            bits, extra = (30, "") if family == 4 else (64, " nodad")
            address = plan.address(number, node.name, family)
            yield f"addr add {address}/{bits} dev {name}{extra}"
        yield f"link set dev {name} up"


def neighbour_commands(plan: Topology, node: str, number: int) -> Iterator[str]:
    """Neighbours on a veth pair are known from the beginning: no first packet waits for them."""
    link = plan.links[number]
    mac = _mac(number, 1 if node == link.first else 0)
    for family in plan.families:
        near = plan.address(number, link.other(node), family)
        name = device_name(plan, number, node)
        yield f"neigh replace {near} lladdr {mac} dev {name} nud permanent"


# Silent routers drop the packets they originate and forward all others.
BLACKHOLE_RULE = "rule add iif lo blackhole pref 1"


def route_commands(plan: Topology, node: str, old: Routes, new: Routes) -> Iterator[str]:
    """What leads from one set of routes to another; lines that fail had been done by the kernel."""
    for end, links in new[node].items():
        before = old[node].get(end, ()) if old else ()
        # Neighbours of an end know it by their own device.
        if links == before or any(plan.links[n].other(node) == end for n in links + before):
            continue
        home = plan.links_by_node[end][0]
        for family in plan.families:
            prefix = plan.subnet(home, family)
            if before:
                yield f"route del {prefix}"
            if links:
                yield f"route add {prefix} {_hops(plan, node, links, family)}"


def _hops(plan: Topology, node: str, links: tuple[int, ...], family: int) -> str:
    ways = [
        f"via {plan.address(n, plan.links[n].other(node), family)} dev {device_name(plan, n, node)}"  # type: ignore[arg-type]
        for n in links
    ]
    return ways[0] if len(ways) == 1 else " ".join(f"nexthop {way}" for way in ways)
