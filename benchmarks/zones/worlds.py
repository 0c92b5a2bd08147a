"""Regions with known zones: accounts, own instances, targets and round trips from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from cartography.zones.observations import Observations, RoundTrip, Sample, Target


@dataclass(frozen=True, slots=True)
class World:
    """One region to make. Round trips are in ms.

    ``own_ms`` is the range of round trips within a zone; ``between_ms`` gives each pair of zones
    its typical one, or the range that it is drawn from. ``jitter`` is the spread of targets
    around it, ``delay_ms`` the mean of what queueing adds to each of ``pings``. Sampled are the
    first ``sampled_prefixes`` (a share) of each zone, and the first prefixes are the busiest.
    """

    region: str = "us-east-1"
    zones: int = 3
    prefixes_per_zone: int = 20
    shared_prefixes: float = 0.0
    accounts: Sequence[int] = (300, 200, 120, 60, 20)
    wrong_labels: float = 0.0
    sampled_prefixes: float = 0.6
    skew: Sequence[float] = ()
    targets: int = 2000
    own_ms: tuple[float, float] = (0.4, 0.6)
    between_ms: Sequence[Sequence[float]] | tuple[float, float] = (1.4, 2.0)
    jitter: float = 0.03
    delay_ms: float = 0.5
    pings: int = 10
    unresponsive: float = 0.15
    probed_zones: int = 0  # all of them
    probe_accounts: int = 1  # the first so many accounts have probes, named by their own labels
    calibrations: int = 0  # own instances that are probed, too
    slow_hosts: float = 0.0  # so many answer up to 2 ms late, to every probe
    buildings: int = 1  # of a zone, each with distances of its own


class Truth(NamedTuple):
    """Zone of each target by number, and of each account's labels."""

    zones: dict[str, int]
    labels: dict[tuple[str, str], int]


class Prefix(NamedTuple):
    """The leading 16 bits, and the zone of each /20."""

    lead: int
    blocks: tuple[int, ...]


def generate(world: World, seed: int) -> tuple[Observations, Truth]:
    """Observations of a region and their truth."""
    return _Generator(world, seed).generate()


class _Generator:
    def __init__(self, world: World, seed: int) -> None:
        self.world, self.rng = world, np.random.default_rng(seed)
        self.shares = np.array(world.skew or [1.0] * world.zones) / sum(world.skew or [world.zones])
        self.prefixes = self._generate_prefixes()
        self.labels = self._generate_labels()
        self.typical = self._generate_typical()
        self.far = self.rng.uniform(0.7, 1.4, (world.buildings, world.zones))
        self.far[0] = 1.0

    def generate(self) -> tuple[Observations, Truth]:
        own = [s for n, size in enumerate(self.world.accounts) for s in self._own(n, size)]
        samples = tuple(s for s, _ in own)
        zones = {
            f"203.{n >> 16}.{n >> 8 & 255}.{n & 255}": self._zone()
            for n in range(self.world.targets)
        }
        targets = tuple(Target(self.world.region, t, self._address(z)) for t, z in zones.items())
        trips = [t for target, zone in zones.items() for t in self._round_trips(target, zone)]
        picked = self.rng.permutation(len(own))[: self.world.calibrations]
        for i in picked:
            trips += self._round_trips(own[i][0].address, own[i][1])
        truth = Truth(zones, {(f"account-{n}", b): z for (n, z), b in self.labels.items()})
        return Observations(samples, targets, tuple(trips)), truth

    def _generate_prefixes(self) -> list[Prefix]:
        world, made = self.world, []
        leads = self.rng.choice(4096, size=world.zones * world.prefixes_per_zone, replace=False)
        for n, lead in enumerate(leads):
            zone = n % world.zones
            blocks = [zone] * 16
            if self.rng.random() < world.shared_prefixes:
                for block in self.rng.choice(16, size=self.rng.integers(3, 9), replace=False):
                    blocks[block] = self._other(zone)
            made.append(Prefix((10 << 8) + int(lead), tuple(blocks)))
        return made

    def _generate_labels(self) -> dict[tuple[int, int], str]:
        letters = list("abcdefghijklmnop"[: self.world.zones])
        return {
            (n, zone): f"{self.world.region}{letter}"
            for n in range(len(self.world.accounts))
            for zone, letter in enumerate(self.rng.permutation(letters))
        }

    def _generate_typical(self) -> np.ndarray:
        """Typical round trip by probe's and target's zone, the same both ways."""
        between = np.array(self.world.between_ms, dtype=float)
        if between.ndim == 1:
            drawn = self.rng.uniform(*between, (self.world.zones, self.world.zones))
            between = np.triu(drawn, 1) + np.triu(drawn, 1).T
        np.fill_diagonal(between, np.nan)
        return between

    def _zone(self) -> int:
        return int(self.rng.choice(self.world.zones, p=self.shares))

    def _other(self, zone: int) -> int:
        return int((zone + 1 + self.rng.integers(self.world.zones - 1)) % self.world.zones)

    def _address(self, zone: int, share: float = 1.0) -> str:
        """An address in a prefix that holds the zone, the first prefixes being busier."""
        limit = max(1, round(share * self.world.prefixes_per_zone)) * self.world.zones
        fit = [p for p in self.prefixes[:limit] if zone in p.blocks]
        weights = 1.0 / (5.0 + np.arange(len(fit)))
        prefix = fit[self.rng.choice(len(fit), p=weights / weights.sum())]
        block = self.rng.choice([b for b, z in enumerate(prefix.blocks) if z == zone])
        low = (int(block) << 12) | int(self.rng.integers(4, 4092))
        return f"{prefix.lead >> 8}.{prefix.lead & 255}.{low >> 8}.{low & 255}"

    def _own(self, account: int, size: int) -> list[tuple[Sample, int]]:
        made = []
        for _ in range(size):
            zone = self._zone()
            wrong = self.rng.random() < self.world.wrong_labels
            label = self.labels[account, self._other(zone) if wrong else zone]
            address = self._address(zone, self.world.sampled_prefixes)
            made.append((Sample(self.world.region, f"account-{account}", label, address), zone))
        return made

    def _round_trips(self, target: str, zone: int) -> list[RoundTrip]:
        """Probes of the first accounts: every ping, or one without reply per zone."""
        world = self.world
        silent = self.rng.random() < world.unresponsive
        host = self.rng.normal(0.0, world.jitter)
        late = self.rng.uniform(0.0, 2.0) if self.rng.random() < world.slow_hosts else 0.0
        building = self.rng.integers(world.buildings)
        made = []
        probes = range(world.probed_zones or world.zones)
        for account, probe in product(range(world.probe_accounts), probes):
            row = (world.region, target, f"account-{account}", self.labels[account, probe])
            if silent:
                made.append(RoundTrip(*row, None))
                continue
            base = self.typical[probe, zone]
            if probe == zone:
                base = self.rng.uniform(*world.own_ms)
            base *= np.exp(host + self.rng.normal(0.0, world.jitter)) * self.far[building, probe]
            waits = self.rng.exponential(world.delay_ms, world.pings)
            made.append(RoundTrip(*row, round(float(base + waits.min() + late), 3)))
        return made
