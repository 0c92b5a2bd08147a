"""What zone inference gives: per method and target a zone with its evidence, or a reason."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why a method does not know a target's zone; a closed list."""

    NO_INTERNAL_ADDRESS = "no_internal_address"
    NO_SAMPLE = "no_sample"  # no own instance shares a prefix with the target
    UNMAPPED_SAMPLES = "unmapped_samples"  # only instances with labels without a common zone do
    CONFLICTING_SAMPLES = "conflicting_samples"  # they are in several zones
    NOT_PROBED = "not_probed"
    UNRESPONSIVE = "unresponsive"
    NO_PROBE_IN_ZONE = "no_probe_in_zone"  # the zone that fits best has no probe that measured it
    TIE = "tie"  # two zones fit about equally well
    METHODS_DISAGREE = "methods_disagree"  # address and round trip name different zones
    OVER_THRESHOLD = "over_threshold"  # farther from every probe than a zone's own instances


class Method(StrEnum):
    """Which method gave a target's zone."""

    PROXIMITY = "proximity"
    LATENCY = "latency"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ProximityFinding:
    """Zone by address: ``votes`` are own instances in ``prefix`` by zone."""

    zone: str | None = None
    reason: Reason | None = None
    confidence: float = 0.0
    prefix: str | None = None
    votes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LatencyFinding:
    """Zone by round trip: smallest of each zone's probes; ``runner_up`` is the next best zone.

    ``margin`` is in log odds between the two where the region is calibrated, else in ms; a bare
    threshold knows no ``confidence``.
    """

    zone: str | None = None
    reason: Reason | None = None
    confidence: float | None = 0.0
    rtt_ms: Mapping[str, float] = field(default_factory=dict)
    runner_up: str | None = None
    margin: float | None = None
    rule: str = "calibrated"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target's zone by both methods together, proximity first."""

    region: str
    target: str
    zone: str | None
    method: Method
    confidence: float | None
    reason: str | None
    proximity: ProximityFinding
    latency: LatencyFinding
