"""Generated clouds and names of the benchmark: facts about names from a seed.

11,298 nested prefixes of seven providers; 40,333 domains with 713,910 names, their aliases,
addresses, name servers, zones and customers. The same seed gives the same facts everywhere.
"""

import ipaddress
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.deployment.countries import region_countries
from cartography.patterns import load_rules
from cartography.ranges.range_file import RangeEntry, RangeFile
from core.statuses import AddressKind

DOMAINS, NAMES, PREFIXES, PARENTS = 40_333, 713_910, 11_298, 1_600
PROVIDERS = ("aws", "azure", "google", "oracle", "digitalocean", "linode", "ibm")
WEIGHTS = (0.5, 0.25, 0.13, 0.04, 0.04, 0.02, 0.02)
# The first /16 of the clouds, and of what lies outside them.
_CLOUD, _OUTSIDE = 0x20000000, 0x0B000000
_TLDS = ("example", "test", "de", "fr", "co.uk", "com", "net", "jp")
_TYPES = {"A": 1, "NS": 2, "CNAME": 5, "AAAA": 28}
_DAY = date(2026, 11, 20)
Numbers = NDArray[np.int64]


@dataclass
class Facts:
    """Names with their domains, and one row per fact: (name, type, value) as positions.

    ``values`` are texts; the facts of a name are adjacent, from its ``start``.
    """

    names: pa.Array
    domains: pa.Array
    ranks: Numbers
    domain_of: Numbers
    values: pa.Array
    types: Numbers
    value_of: Numbers
    start: Numbers


