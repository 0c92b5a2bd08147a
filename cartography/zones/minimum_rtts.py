"""Round trips of probes to targets, as one table of the smallest per target and common zone."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from cartography.zones.latency import Ints, RoundTrips
from cartography.zones.observations import Observations, Sample
from cartography.zones.proximity import Labels
from cartography.zones.verdicts import ProximityFinding

# Only a target with a certain zone by its address calibrates the round trips of its zone.
_CALIBRATES = 0.95


def gather(
    given: Observations, labels: Labels, near: Sequence[ProximityFinding], zones: Sequence[str]
) -> tuple[RoundTrips, int]:
    """Round trips of all targets, in order, then of the own instances that were probed too.

    Also counts those that are of no use, because their probe's label has no common zone.
    """
    common = [labels.get((t.account, t.label)) for t in given.round_trips]
    columns = {z: i for i, z in enumerate(sorted({*zones, *(z for z in common if z)}))}
    own = _own_zones(given.samples, labels)
    rows = {t.target: i for i, t in enumerate(given.targets)}
    for trip in given.round_trips:
        if trip.target in own:
            rows.setdefault(trip.target, len(rows))
    smallest = np.full((len(rows), len(columns)), np.inf)
    probed = np.zeros(len(rows), dtype=bool)
    for trip, zone in zip(given.round_trips, common, strict=True):
        row = rows.get(trip.target)
        if row is not None and zone:
            probed[row] = True
            if trip.rtt_ms is not None and trip.rtt_ms < smallest[row, columns[zone]]:
                smallest[row, columns[zone]] = trip.rtt_ms
    smallest[np.isinf(smallest)] = np.nan
    known = _known(rows, columns, near, own)
    return RoundTrips(tuple(columns), smallest, known, probed), common.count(None)


def _known(
    rows: dict[str, int],
    columns: dict[str, int],
    near: Sequence[ProximityFinding],
    own: dict[str, str],
) -> Ints:
    """Column of each row's zone where address or account determine it, else -1."""
    known = np.full(len(rows), -1, dtype=np.int64)
    for row, finding in enumerate(near):
        if finding.zone in columns and finding.confidence >= _CALIBRATES:
            known[row] = columns[finding.zone]
    for address, zone in own.items():
        if address in rows and zone in columns:
            known[rows[address]] = columns[zone]
    return known


def _own_zones(samples: Iterable[Sample], labels: Labels) -> dict[str, str]:
    """Zone of each own instance's address; none where several had the address in turn."""
    zones: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        zones[sample.address].add(labels.get((sample.account, sample.label), ""))
    return {address: found.pop() for address, found in zones.items() if len(found) == 1}
