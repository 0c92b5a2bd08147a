"""The delegation cache: zone cuts, addresses of their servers, and the health of each server.

Holds referrals that were checked; finds the deepest known cut of a name and a server to query.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice

from crawlers.engine.nameservers import Network, Server, may_query_found
from crawlers.iterative.referral import Referral, is_within

# Further addresses of a host name are ignored.
MAX_ADDRESSES_PER_HOST = 4
# Hosts of one cut that are requested at most: against delegations that name very many hosts of a
# victim ("NXNSAttack").
MAX_FURTHER_HOSTS = 6
# Shorter lives would only cost the parent's servers questions; longer ones keep what moved away.
MIN_TTL_S = 60
MAX_TTL_S = 86_400
# How long a zone without a usable server is answered for without asking anyone.
FAILURE_S = 10.0
# So often in a row a server has to disown a zone before it is taken at its word.
MAX_FAULTS = 3
_FAULT_MEMORY_S = 60.0
# A server that was silent twice in a row rests this long, and twice as long each further time.
_SILENCES_TO_REST = 2
# Until it was silent so often, a resting server is queried where a zone has no other.
_SILENCES_TO_GIVE_UP = 3
_REST_S = 2.0
_MAX_REST_S = 60.0
# Servers within this much of the fastest share the questions (Unbound's band is as wide).
_BAND_MS = 400.0
_PICKS_PER_ORDER = 256
# Silence counts against a server only while others reply: our own connection may be lost.
_HEARD_WITHIN_S = 1.0
# Names right below a cut that are known to be none, before they are forgotten.
_MAX_FLAT = 1_000
_NOTHING: Mapping[str, tuple[int, float]] = {}


@dataclass(slots=True, eq=False)
class ServerHealth:
    """One server address and how it behaves."""

    server: Server
    rtt_ms: float = 0.0
    silences: int = 0
    resting_until: float = 0.0

    def record_reply(self, rtt_ms: float | None) -> None:
        """It answered."""
        self.silences = 0
        self.resting_until = 0.0
        if rtt_ms is not None:
            self.rtt_ms += (rtt_ms - self.rtt_ms) / 8 if self.rtt_ms else rtt_ms

    def record_silence(self, now: float) -> None:
        """It did not answer."""
        self.silences += 1
        if self.silences >= _SILENCES_TO_REST or not self.rtt_ms:
            rest_s = _REST_S * 2 ** min(self.silences - 1, 10)
            self.resting_until = now + min(rest_s, _MAX_REST_S)


@dataclass(slots=True, eq=False)
class ZoneCut:
    """One zone: its servers as far as known, and which of them are queried first.

    ``hosts`` are names of servers with addresses not yet queried.
    """

    zone: str
    hosts: list[str]
    expires: float
    delegates: bool = False
    servers: list[ServerHealth] = field(default_factory=list)
    ready: list[ServerHealth] = field(default_factory=list)
    turn: int = 0
    # Most cuts never need these two, so they are made when first needed.
    faults: Mapping[str, tuple[int, float]] = field(default_factory=lambda: _NOTHING)
    # Names just below that are no zone cut, so that no query waits for a referral there.
    flat: Set[str] = frozenset()

    def pick(self, now: float) -> ServerHealth:
        """The next server in turn; only while ``ready`` holds one."""
        self.turn += 1
        if not self.turn % _PICKS_PER_ORDER:
            self.order(now)
        return self.ready[self.turn % len(self.ready)]

    def order(self, now: float) -> None:
        """Order the servers again; ``ready`` stays empty where none can be queried."""
        usable, faults = self._usable(now), self.faults
        if faults:
            usable = [h for h in usable if h.server.address not in faults] or usable
        limit_ms = min([h.rtt_ms for h in usable], default=0.0) + _BAND_MS
        self.ready = [h for h in usable if h.rtt_ms <= limit_ms]

    def others(self, tried: Iterable[str], now: float) -> list[ServerHealth]:
        """Servers that can still be queried, the best first."""
        left = set(tried)
        usable = [h for h in self._usable(now) if h.server.address not in left]
        return sorted(usable, key=lambda h: (h.server.address in self.faults, h.rtt_ms))

    def _usable(self, now: float) -> list[ServerHealth]:
        sound = self.servers
        if self.faults:
            sound = [h for h in sound if not self.is_lame(h, now)]
        awake = [h for h in sound if h.resting_until <= now]
        return awake or [h for h in sound if h.silences < _SILENCES_TO_GIVE_UP]

    def is_lame(self, health: ServerHealth, now: float) -> bool:
        """Whether the server disowned this zone so often that it is not asked any more."""
        count, until = self.faults.get(health.server.address, (0, 0.0))
        return count >= MAX_FAULTS and now < until

    def record_fault(self, health: ServerHealth, now: float, *, lasting: bool) -> None:
        """It gave no proper answer; one that is not ``lasting`` only puts others first."""
        count, until = self.faults.get(health.server.address, (0, 0.0))
        count = count + 1 if now < until else 1
        count = count if lasting else min(count, MAX_FAULTS - 1)
        self.faults = {**self.faults, health.server.address: (count, now + _FAULT_MEMORY_S)}
        self.order(now)

    def clear(self, health: ServerHealth, now: float) -> None:
        """It answered properly after all."""
        address = health.server.address
        if address in self.faults:
            self.faults = {a: fault for a, fault in self.faults.items() if a != address}
            self.order(now)

    def note_flat(self, name: str) -> None:
        """Record that a name just below is no zone cut."""
        if not isinstance(self.flat, set) or len(self.flat) >= _MAX_FLAT:
            self.flat = set()
        self.flat.add(name)


class DelegationCache:
    """A bounded cache of cuts, host addresses and server health, shared by all names."""

    def __init__(
        self,
        roots: Sequence[Server],
        *,
        port: int,
        allowed: Sequence[Network] = (),
        ipv6: bool = False,
        limit: int = 200_000,
    ) -> None:
        self.port = port
        self.ipv6 = ipv6
        self.limit = limit
        self.heard_at = 0.0
        self._may_query: Callable[[str], bool] = lambda a: may_query_found(a, allowed)
        self._health: dict[str, ServerHealth | None] = {}
        self._addresses: dict[str, tuple[tuple[str, ...], float]] = {}
        # The root is named by the operator, so any address goes; it neither ages nor leaves.
        self.root = ZoneCut("", [], float("inf"), delegates=True)
        self.root.servers = [ServerHealth(server) for server in roots]
        self.root.order(0.0)
        self._cuts: dict[str, ZoneCut] = {"": self.root}

    def __len__(self) -> int:
        return len(self._cuts)

    def find(self, name: str, now: float) -> tuple[ZoneCut, str]:
        """The deepest known cut at or above a name, and the name one label below it.

        The second is the cut's own name where that is what was requested.
        """
        get, child, zone = self._cuts.get, name, name
        while True:
            cut = get(zone)
            if cut is not None:
                if cut.expires > now:
                    return cut, child
                del self._cuts[zone]
            child = zone
            zone = zone[zone.find(".") + 1 :] if "." in zone else ""

    def add(self, referral: Referral, now: float) -> ZoneCut:
        """Record a delegation; what is known already stays as it is until its time is over."""
        known = self._cuts.get(referral.zone)
        if known is not None and known.expires > now:
            return known
        if len(self._cuts) >= self.limit:
            self._evict_oldest()
        expires = now + min(referral.ttl_s, MAX_TTL_S)
        delegates = "." not in referral.zone
        cut = ZoneCut(referral.zone, _further_hosts(referral), expires, delegates=delegates)
        self._cuts[referral.zone] = cut
        self._add_glue(cut, referral)
        cut.order(now)
        return cut

    def _add_glue(self, cut: ZoneCut, referral: Referral) -> None:
        counts = dict.fromkeys(referral.hosts, 0)
        for host, address in referral.glue:
            counts[host] += 1
            if counts[host] <= MAX_ADDRESSES_PER_HOST:
                self._add_server(cut, address)

    def add_servers(self, cut: ZoneCut, addresses: Iterable[str], now: float) -> bool:
        """Let a cut's server have these addresses, but for those that may not be queried.

        Returns whether the cut has got more servers by it.
        """
        known = len(cut.servers)
        for address in islice(addresses, MAX_ADDRESSES_PER_HOST):
            self._add_server(cut, address)
        cut.order(now)
        return len(cut.servers) > known

    def _add_server(self, cut: ZoneCut, address: str) -> None:
        health = self._health_of(address)
        if health is not None and health not in cut.servers:
            cut.servers.append(health)

    def _health_of(self, address: str) -> ServerHealth | None:
        try:
            return self._health[address]
        except KeyError:
            pass
        if len(self._health) >= self.limit:
            self._health.clear()  # cuts keep what they use; only the rest is learnt again
        usable = (self.ipv6 or ":" not in address) and self._may_query(address)
        found = self._health[address] = ServerHealth(Server(address, self.port)) if usable else None
        return found

    def _evict_oldest(self) -> None:
        for zone in list(islice(self._cuts, 1, 1 + max(1, self.limit // 16))):
            del self._cuts[zone]

    def store_addresses(
        self, host: str, addresses: tuple[str, ...], ttl_s: int, now: float
    ) -> None:
        """Remember what a host name resolved to; no address at all is remembered briefly."""
        if len(self._addresses) >= self.limit:
            self._addresses.clear()
        life_s = min(max(ttl_s, MIN_TTL_S), MAX_TTL_S) if addresses else FAILURE_S
        self._addresses[host] = (addresses, now + life_s)

    def addresses_of(self, host: str, now: float) -> tuple[str, ...] | None:
        """Known addresses of a host name; ``None``: it has to be requested."""
        addresses, expires = self._addresses.get(host, ((), 0.0))
        return addresses if now < expires else None

    def record_reply(self, health: ServerHealth, rtt_ms: float | None, now: float) -> None:
        """Record a reply of a server, whatever its content."""
        self.heard_at = now
        health.record_reply(rtt_ms)

    def record_silence(self, cut: ZoneCut, health: ServerHealth, now: float) -> None:
        """A server was silent."""
        if now - self.heard_at < _HEARD_WITHIN_S:
            health.record_silence(now)
            cut.order(now)


def _further_hosts(referral: Referral) -> list[str]:
    """Return hosts with addresses to be queried, those without glue first.

    Glue may be out of date, so even hosts that have some are requested when it is of no use. But
    for hosts within the zone the zone itself would have to be queried.
    """
    glued = {host for host, _ in referral.glue}
    outside = [h for h in referral.hosts if not is_within(h, referral.zone)]
    return sorted(outside, key=lambda h: h in glued)[:MAX_FURTHER_HOSTS]
