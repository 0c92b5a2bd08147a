"""What is true of a plan: ways, hops, round trips, loss, ISPs, and the tables of its addresses."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from testbed.namespaces.routing import Routes, find_routes
from testbed.namespaces.topology import Family, LinkShape, Topology

# A way is the numbers of the links that a packet takes, one after the other.
LinkPath = tuple[int, ...]


@dataclass(frozen=True)
class Truth:
    """A plan, with some links down."""

    plan: Topology
    routes: Routes
    down: frozenset[int] = frozenset()

    @classmethod
    def of(cls, plan: Topology, down: Iterable[int] = ()) -> "Truth":
        lost = frozenset(down)
        return cls(plan, find_routes(plan, lost), lost)

    def paths(self, start: str, end: str) -> list[LinkPath]:
        """All ways that packets may take, one for each choice of the balancers."""
        if start == end:
            return [()]
        return [
            (number, *rest)
            for number in self.routes[start][end]
            for rest in self.paths(self.plan.links[number].other(start), end)
        ]

    def nodes(self, start: str, way: LinkPath) -> list[str]:
        """The nodes of a way after its start."""
        names, at = [], start
        for number in way:
            at = self.plan.links[number].other(at)
            names.append(at)
        return names

    def hops(self, start: str, way: LinkPath, family: Family | None = None) -> list[str | None]:
        """The address that each hop answers with, nothing for silent ones; the last is the end.

        Routers answer from where the packet came in.
        """
        own = family or self.plan.families[0]
        return [
            None if self.plan.by_name[name].silent else self.plan.address(number, name, own)
            for name, number in zip(self.nodes(start, way), way, strict=True)
        ]

    def lines(self, way: LinkPath) -> list[LinkShape]:
        return [self.plan.links[number].line for number in way]

    def reachable(self, start: str, end: str) -> bool:
        """Whether packets come there and back."""
        return bool(self.paths(start, end)) and bool(self.paths(end, start))

    def rtt_ms(self, start: str, end: str) -> float:
        """Configured delay there and back; all ways of a balancer have the same."""
        there, back = self.paths(start, end)[0], self.paths(end, start)[0]
        return sum(line.delay_ms for line in self.lines(there + back))

    def loss(self, start: str, end: str) -> float:
        """The chance that a packet or its answer is lost."""
        kept = 1.0
        for line in self.lines(self.paths(start, end)[0] + self.paths(end, start)[0]):
            kept *= 1.0 - line.loss
        return 1.0 - kept

    def rate_mbit(self, start: str, end: str) -> float:
        """The narrowest link on the way; 0 when none is limited."""
        rates = [line.rate_mbit for line in self.lines(self.paths(start, end)[0])]
        return min((rate for rate in rates if rate), default=0.0)

    def isp(self, instance: str, end: str) -> int:
        """The first AS after the cloud's own on the way from an instance; 0 without a way."""
        for way in self.paths(instance, end):
            for name in self.nodes(instance, way):
                asn = self.plan.by_name[name].asn
                if asn != self.plan.cloud_asn:
                    return asn
        return 0


def isps_by_zone(truth: Truth) -> dict[tuple[str, str], set[int]]:
    """The ISP table of the plan, over all vantage points: ISPs by region and zone."""
    found: dict[tuple[str, str], set[int]] = {}
    for instance in truth.plan.of_kind("instance"):
        own = found.setdefault((instance.region, instance.zone), set())
        own |= {truth.isp(instance.name, v.name) for v in truth.plan.of_kind("vantage")} - {0}
    return found


def origin_lines(plan: Topology) -> str:
    """The table of origins as a text file: prefix, tab, AS; blocks of exchanges have none."""
    rows = [
        f"{plan.block_prefix(block, family)}\t{asn}"
        for block, asn in plan.blocks.items()
        for family in plan.families
        if asn
    ]
    return "\n".join(rows) + "\n"


def exchange_prefixes(plan: Topology) -> list[str]:
    """Prefixes that belong to exchanges."""
    own = [block for block, asn in plan.blocks.items() if not asn]
    return [plan.block_prefix(block, family) for block in own for family in plan.families]


def region_prefixes(plan: Topology) -> list[tuple[str, str]]:
    """The published ranges of the cloud: (prefix, region)."""
    return [
        (plan.subnet(plan.links_by_node[node.name][0], family), node.region)
        for node in plan.of_kind("instance")
        for family in plan.families
    ]


def range_file(plan: Topology) -> str:
    """The range file of the cloud, in the form of AWS's."""
    rows = region_prefixes(plan)
    four = [{"ip_prefix": p, "region": r, "service": "EC2"} for p, r in rows if ":" not in p]
    six = [{"ipv6_prefix": p, "region": r, "service": "EC2"} for p, r in rows if ":" in p]
    document = {
        "syncToken": "0",
        "createDate": "2013-03-27-00-00-00",
        "prefixes": four,
        "ipv6_prefixes": six,
    }
    return json.dumps(document, indent=1)


def describe(truth: Truth) -> dict[str, Any]:
    """All of it as plain data, for a page or a command."""
    plan = truth.plan
    pairs = [
        _pair(truth, v.name, i.name)
        for v in plan.of_kind("vantage")
        for i in plan.of_kind("instance")
    ]
    table = isps_by_zone(truth)
    return {
        "name": plan.name,
        "nodes": len(plan.nodes),
        "links": len(plan.links),
        "vantages": [_end(plan, n.name) for n in plan.of_kind("vantage")],
        "instances": [_end(plan, n.name) for n in plan.of_kind("instance")],
        "pairs": pairs,
        "isps": [{"region": r, "zone": z, "isps": sorted(own)} for (r, z), own in table.items()],
    }


def _end(plan: Topology, name: str) -> dict[str, Any]:
    node = plan.by_name[name]
    return {
        "name": name,
        "region": node.region,
        "zone": node.zone,
        "place": node.place,
        "address": plan.home(name),
        "address6": plan.home(name, 6),
    }


def _pair(truth: Truth, vantage: str, instance: str) -> dict[str, Any]:
    if not truth.reachable(vantage, instance):
        return {"vantage": vantage, "instance": instance, "reachable": False}
    return {
        "vantage": vantage,
        "instance": instance,
        "reachable": True,
        "rtt_ms": round(truth.rtt_ms(vantage, instance), 3),
        "loss": round(truth.loss(vantage, instance), 6),
        "rate_mbit": truth.rate_mbit(instance, vantage),
        "paths": len(truth.paths(vantage, instance)),
        "isp": truth.isp(instance, vantage),
    }
