"""Vantage points inside an emulated cloud: accounts with different labels of zones, and instances.

Internal addresses follow zones as in EC2-Classic: each zone has /16 prefixes of its own.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

_LETTERS = "abcdefgh"
_PREFIXES = 12  # of each zone


class ZoneProbe(NamedTuple):
    """A vantage point of an account in a zone: the account's label, and the zone as it is."""

    name: str
    region: str
    account: str
    label: str
    zone: str


class Instance(NamedTuple):
    """An own instance as its account sees it."""

    region: str
    account: str
    label: str
    address: str


class EmulatedCloud:
    """Zones of regions, with labels that each account permutes at random."""

    def __init__(
        self, zones: Iterable[tuple[str, str]], accounts: Iterable[str], seed: int = 1
    ) -> None:
        self._chance = np.random.default_rng(seed)
        self.accounts = list(accounts)
        by_region: dict[str, set[str]] = {}
        for region, zone in zones:
            by_region.setdefault(region, set()).add(zone)
        self.zones = {region: sorted(own) for region, own in sorted(by_region.items())}
        # Label by account, region and zone.
        self.labels = {
            (account, region, zone): f"{region}{_LETTERS[n]}"
            for account in self.accounts
            for region, own in self.zones.items()
            for zone, n in zip(own, self._chance.permutation(len(own)), strict=True)
        }
        leads = self._chance.permutation(4096)
        every = [(r, z) for r, own in self.zones.items() for z in own]
        self._leads = {
            pair: leads[i * _PREFIXES : (i + 1) * _PREFIXES] for i, pair in enumerate(every)
        }

    def probes(self) -> list[ZoneProbe]:
        """One vantage point per account and zone."""
        return [
            ZoneProbe(f"{account}-{label}"[:24].strip("-"), region, account, label, zone)
            for (account, region, zone), label in sorted(self.labels.items())
        ]

    def instances(self, each: int) -> list[Instance]:
        """``each`` own instances of every account in every zone."""
        return [
            Instance(region, account, label, self._address(region, zone))
            for (account, region, zone), label in sorted(self.labels.items())
            for _ in range(each)
        ]

    def internal_addresses(self, zones: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """Internal address of each public one, by its region and zone."""
        return {address: self._address(*pair) for address, pair in zones.items()}

    def _address(self, region: str, zone: str) -> str:
        # The first prefixes of a zone are the fullest.
        place = min(int(self._chance.exponential(4.0)), _PREFIXES - 1)
        lead = int(self._leads[region, zone][place])
        low = int(self._chance.integers(4, 65_000))
        return f"{10 + (lead >> 8)}.{lead & 255}.{low >> 8}.{low & 255}"
