"""Shortest ways over a plan: from every node to every end, by all equally good links.

Links that are down are left out, so a failure is a second look at the same plan.
"""

import heapq
from collections.abc import Iterable

from testbed.namespaces.topology import Topology, ends_of

# By node and end: numbers of the links that lead there, none where there is no way.
Routes = dict[str, dict[str, tuple[int, ...]]]


def find_routes(plan: Topology, down: Iterable[int] = ()) -> Routes:
    """The routes of every node."""
    lost = frozenset(down)
    found: Routes = {node.name: {} for node in plan.nodes}
    for end in ends_of(plan.nodes):
        costs = _costs(plan, end, lost)
        for node in found.keys() - {end}:
            found[node][end] = _next_links(plan, node, end, (costs, lost))
    return found


def _costs(plan: Topology, end: str, lost: frozenset[int]) -> dict[str, int]:
    """What it costs to come to an end from each node that has a way."""
    costs, heap = {end: 0}, [(0, end)]
    while heap:
        cost, node = heapq.heappop(heap)
        if cost > costs[node]:
            continue
        for number in plan.links_by_node[node]:
            near = plan.links[number].other(node)
            new = cost + plan.links[number].metric(near)
            if number in lost or not _forwards(plan, node, near, end):
                continue
            if new < costs.get(near, new + 1):
                costs[near] = new
                heapq.heappush(heap, (new, near))
    return costs


def _forwards(plan: Topology, node: str, near: str, end: str) -> bool:
    """Whether a node forwards its neighbour's packets to an end: hosts never do, and routers of the
    edge only from and to their own hosts."""
    own = plan.by_name[node]
    if node == end or own.kind != "router":
        return node == end
    homes = {plan.links[number].other(node) for number in plan.links_by_node[node]}
    return not own.stub or end in homes or plan.by_name[near].kind != "router"


def _next_links(
    plan: Topology, node: str, end: str, seen: tuple[dict[str, int], frozenset[int]]
) -> tuple[int, ...]:
    costs, lost = seen
    if node not in costs:
        return ()
    return tuple(
        number
        for number in plan.links_by_node[node]
        if number not in lost
        and (near := plan.links[number].other(node)) in costs
        and costs[near] + plan.links[number].metric(node) == costs[node]
        and _forwards(plan, near, node, end)
    )
