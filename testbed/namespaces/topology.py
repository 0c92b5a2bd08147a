"""What a laboratory Internet is made of: nodes, links with their true values, and addresses.

A plan is plain data; what is built from it and what is true of it are both read from here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address, ip_network
from typing import Literal

# Unannounced blocks, so that a laboratory is not mistaken for the Internet: a block
# that was never routed (IPv4), and one that is not given to any registry (IPv6).
_BLOCK_4, _BLOCK_6 = int(ip_address("28.0.0.0")), int(ip_address("2d00::"))
Kind = Literal["vantage", "router", "instance"]
Family = Literal[4, 6]


@dataclass(frozen=True, slots=True)
class Node:
    """One network namespace. ``asn`` 0 is unassigned; ``place`` is for maps."""

    name: str
    kind: Kind
    asn: int
    region: str = ""
    zone: str = ""
    place: str = ""
    # Routers that answer nothing, and that answer one error a second to each address.
    silent: bool = False
    limited: bool = False
    # Stub networks carry no transit traffic.
    stub: bool = False


@dataclass(frozen=True, slots=True)
class LinkShape:
    """What a link does to a packet, each way: delay, jitter around it, loss and rate (0: none)."""

    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    loss: float = 0.0
    rate_mbit: float = 0.0

    @property
    def plain(self) -> bool:
        return not (self.delay_ms or self.jitter_ms or self.loss or self.rate_mbit)


@dataclass(frozen=True, slots=True)
class Link:
    """Two nodes joined. ``metrics`` are what routes prefer, from the first and from the second.

    ``block`` is its address block; a link of block 0 has private addresses.
    """

    first: str
    second: str
    block: int
    line: LinkShape = field(default_factory=LinkShape)
    metrics: tuple[int, int] = (10, 10)

    def other(self, node: str) -> str:
        return self.second if node == self.first else self.first

    def metric(self, node: str) -> int:
        """What it costs to leave a node by this link."""
        return self.metrics[0] if node == self.first else self.metrics[1]


@dataclass(frozen=True)
class Topology:
    """All nodes and links. ``blocks`` are the AS of each numbered block; 0 is an exchange."""

    name: str
    provider: str
    cloud_asn: int
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    blocks: dict[int, int]
    # Links over which the first node of each sends packets by chance, whatever their flow.
    sprays: tuple[tuple[int, ...], ...] = ()
    # Address families of all nodes; the first is the default.
    families: tuple[Family, ...] = (4, 6)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def links_by_node(self) -> dict[str, list[int]]:
        """Numbers of the links of each node."""
        found: dict[str, list[int]] = {node.name: [] for node in self.nodes}
        for number, link in enumerate(self.links):
            found[link.first].append(number)
            found[link.second].append(number)
        return found

    @cached_property
    def _within(self) -> list[int]:
        """Which link of its block each link is."""
        seen: dict[int, int] = {}
        numbers = []
        for link in self.links:
            seen[link.block] = seen.get(link.block, -1) + 1
            numbers.append(seen[link.block])
        return numbers

    def of_kind(self, kind: Kind) -> list[Node]:
        return [node for node in self.nodes if node.kind == kind]

    def subnet(self, number: int, family: Family) -> str:
        """The prefix of a link."""
        block, within = self.links[number].block, self._within[number]
        if family == 4:
            base = _BLOCK_4 if block else int(ip_address("10.0.0.0"))
            return str(ip_network((base + (block << 16) + (within << 8), 30)))
        base = _BLOCK_6 if block else int(ip_address("fd00::"))
        return str(ip_network((base + (block << 96) + (within << 64), 64)))

    def address(self, number: int, node: str, family: Family) -> str:
        """The address of a node on a link."""
        network = ip_network(self.subnet(number, family))
        return str(network[1 if node == self.links[number].first else 2])

    def home(self, node: str, family: Family | None = None) -> str:
        """The address by which a vantage point or an instance is known."""
        return self.address(self.links_by_node[node][0], node, family or self.families[0])

    def block_prefix(self, block: int, family: Family) -> str:
        """All addresses of a block."""
        if family == 4:
            return str(ip_network((_BLOCK_4 + (block << 16), 16)))
        return str(ip_network((_BLOCK_6 + (block << 96), 32)))

    def links_of_as(self, asn: int) -> frozenset[int]:
        """Every link that ends at a node of an AS."""
        own = {node.name for node in self.nodes if node.asn == asn}
        ends = enumerate(self.links)
        return frozenset(n for n, link in ends if own & {link.first, link.second})


def ends_of(nodes: Iterable[Node]) -> list[str]:
    """The nodes that routes lead to."""
    return [node.name for node in nodes if node.kind != "router"]
