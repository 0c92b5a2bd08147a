"""The CNAME chain and the addresses of a draft."""

import random
from collections.abc import Mapping, Sequence

from testbed.generate.addresses.allocator import AddressAllocator
from testbed.generate.addresses.pools import Pool
from testbed.world.drafts import Draft, PoolKey

FrontEnd = tuple[tuple[str, ...], tuple[str, ...]]  # CNAME targets, addresses
SHARED_HEROKU = "proxy.heroku.com"
_EDGES_PER_NAME = 2
_HOSTERS = 40


class FrontEndBuilder:
    """Builds the front end of each draft, in the order in which pools were demanded."""

    def __init__(
        self,
        pools: Mapping[PoolKey, Pool],
        edges: Sequence[str],
        allocator: AddressAllocator,
        heroku: str,
    ) -> None:
        self._pools = pools
        self._edges = edges
        self._allocator = allocator
        self._heroku = heroku
        self._serial = 0
        self._shared = tuple(
            pool.addresses[0]
            for key, pool in sorted(pools.items())
            if key[1] == "heroku" and key[3] and pool.addresses
        )

    def build(self, draft: Draft) -> FrontEnd:
        """Return the CNAME chain and the addresses of one draft."""
        self._serial += 1
        if draft.pinned and self._shared:
            return (self._heroku,), self._shared
        found = [
            (key, p)
            for key, count in draft.placements
            for p in self._pools[key].allocate(count, draft.machine_domain)
        ]
        addresses = [self._pools[key].addresses[p] for key, p in found]
        target = found[0] if found else None
        if draft.label == "cloudfront":
            addresses += self._edge_addresses()
        if draft.hybrid:
            addresses.append(self._allocator.other_address())
        return self._chain(draft, target), tuple(dict.fromkeys(addresses))

    def _edge_addresses(self) -> list[str]:
        start = self._serial * _EDGES_PER_NAME
        return [self._edges[(start + i) % len(self._edges)] for i in range(_EDGES_PER_NAME)]

    def _chain(self, draft: Draft, target: tuple[PoolKey, int] | None) -> tuple[str, ...]:
        n, region = self._serial, draft.regions[0]
        if draft.direct:
            return ()
        if draft.named or draft.label == "tm":
            position = target[1] if target else 0
            suffix = "trafficmanager.net" if draft.label == "tm" else "cloudapp.net"
            return (f"{draft.label}{position}-{region}.{suffix}",)
        chains = {
            "elb": (f"lb-{n}.{region}.elb.amazonaws.com",),
            "beanstalk": (
                f"env-{n}.elasticbeanstalk.com",
                f"awseb-{n}.{region}.elb.amazonaws.com",
            ),
            "heroku-elb": (f"app-{n}.herokussl.com", f"elb-{n}.{region}.elb.amazonaws.com"),
            "heroku": (f"app-{n}.herokuapp.com",),
            "cloudfront": (f"d{n:x}edge.cloudfront.net",),
            "cdn": (f"az{n}.vo.msecnd.net",),
        }
        return chains.get(draft.label, (f"host-{n}.hosting-{n % _HOSTERS}.example",))


def edge_addresses(count: int, allocator: AddressAllocator) -> list[str]:
    """Allocate the edge addresses of the CDN."""
    return [allocator.cdn_address() for _ in range(max(_EDGES_PER_NAME, count))]


def choose_named(drafts: Sequence[Draft], direct_share: float, rng: random.Random) -> None:
    """Let the Cloud Services that are in one region be reached by a name, but for a share."""
    able = [d for d in drafts if d.label == "cs" and len(d.regions) == 1]
    for draft in rng.sample(able, round(len(able) * (1 - direct_share))):
        draft.named = True
