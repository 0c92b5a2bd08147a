"""What zone inference takes: own instances, targets, round trips and AZ IDs, as records."""

import ipaddress
from dataclasses import dataclass
from typing import NamedTuple


class Sample(NamedTuple):
    """One own instance: its zone by its account's label, and its internal address."""

    region: str
    account: str
    label: str
    address: str


class ZoneId(NamedTuple):
    """The reply of ``DescribeAvailabilityZones`` to one account: label and account-free ID."""

    region: str
    account: str
    label: str
    zone_id: str


class Target(NamedTuple):
    """One address with a requested zone; ``internal`` is empty where it is not known."""

    region: str
    target: str
    internal: str = ""


class RoundTrip(NamedTuple):
    """One ping from a probe in a zone to a target; ``rtt_ms`` is ``None`` without a reply."""

    region: str
    target: str
    account: str
    label: str
    rtt_ms: float | None


@dataclass(frozen=True, slots=True)
class Observations:
    """All inputs of one inference."""

    samples: tuple[Sample, ...] = ()
    targets: tuple[Target, ...] = ()
    round_trips: tuple[RoundTrip, ...] = ()
    zone_ids: tuple[ZoneId, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How zones are inferred.

    ``lengths`` are prefix lengths of internal IPv4 addresses, the paper's /16 first; shares of
    one are required of each method before it answers. ``threshold_ms`` and ``gap_ms`` decide by
    round trip where nothing calibrates a region, or everywhere with ``calibrate`` off.
    """

    lengths: tuple[int, ...] = (16, 20, 24)
    proximity_confidence: float = 0.9
    latency_confidence: float = 0.97
    # IMC'13 asked for less than 1.1 ms.
    threshold_ms: float = 1.1
    gap_ms: float = 0.1
    calibrate: bool = True
    uniform_regions: frozenset[str] = frozenset()


# An IPv6 site is a /48 and a network a /64, which the steps of IPv4 would miss by far.
_LENGTHS_6 = (48, 56, 64)


def prefixes_of(address: str, lengths: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """(version, length, leading bits) of an address at each length; empty for no address."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ()
    mapped = getattr(parsed, "ipv4_mapped", None)
    parsed = mapped or parsed
    steps = lengths if parsed.version == 4 else _LENGTHS_6
    number, bits = int(parsed), parsed.max_prefixlen
    return tuple((parsed.version, n, number >> (bits - n)) for n in steps)


def prefix_text(prefix: tuple[int, int, int]) -> str:
    """``10.1.0.0/16`` for (4, 16, 2561)."""
    version, length, lead = prefix
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    bits = 32 if version == 4 else 128
    return f"{kind(lead << (bits - length))}/{length}"
