"""The tables that are compared: real files where they are at hand, else made ones of their size.

Each is a list of distinct prefixes with a number; peers hold exactly that, and ours has to give the
same number for every address.
"""

import gzip
import ipaddress
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from cartography.addresses.matching import AddressMap
from cartography.asn.files import read_origins
from cartography.asn.tables import OriginTable
from cartography.placement.cloud_table import PrefixTable
from cartography.ranges import RangeEntry, RangeFile, read_ranges

# The newest file of each provider; the one date serves those that carry none.
CLOUD_FILES = {
    "aws-ip-ranges-2024-06.json.gz": "aws",
    "azure-ServiceTags_Public_20240624.json.gz": "azure",
    "azure-ServiceTags_China_20240624.json.gz": "azure",
    "google-cloud-2024-06.json": "google",
    "google-goog-2023-02.json": "google",
    "oracle-public_ip_ranges-2024-06.json": "oracle",
    "digitalocean-google-2024-06.csv": "digitalocean",
    "linode-geofeed-2024-06.csv": "linode",
    "cloudflare-ips-v4-2024-06.txt": "cloudflare",
    "cloudflare-ips-v6-2024-06.txt": "cloudflare",
    "fastly-public-ip-list-2024-06.json": "fastly",
    "akamai-v4-2024-06.txt": "akamai",
}
ROUTES = "ipasn_20140513.dat.gz"
DAY = date(2024, 6, 30)
# Sizes of made tables: those of the specification's synthetic ones.
N_CLOUD, N_ROUTES = 14_797, 843_957


@dataclass(frozen=True)
class Source:
    """What a table is built from, so that building can be timed."""

    name: str
    files: Sequence[tuple[str, bytes]]


@dataclass(frozen=True)
class Case:
    """A table with what peers hold: (prefix, number) by family; ``numbers`` turns our labels into
    those numbers, and its last entry represents no label."""

    name: str
    addresses: AddressMap
    prefixes: dict[int, list[tuple[str, int]]]
    numbers: np.ndarray


def read_cloud(data: Path | None) -> Source:
    """The providers' files, or one made file."""
    if data is None:
        return Source("made cloud table", [("", b"")])
    folder = data / "ip-ranges"
    return Source(
        "cloud",
        [(provider, (folder / name).read_bytes()) for name, provider in CLOUD_FILES.items()],
    )


def read_routes(data: Path | None) -> Source:
    """The real route table unpacked, or a made one."""
    if data is None:
        made = "".join(
            f"{prefix}\t{number % 60_000 + 1}\n" for prefix, number in _build_prefixes(N_ROUTES, 24)
        )
        return Source("made route table", [("", made.encode())])
    return Source("origin AS", [("", gzip.decompress((data / "ip-asn" / ROUTES).read_bytes()))])


def parse_cloud(source: Source) -> list[RangeFile]:
    """Bytes to range files."""
    if not source.files[0][0]:
        rows = tuple(
            RangeEntry(p, "aws", "EC2", "us-east-1") for p, _ in _build_prefixes(N_CLOUD, 28)
        )
        return [RangeFile("aws", DAY, rows)]
    return [read_ranges(provider, data, DAY) for provider, data in source.files]


def cloud_case(source: Source) -> tuple[Case, PrefixTable]:
    """The cloud table; a number is the position of a prefix."""
    table = PrefixTable.build(parse_cloud(source))
    own, prefixes, position = table.prefixes, {4: [], 6: []}, 0
    for family, column in own.firsts.items():
        kind = ipaddress.IPv4Address if family == 4 else ipaddress.IPv6Address
        for first in column.numbers():
            prefixes[family].append((f"{kind(first)}/{own.lengths[position]}", position))
            position += 1
    numbers = np.append(np.arange(position), -1)
    return Case(source.name, table.addresses, prefixes, numbers), table


def routes_case(source: Source) -> tuple[Case, OriginTable]:
    """The route table; a number is an AS."""
    data = source.files[0][1]
    table = OriginTable.build(read_origins(data))
    prefixes: dict[int, list[tuple[str, int]]] = {4: [], 6: []}
    for line in data.decode().splitlines():
        if not line.startswith(";"):
            prefix, asn = line.split("\t")
            prefixes[6 if ":" in prefix else 4].append((prefix, int(asn)))
    numbers = np.array([own[0] for own in table.origins] + [-1], dtype=np.int64)
    return Case(source.name, table.addresses, prefixes, numbers), table


def _build_prefixes(count: int, longest: int) -> list[tuple[str, int]]:
    """Distinct nested prefixes, the shorter ones rarer."""
    generator = random.Random(14)
    found: dict[tuple[int, int], int] = {}
    while len(found) < count:
        length = max(8 if longest == 24 else 12, longest - int(generator.expovariate(0.35)))
        first = generator.getrandbits(32) >> (32 - length) << (32 - length)
        if found and generator.random() < 0.5:
            around = generator.choice(tuple(found)) if len(found) < 100 else _recent(found)
            first = around[0] | (generator.getrandbits(32) & ((1 << (32 - around[1])) - 1))
            length = max(length, around[1])
            first = first >> (32 - length) << (32 - length)
        found.setdefault((first, length), len(found))
    return [(f"{ipaddress.IPv4Address(f)}/{n}", number) for (f, n), number in found.items()]


def _recent(found: dict[tuple[int, int], int]) -> tuple[int, int]:
    return next(reversed(found))
