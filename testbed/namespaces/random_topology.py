"""Random topologies: six vantage points and four regions of two zones between some ISPs.

Load balancers have up to ``width`` paths; some routers are silent, some links private.
"""

import random
from dataclasses import dataclass

from testbed.namespaces.topology import Family, Link, LinkShape, Node, Topology
from testbed.namespaces.truth import Truth

CLOUD = 64_500
_VANTAGES, _REGIONS, _ZONES = 6, 4, "ab"
_TRIES = 100


@dataclass
class _TopologyBuilder:
    """What is drawn so far."""

    chance: random.Random
    nodes: list[Node]
    links: list[Link]

    def delay_ms(self) -> float:
        return self.chance.randrange(4, 20) / 2

    def join(self, first: str, second: str, block: int, line: LinkShape | None = None) -> None:
        metric = round(line.delay_ms * 100) + 1 if line else 1
        self.links.append(Link(first, second, block, line or LinkShape(), (metric, metric)))


def draw_topology(
    seed: int, isps: int = 3, width: int = 4, families: tuple[Family, ...] = (4, 6)
) -> Topology:
    """The plan of a seed; raises ``ValueError`` where none of many tries is sound."""
    for number in range(_TRIES):
        plan = _draw_candidate(random.Random(f"{seed}/{number}"), isps, width, families)
        if _is_valid(plan):
            return plan
    raise ValueError(f"no plan of {isps} ISPs and {width} ways is sound")


def _draw_candidate(
    chance: random.Random, isps: int, width: int, families: tuple[Family, ...]
) -> Topology:
    builder = _TopologyBuilder(chance, [], [])
    names = [f"t{n + 1}" for n in range(isps)]
    _draw_access(builder, names)
    _draw_cloud(builder, names)
    _draw_backbones(builder, names, width)
    blocks = {100: CLOUD} | {n + 1: CLOUD + n + 1 for n in range(isps)}
    blocks |= {11 + n: CLOUD + 10 + n for n in range(_VANTAGES)}
    return Topology(
        "drawn", "lab", CLOUD, tuple(builder.nodes), tuple(builder.links), blocks, families=families
    )


def _draw_access(builder: _TopologyBuilder, isps: list[str]) -> None:
    """The last of the vantage points loses packets."""
    for number in range(_VANTAGES):
        name, asn = f"v{number + 1}", CLOUD + 10 + number
        builder.nodes += [Node(name, "vantage", asn), Node(f"{name}-gw", "router", asn, stub=True)]
        builder.join(f"{name}-gw", name, 11 + number)
        loss = 0.02 if number == _VANTAGES - 1 else 0.0
        for isp in builder.chance.sample(isps, min(len(isps), 1 + number % 2)):
            line = LinkShape(
                builder.delay_ms(), 0.0, loss, builder.chance.choice([10.0, 20.0, 40.0])
            )
            builder.join(f"{name}-gw", f"{isp}-w", int(isp[1:]), line)


def _draw_cloud(builder: _TopologyBuilder, isps: list[str]) -> None:
    for number in range(_REGIONS):
        for zone in _ZONES:
            name, region = f"c{number + 1}-{zone}", f"drawn-{number + 1}"
            builder.nodes.append(Node(name, "instance", CLOUD, region, zone))
            builder.nodes.append(Node(f"{name}-gw", "router", CLOUD, region, zone, stub=True))
            builder.join(f"{name}-gw", name, 100)
            for isp in builder.chance.sample(isps, builder.chance.randint(1, len(isps))):
                line = LinkShape(builder.delay_ms())
                builder.join(f"{name}-gw", f"{isp}-e", int(isp[1:]), line)


def _draw_backbones(builder: _TopologyBuilder, isps: list[str], width: int) -> None:
    """The first ISP has the widest balancer, the second a silent way, the third private links."""
    for number, isp in enumerate(isps):
        asn, block = CLOUD + number + 1, 0 if number == 2 else number + 1
        ways = width if number == 0 else builder.chance.randint(1, width)
        builder.nodes += [Node(f"{isp}-{end}", "router", asn) for end in "we"]
        for way in range(ways):
            middle = f"{isp}-m{way + 1}"
            builder.nodes.append(Node(middle, "router", asn, silent=number == 1 and way == 0))
            builder.join(f"{isp}-w", middle, block)
            builder.join(middle, f"{isp}-e", block)
        for other in isps[number + 1 :]:
            builder.join(f"{isp}-w", f"{other}-w", number + 1, LinkShape(builder.delay_ms()))


def _is_valid(plan: Topology) -> bool:
    """All nodes reach each other, all ways between two take equally long, and none has two
    balancers: on older kernels, the second would choose as the first did."""
    truth = Truth.of(plan)
    for vantage in plan.of_kind("vantage"):
        for instance in plan.of_kind("instance"):
            for start, end in ((vantage.name, instance.name), (instance.name, vantage.name)):
                lines = [truth.lines(way) for way in truth.paths(start, end)]
                if len({sum(line.delay_ms for line in own) for own in lines}) != 1:
                    return False
                if any(_balancers(truth, start, end, way) > 1 for way in truth.paths(start, end)):
                    return False
    return True


def _balancers(truth: Truth, start: str, end: str, way: tuple[int, ...]) -> int:
    nodes = [start, *truth.nodes(start, way)[:-1]]
    return sum(len(truth.routes[node][end]) > 1 for node in nodes)
