"""Builders of topologies from their published definitions.

Fat-tree: Al-Fares et al., SIGCOMM 2008. VL2: Greenberg et al., SIGCOMM 2009. BCube: Guo et al.,
SIGCOMM 2009. Jellyfish: Singla et al., NSDI 2012. F10: Liu et al., NSDI 2013. Jupiter: Singh et
al., SIGCOMM 2015.
"""

import numpy as np

from core.errors import BadInput
from simulator.topology.graph import Integers, Topology

# Above this number of cables a graph is not built, so that a run stays within memory.
MAX_CABLES = 2_000_000


def build_fat_tree(k: int) -> Topology:
    """Connect ``k`` pods of ``k/2`` edge and ``k/2`` aggregation switches by ``k²/4`` others."""
    half = _half(k, "k")
    edge, aggregation, core = _fat_tree_numbers(k)
    up = np.stack(np.broadcast_arrays(edge[:, :, None], aggregation[:, None, :]), -1).reshape(-1, 2)
    # Aggregation switch ``j`` of every pod connects to the core switches j·k/2 … j·k/2 + k/2 − 1.
    to_core = core.reshape(half, half)
    down = np.stack(np.broadcast_arrays(aggregation[:, :, None], to_core[None]), -1)
    return _fat_tree("fat-tree", k, np.vstack([up, down.reshape(-1, 2)]))


def build_f10(k: int) -> Topology:
    """Build an AB fat-tree: pods of type B connect to the core by columns instead of rows.

    Subtrees of type A and B alternate, so that a parent of one type has children with other
    parents of the other type (F10, section 4.1).
    """
    half = _half(k, "k")
    edge, aggregation, core = _fat_tree_numbers(k)
    up = np.stack(np.broadcast_arrays(edge[:, :, None], aggregation[:, None, :]), -1).reshape(-1, 2)
    grid = core.reshape(half, half)
    down = [
        np.stack(np.broadcast_arrays(switches[:, None], grid if pod % 2 == 0 else grid.T), -1)
        for pod, switches in enumerate(aggregation)
    ]
    return _fat_tree("f10", k, np.vstack([up, np.concatenate(down).reshape(-1, 2)]))


def build_leaf_spine(leaves: int, spines: int, hosts_per_leaf: int) -> Topology:
    """Connect each of ``leaves`` to each of ``spines`` by one cable."""
    n_hosts = leaves * hosts_per_leaf
    _check_size(leaves * spines + n_hosts)
    leaf = n_hosts + np.arange(leaves)
    spine = n_hosts + leaves + np.arange(spines)
    return Topology(
        kind="leaf-spine",
        n_hosts=n_hosts,
        links=_product(leaf, spine),
        host_links=_attach(n_hosts, leaf),
        levels=np.repeat([0, 1], [leaves, spines]),
        pods=np.concatenate([np.arange(leaves), np.full(spines, -1)]),
        capacities=np.ones(leaves * spines, np.int64),
        level_names=("leaf", "spine"),
    )


