"""Zones by both methods: all observations in, a verdict per target and what it rests on out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from cartography.zones.calibration import thresholds
from cartography.zones.latency import (
    RoundTrips,
    calibrate,
    classify,
    classify_by_threshold,
    is_calibrated,
)
from cartography.zones.minimum_rtts import gather
from cartography.zones.observations import (
    Observations,
    RoundTrip,
    Rules,
    Sample,
    Target,
    ZoneId,
)
from cartography.zones.proximity import AddressMap, Labels, locate, map_addresses
from cartography.zones.round_trip_alignment import align_by_round_trips
from cartography.zones.self_calibration import estimate_members
from cartography.zones.verdicts import (
    LatencyFinding,
    Method,
    ProximityFinding,
    Reason,
    Verdict,
)
from cartography.zones.zone_identity import Alignment, merge_labels

Thresholds = Mapping[tuple[str, str], float]
_Row = TypeVar("_Row", Sample, Target, RoundTrip, ZoneId)


@dataclass(frozen=True, slots=True)
class RegionResult:
    """One region: verdicts in the order of the targets, and what they rest on.

    ``thresholds_ms`` is by probe's zone and other zone, empty where nothing calibrates;
    ``unmapped_round_trips`` counts round trips of probes with labels without a common zone.
    """

    region: str
    verdicts: tuple[Verdict, ...]
    alignments: tuple[Alignment, ...]
    addresses: AddressMap
    thresholds_ms: Thresholds
    unmapped_round_trips: int


def infer_zones(given: Observations, rules: Rules | None = None) -> tuple[RegionResult, ...]:
    """Results of all regions, in order of their names."""
    samples = _by_region(given.samples)
    targets = _by_region(given.targets)
    trips = _by_region(given.round_trips)
    ids = _by_region(given.zone_ids)
    results = []
    for region in sorted({*samples, *targets, *trips}):
        own, wanted = tuple(samples[region]), tuple(targets[region])
        part = Observations(own, wanted, tuple(trips[region]), tuple(ids[region]))
        results.append(_infer_region(part, region, rules or Rules()))
    return tuple(results)


def _by_region(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        found[row.region].append(row)
    return found


def _infer_region(given: Observations, region: str, rules: Rules) -> RegionResult:
    alignments = merge_labels(given.samples, given.zone_ids, rules)
    alignments += align_by_round_trips(given.round_trips, _known_labels(given, alignments), region)
    labels = _labels_of(given, alignments)
    known = map_addresses(given.samples, labels, rules)
    near = locate(given.targets, known, rules)
    trips, unmapped = gather(given, labels, near, known.zones)
    far, between = _classify(trips, rules)
    verdicts = tuple(
        _combine(*both) for both in zip(given.targets, near, far[: len(near)], strict=True)
    )
    return RegionResult(region, verdicts, alignments, known, between, unmapped)


def _classify(trips: RoundTrips, rules: Rules) -> tuple[tuple[LatencyFinding, ...], Thresholds]:
    """Findings by what calibrates the region: known targets, the targets themselves, nothing."""
    if not rules.calibrate:
        return classify_by_threshold(trips, rules), {}
    rule = "calibrated"
    if not is_calibrated(calibrate(trips, trips.known >= 0)):
        trips, rule = replace(trips, known=estimate_members(trips, rules)), "self-calibrated"
    fitted = calibrate(trips, trips.known >= 0)
    if not is_calibrated(fitted):
        return classify_by_threshold(trips, rules), {}
    return classify(trips, rules, rule), thresholds(fitted)


def _labels_of(given: Observations, alignments: Sequence[Alignment]) -> Labels:
    """Common zone of every (account, label), probes' included."""
    labels = dict(_known_labels(given, alignments))
    zones = set(labels.values())
    probes = {(t.account, t.label) for t in given.round_trips} - set(labels)
    alone = len({account for account, _ in probes}) == 1
    for account, label in probes:
        if not account and (label in zones or not zones):
            labels[account, label] = label
        elif not zones:
            # Without own instances elsewhere, the probes' own labels are all the names there are.
            labels[account, label] = label if alone else f"{account}:{label}"
    return labels


def _known_labels(given: Observations, alignments: Sequence[Alignment]) -> Labels:
    """Common zone of every label with an AZ ID or in an alignment."""
    labels = {(z.account, z.label): z.zone_id for z in given.zone_ids}
    return labels | {(a.account, b): zone for a in alignments for b, zone in a.zones.items()}


def _combine(target: Target, near: ProximityFinding, far: LatencyFinding) -> Verdict:
    """Proximity where it knows, as in IMC'13; else latency.

    Where round trips that known targets calibrated name another zone, one of the two is wrong.
    """
    region, name = target.region, target.target
    if near.zone and far.zone not in (None, near.zone) and far.rule == "calibrated":
        reason = str(Reason.METHODS_DISAGREE)
        return Verdict(region, name, None, Method.NONE, 0.0, reason, near, far)
    if near.zone:
        return Verdict(region, name, near.zone, Method.PROXIMITY, near.confidence, None, near, far)
    if far.zone:
        return Verdict(region, name, far.zone, Method.LATENCY, far.confidence, None, near, far)
    reason = f"{near.reason} + {far.reason}"
    return Verdict(region, name, None, Method.NONE, 0.0, reason, near, far)
