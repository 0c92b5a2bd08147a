"""Addresses of a world: pools per provider, region and service, with what is true of each."""

import ipaddress
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Space that no provider publishes (RFC 2544), for everything that stands outside the clouds.
OTHER_BLOCK = "198.18.0.0/15"
Blocks = Mapping[tuple[str, str, str], Sequence[str]]  # (provider, region, service) -> prefixes
COMPUTE, EDGE = "compute", "edge"
_ZONE_LABELS = "abc"


@dataclass(frozen=True, slots=True)
class Truth:
    """What is true of one address; ``region`` is empty for an edge network."""

    provider: str
    region: str
    service: str
    prefix: str
    zone: str = ""


def invent_blocks(regions: Mapping[str, Sequence[str]]) -> dict[tuple[str, str, str], list[str]]:
    """Two /16 per region and one edge block per provider, away from each other."""
    blocks: dict[tuple[str, str, str], list[str]] = {}
    second = 0
    for first, (provider, codes) in zip((54, 137, 34), regions.items(), strict=False):
        for code in codes:
            blocks[provider, code, COMPUTE] = [f"{first}.{second + i}.0.0/16" for i in (0, 1, 2)]
            second += 4
    blocks["aws", "", EDGE] = ["205.251.192.0/18"]
    return blocks


@dataclass
class AddressBook:
    """Hands out addresses and remembers the truth about each."""

    blocks: Blocks
    rng: random.Random
    truth: dict[str, Truth] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    _other: int = 0
    _used: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def pool(self, provider: str, region: str, service: str, size: int) -> list[str]:
        """``size`` new addresses of one place; falls back to another region with a note."""
        key = self._available(provider, region, service)
        networks = [ipaddress.IPv4Network(p) for p in self.blocks[key]]
        start = self._used.get(key, 0)
        self._used[key] = start + size
        return [self._nth(networks, start + i, key) for i in range(size)]

    def _available(self, provider: str, region: str, service: str) -> tuple[str, str, str]:
        if self.blocks.get((provider, region, service)):
            return provider, region, service
        others = sorted(k for k in self.blocks if k[0] == provider and k[2] == service)
        others = others or sorted(k for k in self.blocks if k[0] == provider)
        note = f"{provider} {region or service} has no prefix in the files; {others[0][1]} used"
        if note not in self.notes:
            self.notes.append(note)
        return others[0]

    def _nth(self, networks: list[ipaddress.IPv4Network], n: int, key: tuple[str, str, str]) -> str:
        # Spread over all prefixes of the place, so that every one of them is used.
        network = networks[n % len(networks)]
        offset = (n // len(networks)) * 7 + 10
        address = str(network[offset % network.num_addresses])
        zone = _ZONE_LABELS[n % len(networks) % 3] if key[2] == COMPUTE else ""
        self.truth[address] = Truth(key[0], key[1], key[2], str(network), zone)
        return address

    def other(self) -> str:
        """An address outside every provider."""
        self._other += 1
        base = int(ipaddress.ip_network(OTHER_BLOCK).network_address)
        return str(ipaddress.ip_address(base + 16 + self._other % 120_000))


class Dealer:
    """Deals from a pool in turn, so that every address is used before one is used twice."""

    def __init__(self, addresses: list[str]) -> None:
        self.addresses = addresses
        self.position = 0

    def deal(self, count: int) -> tuple[str, ...]:
        """``count`` distinct addresses (fewer when the pool is smaller)."""
        count = min(count, len(self.addresses))
        size = len(self.addresses)
        dealt = tuple(self.addresses[(self.position + i) % size] for i in range(count))
        self.position = (self.position + count) % size
        return dealt
