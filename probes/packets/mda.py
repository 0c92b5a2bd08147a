"""Multipath detection algorithm (MDA): find the next hops of each router by varying the flow.

The stopping rule is that of Veitch, Augustin, Friedman and Teixeira (Infocom 2009): enough flows
that a further neighbour would have been missed with at most the given probability.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, log

from probes.packets.hops import Reply

# Sends packets of (hop, flow) and gives their replies in the same order.
Send = Callable[[Sequence[tuple[int, int]]], list[Reply]]
# Placeholders for routers without an answer, and for the source.
_UNNAMED = ""
# Flows that are tried to reach one router; a router behind a wide balancer is hit by few.
MAX_FLOWS = 512


def flows_needed(found: int, risk: float) -> int:
    """Return the flows to test before ``found`` next hops count as all (MDA's n_k)."""
    known = max(found, 1)
    return ceil(log(risk / (known + 1)) / log(known / (known + 1)))


@dataclass
class MultipathDetection:
    """State of an MDA run: the reply of each (hop, flow), and the links between hops."""

    send: Send
    target: str
    risk: float = 0.05
    replies: dict[tuple[int, int], Reply] = field(default_factory=dict)
    links: set[tuple[int, str, str]] = field(default_factory=set)
    # Hops at which some flow had no answer, whatever was tried.
    silent_at: set[int] = field(default_factory=set)

    def explore(self, max_ttl: int, silent_hops: int) -> None:
        """Probe hop by hop, until all flows reach the target or hops stay silent."""
        routers, silence = {_UNNAMED}, 0
        for ttl in range(max_ttl):
            # Silent routers come last: they get the links that no other router explains.
            order = sorted(routers, key=lambda name: (name == _UNNAMED, name))
            found = {name for router in order for name in self._follow(ttl, router)}
            silence = 0 if found else silence + 1
            going_on = {f for f in found if not self._ended(ttl + 1, f)}
            if silence >= silent_hops or (found and not going_on):
                return
            # Behind a silent hop, and behind silent routers beside others, flows act as if from
            # one unnamed router.
            silent = {_UNNAMED} if not going_on or ttl + 1 in self.silent_at else set()
            routers = going_on | silent

    def _follow(self, ttl: int, router: str) -> set[str]:
        """Find the next hops of one router by flows that pass it."""
        found: set[str] = set()
        tested: set[int] = set()
        while len(tested) < flows_needed(len(found), self.risk):
            wanted = flows_needed(len(found), self.risk) - len(tested)
            flows = self._flows_through(ttl, router, tested, wanted)
            if not flows:
                break
            tested.update(flows)
            for flow, reply in zip(flows, self._probe(ttl + 1, flows), strict=True):
                if reply.address is not None:
                    found.add(reply.address)
                    self._link(ttl, flow, reply.address)
        return found

    def _flows_through(self, ttl: int, router: str, tested: set[int], wanted: int) -> list[int]:
        """Flows that reach a router and were not tested; tries new ones until there are enough."""
        if router == _UNNAMED:
            return [f for f in range(MAX_FLOWS) if f not in tested][:wanted]
        own = [f for f in self._known(ttl, router) if f not in tested]
        fresh = max((f for t, f in self.replies if t == ttl), default=-1) + 1
        while len(own) < wanted and fresh < MAX_FLOWS:
            batch = list(range(fresh, min(fresh + wanted, MAX_FLOWS)))
            fresh += len(batch)
            self._probe(ttl, batch)
            own = [f for f in self._known(ttl, router) if f not in tested]
        return own[:wanted]

    def _probe(self, ttl: int, flows: Iterable[int]) -> list[Reply]:
        wanted = list(flows)
        new = [(ttl, f) for f in wanted if (ttl, f) not in self.replies]
        for place, reply in zip(new, self.send(new) if new else [], strict=True):
            self.replies[place] = reply
            if reply.address is None:
                self.silent_at.add(ttl)
        return [self.replies[ttl, f] for f in wanted]

    def _known(self, ttl: int, router: str) -> list[int]:
        return sorted(f for (t, f), r in self.replies.items() if t == ttl and r.address == router)

    def _link(self, ttl: int, flow: int, address: str) -> None:
        before = self.replies.get((ttl, flow))
        named = {first for t, first, second in self.links if (t, second) == (ttl, address)}
        if before is None and ttl and named - {"*"}:
            # The previous hop of this flow is unknown, and another link to the address is known.
            return
        first = (before.address or "*") if before else _UNNAMED if ttl == 0 else "*"
        self.links.add((ttl, first, address))

    def _ended(self, ttl: int, address: str) -> bool:
        kinds = {r.kind for (t, _), r in self.replies.items() if t == ttl and r.address == address}
        return address == self.target or "hop" not in kinds
