"""What a world answers: names, aliases and records, before they are put on the wire."""

import hashlib
from dataclasses import dataclass

from testbed.worlds import Name, World, Zone

WORLD_NAME = "world.testbed.invalid"


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer: records as (owner, type, data), whether the name exists, and whose SOA fits."""

    records: tuple[tuple[str, str, str], ...]
    exists: bool
    apex: str
    fault: str = ""
    rotate: bool = False


class ZoneData:
    """Looks names up in a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.zones: dict[str, Zone] = {z.domain: z for z in world.zones}
        self.names: dict[str, Name] = {n.host: n for z in world.zones for n in z.names}
        self.parents = {
            ".".join(host.split(".")[i:])
            for z in world.zones
            for host in (n.host for n in z.names)
            for i in range(1, host.count("."))
        }
        self.targets: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for zone in world.zones:
            for name in zone.names:
                for i, target in enumerate(name.chain):
                    self.targets.setdefault(target, (name.chain[i + 1 :], name.addresses))
        self.text = f"nephoscope-testbed world={world.name} scale={world.scale} seed={world.seed}"

    def zone_of(self, name: str) -> Zone | None:
        """The listed domain that a name lies in."""
        while name:
            zone = self.zones.get(name)
            if zone:
                return zone
            name = name.partition(".")[2]
        return None

    def find(self, name: str, rrtype: str) -> Outcome:
        """What is true of (name, type)."""
        if name == WORLD_NAME and rrtype == "TXT":
            return Outcome(((name, "TXT", self.text),), True, name)
        zone = self.zone_of(name)
        if zone is not None:
            return self._in_zone(zone, name, rrtype)
        if name in self.world.hosts:
            data = ((name, "A", self.world.hosts[name]),) if rrtype == "A" else ()
            return Outcome(data, True, name)
        if name in self.targets:
            chain, addresses = self.targets[name]
            return Outcome(_records(name, chain, addresses, rrtype), True, name)
        return Outcome((), False, "invalid")

    def _in_zone(self, zone: Zone, name: str, rrtype: str) -> Outcome:
        apex = zone.domain
        if zone.fault:
            return Outcome((), True, apex, zone.fault)
        if rrtype == "NS":
            data = tuple((apex, "NS", s) for s in zone.servers) if name == apex else ()
            return Outcome(data, name == apex or name in self.names, apex)
        found = self.names.get(name)
        if found:
            return Outcome(_records(name, found.chain, found.addresses, rrtype), True, apex)
        if name == apex or name in self.parents:
            return Outcome((), True, apex)
        return self._wild(zone, name, rrtype)

    def _wild(self, zone: Zone, name: str, rrtype: str) -> Outcome:
        second = f"dev.{zone.domain}"
        if zone.wildcard == "second" and not name.endswith("." + second):
            return Outcome((), name == second, zone.domain)
        if not zone.wildcard:
            return Outcome((), False, zone.domain)
        addresses = zone.wildcard_addresses
        if zone.wildcard == "cname":
            chain = (f"catch-all.{zone.domain}",)
            return Outcome(_records(name, chain, addresses[:1], rrtype), True, zone.domain)
        if zone.wildcard == "rotating":
            first = hashlib.blake2b(name.encode(), digest_size=1).digest()[0] % 4
            addresses = (addresses * 2)[first : first + 2]
            return Outcome(_records(name, (), addresses, rrtype), True, zone.domain, rotate=True)
        return Outcome(_records(name, (), addresses[:1], rrtype), True, zone.domain)

    def transfer(self, zone: Zone) -> list[tuple[str, str, str]]:
        """Every record of a zone, without the SOA at both ends."""
        records = [(zone.domain, "NS", s) for s in zone.servers]
        for name in zone.names:
            if name.chain:
                records.append((name.host, "CNAME", name.chain[0]))
            else:
                records += [(name.host, "A", a) for a in name.addresses]
        return records


def _records(
    owner: str, chain: tuple[str, ...], addresses: tuple[str, ...], rrtype: str
) -> tuple[tuple[str, str, str], ...]:
    records = []
    for target in chain:
        records.append((owner, "CNAME", target))
        owner = target
    if rrtype == "A":
        records += [(owner, "A", a) for a in addresses]
    return tuple(records)
