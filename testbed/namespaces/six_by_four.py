"""The plan that tests and demonstrations use: six vantage points, four regions of two zones.

Five ISPs lie between: two with balancers, one that its customers reach at an exchange, one that a
vantage point depends on. Routes are the quickest ways, and some differ there and back.
"""

from testbed.namespaces.topology import Link, LinkShape, Node, Topology

CLOUD, EXCHANGE = 64_500, 200
# Documentation's AS numbers (RFC 5398); a block of addresses has the number beside it.
_ISPS = {"t1": 64_501, "t2": 64_502, "t3": 64_503, "t4": 64_504, "t5": 64_505}
# Vantage points: the place, and each uplink's delay in ms, one way.
_VANTAGES: dict[str, tuple[str, dict[str, float]]] = {
    "berlin": ("Berlin, DE", {"t1": 4.0, "t2": 9.0}),
    "toronto": ("Toronto, CA", {"t1": 5.0, "t4": 8.0}),
    "tokyo": ("Tokyo, JP", {"t2": 4.0, "t3": 7.0}),
    "mumbai": ("Mumbai, IN", {"t5": 6.0}),
    "saopaulo": ("São Paulo, BR", {"t4": 4.0, "t3": 9.0}),
    "sydney": ("Sydney, AU", {"t3": 5.0, "t5": 8.0}),
}
# What uplinks do beside their delay; the others carry 40 Mbit/s and lose nothing.
_UPLINKS = {
    "saopaulo": {"loss": 0.02, "rate_mbit": 40.0},
    "mumbai": {"rate_mbit": 10.0},
    "sydney": {"jitter_ms": 0.3, "rate_mbit": 20.0},
}
# Regions: the place, and the delay to each ISP by zone.
_REGIONS: dict[str, tuple[str, dict[str, dict[str, float]]]] = {
    "lab-us": (
        "Ashburn, US",
        {"a": {"t1": 3.0, "t2": 6.0, "t5": 9.0}, "b": {"t1": 3.5, "t3": 8.0, "t5": 9.5}},
    ),
    "lab-eu": (
        "Dublin, IE",
        {"a": {"t1": 2.0, "t4": 7.0, "t5": 5.0}, "b": {"t1": 2.5, "t2": 9.0, "t5": 5.5}},
    ),
    "lab-asia": (
        "Singapore, SG",
        {"a": {"t2": 3.0, "t3": 4.0, "t5": 3.0}, "b": {"t3": 4.5, "t5": 3.5}},
    ),
    "lab-br": (
        "São Paulo, BR",
        {"a": {"t4": 2.0, "t5": 11.0, "t1": 12.0}, "b": {"t4": 2.5, "t3": 8.0}},
    ),
}
# Routers of an ISP: ingress of vantage points, parallel routers, ingress of clouds.
_INSIDE = {
    "t1": ("t1-w", ("t1-m1", "t1-m2", "t1-m3"), "t1-e"),
    "t2": ("t2-w", ("t2-m1", "t2-m2"), "t2-e"),
    "t3": ("t3", (), "t3"),
    "t4": ("t4-w", (), "t4-e"),
    "t5": ("t5", (), "t5"),
}
# ISPs that exchange traffic: both routers, and the delay between them.
_PEERS = (
    ("t1-w", "t3", 6.0),
    ("t2-w", "t3", 5.0),
    ("t4-w", "t3", 7.0),
    ("t1-w", "t4-w", 9.0),
    ("t3", "t5", 6.0),
)


def six_by_four() -> Topology:
    """The plan."""
    blocks = {100: CLOUD, EXCHANGE: 0}
    blocks |= {asn - CLOUD: asn for asn in _ISPS.values()}
    blocks |= {11 + n: 64_510 + n for n in range(len(_VANTAGES))}
    nodes, links = [], []
    for part in (_access, _clouds, _backbones):
        own_nodes, own_links = part()
        nodes += own_nodes
        links += own_links
    return Topology("six-by-four", "lab", CLOUD, tuple(nodes), tuple(links), blocks)


def _metric(delay_ms: float) -> int:
    return round(delay_ms * 10) + 1


def _access() -> tuple[list[Node], list[Link]]:
    """Return vantage points behind their network's router, with its uplinks."""
    nodes, links = [], []
    for number, (name, (place, uplinks)) in enumerate(_VANTAGES.items()):
        asn, router = 64_510 + number, f"{name}-gw"
        nodes += [Node(name, "vantage", asn, place=place), Node(router, "router", asn, stub=True)]
        links.append(Link(router, name, 11 + number))
        for isp, delay_ms in uplinks.items():
            line = LinkShape(delay_ms, **{"rate_mbit": 40.0, **_UPLINKS.get(name, {})})
            metric = _metric(delay_ms)
            links.append(Link(router, _INSIDE[isp][0], _ISPS[isp] - CLOUD, line, (metric, metric)))
    return nodes, links


def _clouds() -> tuple[list[Node], list[Link]]:
    """An instance and a border router in each zone."""
    nodes, links = [], []
    for region, (place, zones) in _REGIONS.items():
        for zone, isps in zones.items():
            name = f"{region.removeprefix('lab-')}-{zone}"
            nodes.append(Node(name, "instance", CLOUD, region, zone, place))
            nodes.append(Node(f"{name}-gw", "router", CLOUD, region, zone, stub=True))
            links.append(Link(f"{name}-gw", name, 100))
            links += [_border(f"{name}-gw", isp, delay) for isp, delay in isps.items()]
    return nodes, links


def _border(router: str, isp: str, delay_ms: float) -> Link:
    """Clouds meet one ISP at an exchange; another likes to send, not to receive."""
    block = EXCHANGE if isp == "t4" else _ISPS[isp] - CLOUD
    metric = _metric(delay_ms)
    towards = metric - 25 if isp == "t5" else metric
    return Link(router, _INSIDE[isp][2], block, LinkShape(delay_ms), (max(towards, 1), metric))


def _backbones() -> tuple[list[Node], list[Link]]:
    """Routers of the ISPs, and where ISPs meet."""
    nodes: dict[str, Node] = {}
    links = []
    for isp, (first, middle, last) in _INSIDE.items():
        asn = _ISPS[isp]
        nodes |= {n: Node(n, "router", asn) for n in (first, *middle, last)}
        pairs = [pair for m in middle for pair in ((first, m), (m, last))]
        if first != last and not middle:
            pairs = [(first, last)]
        links += [Link(a, b, asn - CLOUD, metrics=(1, 1)) for a, b in pairs]
    for first, second, delay_ms in _PEERS:
        block = nodes[first].asn - CLOUD
        metric = _metric(delay_ms)
        links.append(Link(first, second, block, LinkShape(delay_ms), (metric, metric)))
    return list(nodes.values()), links
