"""How many balancers multipath detection leaves incomplete, and how many it may.

MDA stops at each balancer with at most a given probability of a missed next hop (Veitch et al.,
Infocom 2009). Over many balancers some misses are therefore expected: their number is at most
binomial, so that a measurement is wrong where it has more than chance explains.
"""

from collections.abc import Collection, Sequence
from math import comb

# Hop by hop, the addresses of one way; silent routers have none.
Way = Sequence[str | None]
Hop = tuple[int, str]
# Chance below which misses are not explained by the stopping rule.
UNEXPLAINED = 0.001


def find_balancers(ways: Collection[Way]) -> dict[tuple[int, str | None], set[Hop]]:
    """Return the next hops of each balancer of a pair, by its hop and address.

    A balancer has two or more next hops with an address; the source is hop 0.
    """
    found: dict[tuple[int, str | None], set[Hop]] = {}
    for way in ways:
        for ttl, address in enumerate(way, 1):
            before = (ttl - 1, way[ttl - 2] if ttl > 1 else None)
            found.setdefault(before, set()).update({(ttl, address)} if address else ())
    return {place: hops for place, hops in found.items() if len(hops) > 1}


def count_incomplete(ways: Collection[Way], seen: Collection[Hop]) -> tuple[int, int]:
    """Return the balancers of a pair, and those with a next hop that was not seen.

    A balancer behind a missed hop was not tested, and is none of either.
    """
    tested = {
        place: hops
        for place, hops in find_balancers(ways).items()
        if place[1] is None or place in seen
    }
    return len(tested), sum(not hops <= set(seen) for hops in tested.values())


def chance_of(incomplete: int, balancers: int, risk: float) -> float:
    """Return the greatest chance of so many incomplete balancers or more, each with the risk."""
    fewer = (
        comb(balancers, k) * risk**k * (1 - risk) ** (balancers - k) for k in range(incomplete)
    )
    return max(0.0, 1.0 - sum(fewer))
