"""Invented published prefixes, for worlds that are built without real range files."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address

from testbed.world.model import PublishedRange, PublishedRanges

# 240.0.0.0/4 is reserved and no router forwards it, so stray packets stay local.
_FIRST = int(IPv4Address("240.0.0.0"))
_BLOCK = 1 << 16
_BLOCKS_PER_REGION = 3
_SERVICES = {"azure": "AzureCloud", "google": "Google Cloud"}


def invent_ranges(regions: Mapping[str, Sequence[str]]) -> tuple[PublishedRanges, ...]:
    """Invent prefixes for each provider and region, as the provider would list them.

    AWS lists each block for AMAZON and for EC2, and has ranges of a CDN and a name service.
    """
    tables, at = [], _FIRST
    for provider, codes in regions.items():
        entries: list[PublishedRange] = []
        for code in codes:
            for prefix in _blocks(at, _BLOCKS_PER_REGION):
                entries += _listed(provider, prefix, code)
            at += _BLOCKS_PER_REGION * _BLOCK + _BLOCK  # unassigned gap between regions
        if provider == "aws":
            entries += _edge(at)
            at += 4 * _BLOCK
        tables.append(PublishedRanges(provider, tuple(entries), "invented"))
    return tuple(tables)


def _blocks(at: int, count: int) -> list[str]:
    """Return prefixes of different lengths, which exercises longest-prefix match."""
    lengths = (16, 17, 18)
    return [f"{IPv4Address(at + i * _BLOCK)}/{lengths[i % 3]}" for i in range(count)]


def _listed(provider: str, prefix: str, region: str) -> list[PublishedRange]:
    if provider == "aws":
        return [PublishedRange(prefix, "aws", s, region) for s in ("AMAZON", "EC2")]
    return [PublishedRange(prefix, provider, _SERVICES.get(provider), region)]


def _edge(at: int) -> list[PublishedRange]:
    cdn, dns = f"{IPv4Address(at)}/16", f"{IPv4Address(at + 2 * _BLOCK)}/18"
    return [
        PublishedRange(prefix, "aws", service, "GLOBAL")
        for prefix, own in ((cdn, "CLOUDFRONT"), (dns, "ROUTE53"))
        for service in ("AMAZON", own)
    ] + [PublishedRange("2001:db8:a000::/40", "aws", "AMAZON", "us-east-1")]
