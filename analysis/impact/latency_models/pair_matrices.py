"""Matrices of measured round trips between places: joined, cleaned and completed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.impact.assignment import Floats
from analysis.impact.distances import points_of
from analysis.impact.latency_models.distance_model import REFRACTION, ideal_ms
from analysis.impact.places import Client, Region
from core.errors import MissingData

# With fewer sources or pairs the model is not determined, and the errors are none.
MIN_SOURCES, MIN_PAIRS = 10, 100
# Fitting takes time in proportion to the square of the places: of more, near ones are merged.
MAX_PLACES = 500
# Degrees of the smallest cell in which places are merged; larger ones are twice as large each.
_CELL = 0.1
# Below this a measured value is a rounding error, not a round trip.
_LEAST_MS = 0.1


@dataclass(frozen=True, slots=True)
class Pairs:
    """Measured round trips in ms, sources by targets, not-a-number where there is none."""

    sources: tuple[Client, ...]
    targets: tuple[Region, ...]
    rtt_ms: Floats

    @property
    def n_pairs(self) -> int:
        """Count the measured pairs."""
        return int(np.isfinite(self.rtt_ms).sum())

    def ends(self) -> tuple[Floats, Floats]:
        """Return latitudes and longitudes of sources (n, 2) and of targets (m, 2)."""
        return points_of([c.at for c in self.sources]), points_of([r.at for r in self.targets])


def join_pairs(parts: Sequence[Pairs]) -> Pairs:
    """Return one matrix of several; pairs between them are not measured."""
    rows, columns = (sum(n) for n in zip(*(part.rtt_ms.shape for part in parts), strict=True))
    rtt_ms = np.full((rows, columns), np.nan)
    row = column = 0
    for part in parts:
        n_sources, n_targets = part.rtt_ms.shape
        rtt_ms[row : row + n_sources, column : column + n_targets] = part.rtt_ms
        row, column = row + n_sources, column + n_targets
    sources = tuple(source for part in parts for source in part.sources)
    return Pairs(sources, tuple(target for part in parts for target in part.targets), rtt_ms)


def select_possible(pairs: Pairs) -> tuple[Pairs, int]:
    """Return the pairs of known places that light in vacuum allows, and how many it does not.

    A shorter round trip means that an end is not at its stated location: an anycast address, or a
    wrong place. Raise MissingData where too few pairs are left.
    """
    least_ms = np.maximum(ideal_ms(pairs.sources, pairs.targets) / REFRACTION, _LEAST_MS)
    rtt_ms = np.where(pairs.rtt_ms >= least_ms, pairs.rtt_ms, np.nan)
    impossible = int((pairs.rtt_ms < least_ms).sum())
    has_pair = np.isfinite(rtt_ms)
    rows, columns = np.flatnonzero(has_pair.any(axis=1)), np.flatnonzero(has_pair.any(axis=0))
    found = Pairs(
        tuple(pairs.sources[i] for i in rows),
        tuple(pairs.targets[j] for j in columns),
        rtt_ms[np.ix_(rows, columns)],
    )
    n_places = len({client.at for client in found.sources})
    if n_places < MIN_SOURCES or found.n_pairs < MIN_PAIRS:
        raise MissingData(
            f"a model of paths needs sources at {MIN_SOURCES} places and {MIN_PAIRS} pairs with "
            f"places and round-trip times; there are {n_places} and {found.n_pairs}"
        )
    return found, impossible


def mirror_mesh(pairs: Pairs) -> Pairs:
    """Add the opposite direction of pairs with a source that is also a target.

    A round trip has no direction. Sources that are no targets are clients of another kind, as
    vantage points in homes are beside regions, and stay at their end.
    """
    at_source, at_target = [c.at for c in pairs.sources], [r.at for r in pairs.targets]
    row, column = ({at: n for n, at in enumerate(ends)} for ends in (at_source, at_target))
    in_mesh = np.array([at in column for at in at_source])
    reached = np.isfinite(pairs.rtt_ms[in_mesh]).any(axis=0)
    new = [j for at, j in column.items() if reached[j] and at not in row]
    row |= {at_target[j]: len(at_source) + n for n, j in enumerate(new)}
    sources = pairs.sources + tuple(_as_client(pairs.targets[j]) for j in new)
    rtt_ms = np.full((len(sources), len(at_target)), np.nan)
    rtt_ms[: len(at_source)] = pairs.rtt_ms
    for i, j in np.argwhere(np.isfinite(pairs.rtt_ms) & in_mesh[:, None]).tolist():
        there = row.get(at_target[j])
        back = column[at_source[i]]
        if there is not None and np.isnan(rtt_ms[there, back]):
            rtt_ms[there, back] = pairs.rtt_ms[i, j]
    return Pairs(sources, pairs.targets, rtt_ms)


def merge_near(pairs: Pairs, limit: int = MAX_PLACES) -> Pairs:
    """Merge near places until there are at most ``limit`` sources and as many targets.

    A merged place is the first of its cell, with the median of the round trips.
    """
    places, n_sources = np.concatenate(pairs.ends()), len(pairs.sources)
    cell, groups = _CELL, np.arange(len(places))
    while max(len(np.unique(part)) for part in np.split(groups, [n_sources])) > limit:
        groups = np.unique(np.floor(places / cell), axis=0, return_inverse=True)[1].reshape(-1)
        cell *= 2
    if cell == _CELL:
        return pairs
    first = places[np.unique(groups, return_index=True)[1]].tolist()
    rows, columns = groups[:n_sources], groups[n_sources:]
    sources = [(pairs.sources[i], rows[i]) for i in np.unique(rows, return_index=True)[1]]
    targets = [(pairs.targets[j], columns[j]) for j in np.unique(columns, return_index=True)[1]]
    return Pairs(
        tuple(replace(client, at=tuple(first[group])) for client, group in sources),
        tuple(replace(region, at=tuple(first[group])) for region, group in targets),
        _medians(_medians(pairs.rtt_ms, rows).T, columns).T,
    )


def _as_client(region: Region) -> Client:
    return Client(region.country, region.continent, region.at)


def _medians(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return medians of rows by group, not-a-number where no row of a group has a value."""
    numbers = np.unique(groups)
    found = np.full((len(numbers), values.shape[1]), np.nan)
    for row, number in enumerate(numbers):
        rows = values[groups == number]
        has_any = np.isfinite(rows).any(axis=0)
        found[row, has_any] = np.nanmedian(rows[:, has_any], axis=0)
    return found
