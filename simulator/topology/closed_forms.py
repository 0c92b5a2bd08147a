"""Bisections by closed form, in units of a host cable."""


def fat_tree(k: int) -> float:
    """``k³/8``: half of the hosts, each with a cable of its own through the core."""
    return k**3 / 8


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int) -> float:
    """Half of the leaves, each with a cable to every spine, or half of the hosts."""
    return float(min(leaves // 2 * spines, leaves // 2 * hosts_per_leaf))


def vl2(d_a: int, d_i: int, servers: int, uplink: int) -> float:
    """The least of three layers: hosts, two uplinks of each rack, aggregation to intermediate."""
    n_tors = d_a * d_i / 4
    return min(n_tors * servers, n_tors * 2 * uplink, d_a * d_i / 2 * uplink) / 2


def bcube(n: int, k: int) -> float | None:
    """``n^(k+1)/2`` for even ``n``; none is known for odd ones."""
    return n ** (k + 1) / 2 if n % 2 == 0 else None


def jupiter(blocks: int, spines: int, racks: int, hosts_per_leaf: int) -> float | None:
    """Half of the blocks, each with one cable to every spine block; none for odd numbers."""
    if blocks % 2:
        return None
    half = blocks // 2
    return float(min(half * spines, half * racks * 4, half * racks * hosts_per_leaf))