def build_vl2(d_a: int, d_i: int, servers: int = 20, uplink: int = 10) -> Topology:
    """Build VL2 with ``d_a`` ports per aggregation and ``d_i`` per intermediate switch.

    ``d_a·d_i/4`` top-of-rack switches of ``servers`` hosts, ``d_i`` aggregation and ``d_a/2``
    intermediate switches; cables between switches carry ``uplink`` times those of hosts.
    """
    if d_a % 2 or (d_a * d_i) % 4:
        raise BadInput(f"{d_a} is not even, with d_a·d_i divisible by 4", field="d_a")
    n_tors = d_a * d_i // 4
    n_hosts = n_tors * servers
    _check_size(n_hosts + 2 * n_tors + d_a * d_i // 2)
    tor = n_hosts + np.arange(n_tors)
    aggregation = tor[-1] + 1 + np.arange(d_i)
    intermediate = aggregation[-1] + 1 + np.arange(d_a // 2)
    # Two aggregation switches for each rack; d_a/2 racks for each aggregation switch.
    first = np.arange(n_tors) % d_i
    second = (first + 1 + (np.arange(n_tors) // d_i) % (d_i - 1)) % d_i if d_i > 1 else first
    if d_i > 1 and n_tors % d_i:
        second = (first + 1) % d_i
    links = np.vstack(
        [
            np.stack([tor, aggregation[first]], 1),
            np.stack([tor, aggregation[second]], 1),
            _product(aggregation, intermediate),
        ]
    )
    return Topology(
        kind="vl2",
        n_hosts=n_hosts,
        links=links,
        host_links=_attach(n_hosts, tor),
        levels=np.repeat([0, 1, 2], [n_tors, d_i, d_a // 2]),
        pods=np.concatenate([np.arange(n_tors), np.full(d_i + d_a // 2, -1)]),
        capacities=np.full(len(links), uplink, np.int64),
        level_names=("top of rack", "aggregation", "intermediate"),
    )


def build_bcube(n: int, k: int) -> Topology:
    """Build BCube(n, k): ``n^(k+1)`` servers, ``k+1`` levels of ``n^k`` switches with ``n`` ports.

    The server with digits ``a_k … a_0`` connects at level ``l`` to the switch of all its digits
    but ``a_l``.
    """
    n_hosts, per_level = n ** (k + 1), n**k
    _check_size(n_hosts * (k + 1))
    hosts = np.arange(n_hosts)
    links = []
    for level in range(k + 1):
        low, high = hosts % n**level, hosts // n ** (level + 1)
        switch = n_hosts + level * per_level + high * n**level + low
        links.append(np.stack([hosts, switch], 1))
    return Topology(
        kind="bcube",
        n_hosts=n_hosts,
        links=np.zeros((0, 2), np.int64),
        host_links=np.vstack(links),
        levels=np.repeat(np.arange(k + 1), per_level),
        pods=np.concatenate([np.arange(per_level), np.full(k * per_level, -1)]),
        capacities=np.zeros(0, np.int64),
        level_names=tuple(f"level {level}" for level in range(k + 1)),
    )


def build_jellyfish(n: int, k: int, r: int, seed: int) -> Topology:
    """Build RRG(n, k, r): ``n`` switches of ``k`` ports, ``r`` of them to random other switches."""
    if r > k:
        raise BadInput(f"{r} is more than k, which is {k}", field="r")
    if r >= n or (n * r) % 2:
        raise BadInput(f"{r} is not below n, with n·r even", field="r")
    n_hosts = n * (k - r)
    _check_size(n * r // 2 + n_hosts)
    links = _random_regular(n, r, np.random.default_rng(seed)) + n_hosts
    return Topology(
        kind="jellyfish",
        n_hosts=n_hosts,
        links=links,
        host_links=_attach(n_hosts, n_hosts + np.arange(n)),
        levels=np.zeros(n, np.int64),
        pods=np.arange(n),
        capacities=np.ones(len(links), np.int64),
    )


def build_jupiter(blocks: int, spines: int, racks: int, hosts_per_leaf: int) -> Topology:
    """Build ``blocks`` of ``racks`` top-of-rack and 4 middle switches over a spine matrix.

    Each middle switch has one cable to every rack of its block and to a quarter of the spine
    blocks, as the aggregation blocks of Jupiter are wired. A model of the shape: sizes and
    striping of the published fabric differ.
    """
    middles = 4
    if spines % middles:
        raise BadInput(f"{spines} is not divisible by {middles}", field="spines")
    n_tors, n_middle = blocks * racks, blocks * middles
    n_hosts = n_tors * hosts_per_leaf
    _check_size(n_hosts + n_tors * middles + blocks * spines)
    tor = (n_hosts + np.arange(n_tors)).reshape(blocks, racks)
    middle = (n_hosts + n_tors + np.arange(n_middle)).reshape(blocks, middles)
    spine = (n_hosts + n_tors + n_middle + np.arange(spines)).reshape(middles, -1)
    inside = np.stack(np.broadcast_arrays(tor[:, :, None], middle[:, None, :]), -1)
    above = np.stack(np.broadcast_arrays(middle[:, :, None], spine[None]), -1)
    links = np.vstack([inside.reshape(-1, 2), above.reshape(-1, 2)])
    return Topology(
        kind="jupiter",
        n_hosts=n_hosts,
        links=links,
        host_links=_attach(n_hosts, tor.ravel()),
        levels=np.repeat([0, 1, 2], [n_tors, n_middle, spines]),
        pods=np.concatenate(
            [
                np.repeat(np.arange(blocks), racks),
                np.repeat(np.arange(blocks), middles),
                np.full(spines, -1),
            ]
        ),
        capacities=np.ones(len(links), np.int64),
        level_names=("top of rack", "middle", "spine"),
    )


def _fat_tree_numbers(k: int) -> tuple[Integers, Integers, Integers]:
    half, n_hosts = k // 2, k**3 // 4
    _check_size(3 * n_hosts)
    edge = n_hosts + np.arange(k * half).reshape(k, half)
    aggregation = edge + k * half
    core = n_hosts + 2 * k * half + np.arange(half * half)
    return edge, aggregation, core


def _fat_tree(kind: str, k: int, links: Integers) -> Topology:
    half = k // 2
    edge, _, _ = _fat_tree_numbers(k)
    pods = np.repeat(np.arange(k), half)
    return Topology(
        kind=kind,
        n_hosts=k**3 // 4,
        links=links,
        host_links=_attach(k**3 // 4, edge.ravel()),
        levels=np.repeat([0, 1, 2], [k * half, k * half, half * half]),
        pods=np.concatenate([pods, pods, np.full(half * half, -1)]),
        capacities=np.ones(len(links), np.int64),
        level_names=("edge", "aggregation", "core"),
    )


def _half(k: int, name: str) -> int:
    if k % 2 or k < 2:
        raise BadInput(f"{k} is not an even number from 2", field=name)
    return k // 2


def _check_size(n_cables: int) -> None:
    if n_cables > MAX_CABLES:
        raise BadInput(
            f"this topology has {n_cables:,} cables; at most {MAX_CABLES:,} are built",
            field="kind",
        )


def _product(first: Integers, second: Integers) -> Integers:
    return np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], 1)


def _attach(n_hosts: int, switches: Integers) -> Integers:
    """Cables of hosts, in equal numbers to each switch."""
    hosts = np.arange(n_hosts)
    return np.stack([hosts, np.repeat(switches, n_hosts // len(switches))], 1)


def _random_regular(n: int, r: int, random: np.random.Generator) -> Integers:
    """A random graph in which every one of ``n`` nodes has ``r`` neighbours.

    Ports are paired at random; a pair that is a loop or exists already exchanges one end with a
    random other edge until none is left, as Jellyfish inserts switches.
    """
    ends = random.permutation(np.repeat(np.arange(n), r)).reshape(-1, 2)
    edges = [(int(min(a, b)), int(max(a, b))) for a, b in ends]
    count: dict[tuple[int, int], int] = {}
    for edge in edges:
        count[edge] = count.get(edge, 0) + 1
    wrong = [i for i, e in enumerate(edges) if e[0] == e[1] or count[e] > 1]
    while wrong:
        i = wrong.pop()
        (a, b), j = edges[i], int(random.integers(len(edges)))
        if a != b and count[edges[i]] == 1:
            continue
        c, d = edges[j] if random.random() < 0.5 else edges[j][::-1]
        first, second = (min(a, c), max(a, c)), (min(b, d), max(b, d))
        if i == j or a == c or b == d or count.get(first, 0) or count.get(second, 0):
            wrong.append(i)
            continue
        for old in (edges[i], edges[j]):
            count[old] -= 1
        edges[i], edges[j] = first, second
        for new in (first, second):
            count[new] = count.get(new, 0) + 1
    return np.array(edges, np.int64)
