"""Records of a traceroute: one reply per probe packet, hop by hop, and the path."""

from dataclasses import dataclass

from probes.records import Outcome


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one packet; ``address`` is ``None`` on time-out.

    ``kind`` is hop, target, silent, or what a router refused with: net, host, protocol,
    prohibited, other.
    """

    ttl: int
    flow: int
    address: str | None = None
    rtt_ms: float | None = None
    kind: str = "silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Path(Outcome):
    """All replies in the order of hop and attempt; ``reached`` means that the target itself
    answered.

    With MDA, ``links`` are the pairs of neighbours seen by one flow: (hop of the first, first,
    second), where the source is the empty text at hop 0.
    """

    protocol: str = ""
    source: str = ""
    replies: tuple[Reply, ...] = ()
    reached: bool = False
    links: tuple[tuple[int, str, str], ...] = ()

    @property
    def values(self) -> tuple[float, ...]:
        """Round trips to the target itself."""
        return tuple(r.rtt_ms for r in self.replies if r.kind == "target" and r.rtt_ms is not None)

    @property
    def sent(self) -> int:
        return len(self.replies)

    @property
    def hops(self) -> tuple[tuple[str, ...], ...]:
        """The distinct addresses of each hop from the first on, in the order of arrival."""
        last = max((r.ttl for r in self.replies), default=0)
        found: list[dict[str, None]] = [{} for _ in range(last)]
        for reply in self.replies:
            if reply.address is not None:
                found[reply.ttl - 1][reply.address] = None
        return tuple(tuple(hop) for hop in found)


def count_paths(links: tuple[tuple[int, str, str], ...]) -> int:
    """Return the number of distinct paths along the links, from the source to their ends."""
    after: dict[tuple[int, str], list[tuple[int, str]]] = {}
    for ttl, first, second in links:
        after.setdefault((ttl, first), []).append((ttl + 1, second))
    ways: dict[tuple[int, str], int] = {}
    for node in sorted(after, reverse=True):
        ways[node] = sum(ways.get(n, 1) for n in after[node])
    return ways.get((0, ""), 0)
