"""Builder of a DNS hierarchy: addresses, zones and delegations are added one by one."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from testbed.hierarchy.internet import Cut, Hierarchy, ServerBehaviour, Zone, parent_of
from testbed.server.answers import Row


@dataclass
class HierarchyBuilder:
    """Builds a hierarchy step by step."""

    rng: random.Random
    network: str
    world: Hierarchy = field(default_factory=lambda: Hierarchy(()))
    hosting_zones: list[Zone] = field(default_factory=list)
    # Zones that aliases may lead to, and names in them.
    resolvable: list[str] = field(default_factory=list)
    used: int = 0
    # Whether servers listen on ::1 as well.
    ipv6: bool = False

    def new_address(self, behaviour: ServerBehaviour = ServerBehaviour.PLAIN) -> str:
        """Allocate the next address of the network."""
        self.used += 1
        address = f"{self.network}.{self.used // 250}.{self.used % 250 + 1}"
        self.world.held[address] = []
        if behaviour is not ServerBehaviour.PLAIN:
            self.world.behaviours[address] = behaviour
        return address

    def data_address(self) -> str:
        """Draw an address for answers; it is never queried."""
        number = self.rng.randrange(1 << 17)
        return f"198.{18 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"

    def add_zone(self, apex: str, hosts: Iterable[str], *addresses: str) -> Zone:
        """Add a zone on these addresses without a delegation."""
        zone = self.world.zones[apex] = Zone(apex, tuple(hosts))
        zone.add(apex, "NS", *zone.hosts)
        zone.add(apex, "SOA", zone.soa[2])
        for address in addresses:
            self.world.held[address].append(apex)
        return zone

    def delegate(self, apex: str, hosts: Iterable[str], glue: Iterable[Row] = ()) -> None:
        """Delegate a zone from the zone above."""
        above = self.world.zone_of(parent_of(apex))
        above.delegate(apex, Cut(tuple(hosts), tuple(glue)))

    def addresses_of(self, host: str) -> tuple[str, ...]:
        """Addresses of a name server's host name."""
        return self.world.zone_of(host).rows[host, "A"]

    def add_delegated_zone(self, apex: str, *addresses: str) -> tuple[str, ...]:
        """Add and delegate a zone with in-bailiwick name servers and correct glue; return them."""
        hosts = tuple(f"ns{i}.{apex}" for i in range(1, len(addresses) + 1))
        zone = self.add_zone(apex, hosts, *addresses)
        for host, address in zip(hosts, addresses, strict=True):
            zone.add(host, "A", address)
        self.delegate(apex, hosts, zip(hosts, ["A"] * len(hosts), addresses, strict=True))
        return hosts

    def choose_hosting_zone(self) -> Zone:
        """Draw a hosting provider's zone."""
        return self.rng.choice(self.hosting_zones)

    def hosting_addresses(self, count: int = 2) -> list[str]:
        """Draw addresses of one hosting provider's servers."""
        hosts = self.rng.sample(self.choose_hosting_zone().hosts, count)
        return [address for host in hosts for address in self.addresses_of(host)]

    def shared_address(self, behaviour: ServerBehaviour) -> str:
        """Return the shared address with this behaviour."""
        for address, known in self.world.behaviours.items():
            if known is behaviour:
                return address
        return self.new_address(behaviour)