class Clouds:
    """Parents of one provider and region each, with more specific prefixes inside."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        codes: dict[str, list[str]] = {p: [] for p in PROVIDERS}
        for provider, code in region_countries():
            if provider in codes:
                codes[provider].append(code)
        self.provider = np.sort(rng.choice(len(PROVIDERS), PARENTS, p=WEIGHTS))
        self.region = [
            codes[PROVIDERS[p]][int(len(codes[PROVIDERS[p]]) * u**3)]
            for p, u in zip(self.provider, rng.random(PARENTS), strict=True)
        ]
        self.first = _CLOUD + (np.arange(PARENTS) << 16)
        self.children = self._divide(rng)

    def _divide(self, rng: np.random.Generator) -> list[tuple[int, int, int]]:
        """(parent, first, length) of distinct prefixes inside the parents."""
        found: dict[tuple[int, int, int], None] = {}
        while len(found) < PREFIXES - PARENTS:
            parent, length = int(rng.integers(PARENTS)), int(rng.integers(18, 27))
            offset = int(rng.integers(1 << (length - 16))) << (32 - length)
            found[(parent, int(self.first[parent]) + offset, length)] = None
        return list(found)

    def files(self) -> list[RangeFile]:
        """One range file per provider, as an import would have read it."""
        entries: dict[str, list[RangeEntry]] = {p: [] for p in PROVIDERS}
        for parent, first in enumerate(self.first):
            self._add(entries, parent, int(first), 16, inner=False)
        for parent, first, length in self.children:
            self._add(entries, parent, first, length, inner=True)
        return [RangeFile(p, _DAY, tuple(rows)) for p, rows in entries.items()]

    def _add(
        self,
        entries: dict[str, list[RangeEntry]],
        parent: int,
        first: int,
        length: int,
        *,
        inner: bool,
    ) -> None:
        provider, region = PROVIDERS[self.provider[parent]], self.region[parent]
        prefix = f"{ipaddress.IPv4Address(first)}/{length}"
        own = {"aws": "EC2" if inner else "AMAZON"}.get(provider, provider.title())
        if inner and provider == "aws" and first % 7 == 0 and length > 22:
            entry = RangeEntry(prefix, provider, "CLOUDFRONT", None, None, AddressKind.CDN)
        else:
            entry = RangeEntry(prefix, provider, own, region, None, AddressKind.CLOUD, region)
        entries[provider].append(entry)


class Names:
    """Names, their domains' home clouds, and the facts that are added about them."""

    def __init__(self, clouds: Clouds, seed: int, n_names: int) -> None:
        self.rng = np.random.default_rng(seed + 1)
        self.clouds = clouds
        self.n_domains = max(2, n_names * DOMAINS // NAMES)
        n_tlds = len(_TLDS)
        self.domains = [f"d{i:x}-site.{_TLDS[i % n_tlds]}" for i in range(self.n_domains)]
        # A few domains have hundreds of names, most a handful; each has at least its own.
        more = self.n_domains * self.rng.random(n_names - self.n_domains) ** 2.5
        self.domain_of = [*range(self.n_domains), *more.astype(np.int64).tolist()]
        own = (("www" if i % 9 == 0 else "host") + f"{i:x}." for i in range(n_names))
        self.names = [
            self.domains[d] if i < self.n_domains else label + self.domains[d]
            for i, (d, label) in enumerate(zip(self.domain_of, own, strict=True))
        ]
        self.homes = self.rng.integers(PARENTS, size=self.n_domains)
        self.facts: list[tuple[Numbers, int, list[str]]] = []

    def add(self, owners: Numbers, kind: str, values: list[str]) -> None:
        """One fact of one type for each of ``owners``."""
        self.facts.append((owners, _TYPES[kind], values))

    def parents(self, owners: Numbers) -> Numbers:
        """The prefix that contains each name: its domain's home, or one near or far."""
        homes = self.homes[np.array(self.domain_of)[owners]]
        step = self.rng.integers(-3, 4, len(owners)) * (self.rng.random(len(owners)) < 0.4)
        far = self.rng.integers(PARENTS, size=len(owners))
        away = self.rng.random(len(owners)) < 0.05
        return np.where(away, far, np.clip(homes + step, 0, PARENTS - 1))

    def add_addresses(self) -> None:
        """One to three IPv4 addresses each, one in eight outside the clouds; some IPv6."""
        rng, everyone = self.rng, np.arange(len(self.names))
        for chance in (1.0, 0.35, 0.15):
            owners = everyone[rng.random(len(everyone)) < chance]
            inside = (_CLOUD + (self.parents(owners) << 16)) + rng.integers(
                1 << 16, size=len(owners)
            )
            outside = _OUTSIDE + rng.integers(1 << 22, size=len(owners))
            numbers = np.where(rng.random(len(owners)) < 0.125, outside, inside)
            self.add(owners, "A", write_ipv4(numbers))
        owners = everyone[rng.random(len(everyone)) < 0.1]
        tails = rng.integers(1 << 16, size=(2, len(owners))).T.tolist()
        self.add(owners, "AAAA", [f"2001:db8:{a:x}::{b + 1:x}" for a, b in tails])

    def add_aliases(self) -> None:
        """A third of the names lead through a provider's name, or through one of no rule."""
        suffixes = [
            v.replace("*", "eu-west-1") for r in load_rules() if r.by_cname for v in r.values
        ]
        owners = np.flatnonzero(self.rng.random(len(self.names)) < 0.35)
        which = (len(suffixes) * 1.5 * self.rng.random(len(owners)) ** 3).astype(np.int64).tolist()
        values = [
            f"lb{i:x}.{suffixes[w]}" if w < len(suffixes) else f"edge{i % 50_000:x}.site.invalid"
            for i, w in zip(owners.tolist(), which, strict=True)
        ]
        self.add(owners, "CNAME", values)

    def add_servers(self) -> None:
        """Two to four name servers per domain, of 3,000 operators of very different size."""
        operator = (3_000 * self.rng.random(self.n_domains) ** 3).astype(np.int64)
        for position in range(4):
            domains = np.flatnonzero(position < 2 + operator % 3)
            hosts = [f"ns{position}.op{o}-dns.net" for o in operator[domains].tolist()]
            self.add(domains, "NS", hosts)
            first = len(self.names)
            self.names += hosts
            self.domain_of += domains.tolist()
            numbers = (operator[domains] % PARENTS << 16) + 7 * position + operator[domains]
            base = np.where(operator[domains] % 2, _CLOUD, _OUTSIDE)
            self.add(np.arange(first, len(self.names)), "A", write_ipv4(base + numbers))


def generate_facts(clouds: Clouds, seed: int, n_names: int = NAMES) -> Facts:
    """All facts about ``n_names`` names and the name servers of their domains."""
    made = Names(clouds, seed, n_names)
    made.add_addresses()
    made.add_aliases()
    made.add_servers()
    owners = np.concatenate([owner for owner, _, _ in made.facts])
    types = np.concatenate([np.full(len(owner), kind) for owner, kind, _ in made.facts])
    texts = pa.concat_arrays([pa.array(v, pa.string()) for _, _, v in made.facts])
    coded = texts.dictionary_encode()
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=len(made.names))
    return Facts(
        pa.array(made.names),
        pa.array(made.domains),
        1 + made.rng.permutation(made.n_domains),
        np.array(made.domain_of),
        coded.dictionary,
        types[order],
        coded.indices.to_numpy(zero_copy_only=False)[order].astype(np.int64),
        np.concatenate([[0], np.cumsum(counts)]),
    )


def write_ipv4(numbers: Numbers) -> list[str]:
    """Dotted quads."""
    octets = [(numbers >> shift & 255).tolist() for shift in (24, 16, 8, 0)]
    return [f"{a}.{b}.{c}.{d}" for a, b, c, d in zip(*octets, strict=True)]
