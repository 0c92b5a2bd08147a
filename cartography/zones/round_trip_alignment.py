"""Merge zone labels of accounts by round trips alone, for probes without own instances.

Two probes in one zone measure nearly the same round trips to every target; probes of one account
with different labels are in different zones and show how far apart round trips of zones are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from cartography.zones.observations import RoundTrip
from cartography.zones.zone_identity import Alignment

Probe = tuple[str, str]
Labels = Mapping[Probe, str]
_Vector = dict[str, float]
# Fewer common targets do not distinguish zones.
_LEAST_COMMON = 20
# A difference of one, in logarithms, is a zone apart already; outliers have no more weight.
_LONGEST = 1.0
# Below half the smallest difference between two labels of one account a zone is the same, above
# four fifths another; between them the label stays open.
_SAME, _OTHER = 0.5, 0.8
_FASTEST_MS = 1e-3


def align_by_round_trips(
    trips: Sequence[RoundTrip], known: Labels, region: str
) -> tuple[Alignment, ...]:
    """Alignments of the accounts with probes without a zone in ``known``, the largest first.

    Without any known zone, the labels of the account with the most round trips are the zones.
    """
    vectors = _vectors_of(trips)
    accounts = _accounts_of(vectors)
    zones = {probe: known[probe] for probe in vectors if probe in known}
    limit = _difference_between_zones(vectors, accounts)
    found: list[Alignment] = []
    for account in accounts:
        labels = [b for b in accounts[account] if (account, b) not in zones]
        if not labels or not account:
            continue
        if not zones:
            mapped = {b: b for b in labels}
            margins: dict[str, float] = {}
            basis = "reference"
        else:
            mapped, margins = _map(account, labels, vectors, zones, limit)
            basis = "round-trip times"
        zones |= {(account, b): zone for b, zone in mapped.items()}
        left = tuple(b for b in labels if b not in mapped)
        found.append(
            Alignment(region, account, basis, 0, mapped, margins=margins, undetermined=left)
        )
    # One account alone needs no alignment.
    return tuple(found) if len(accounts) > 1 else ()


def _vectors_of(trips: Iterable[RoundTrip]) -> dict[Probe, _Vector]:
    """Logarithms of the smallest round trips in ms, by probe and target."""
    found: dict[Probe, _Vector] = defaultdict(dict)
    for trip in trips:
        if trip.rtt_ms is not None:
            value = float(np.log(max(trip.rtt_ms, _FASTEST_MS)))
            own = found[trip.account, trip.label]
            own[trip.target] = min(value, own.get(trip.target, value))
    return dict(found)


def _accounts_of(vectors: Mapping[Probe, _Vector]) -> dict[str, list[str]]:
    """Labels by account, the account with the most round trips first."""
    sizes: dict[str, int] = defaultdict(int)
    labels: dict[str, list[str]] = defaultdict(list)
    for (account, label), vector in sorted(vectors.items()):
        sizes[account] += len(vector)
        labels[account].append(label)
    return {a: labels[a] for a in sorted(sizes, key=lambda a: (-sizes[a], a))}


def _difference(first: _Vector, second: _Vector) -> float:
    """Mean absolute difference of logarithms over common targets; infinite if they are few."""
    common = first.keys() & second.keys()
    if len(common) < _LEAST_COMMON:
        return float("inf")
    apart = np.array([first[t] - second[t] for t in common])
    return float(np.minimum(np.abs(apart), _LONGEST).mean())


def _difference_between_zones(
    vectors: Mapping[Probe, _Vector], accounts: Mapping[str, Sequence[str]]
) -> float:
    """Smallest difference between two labels of one account; infinite where none has two."""
    pairs = (
        _difference(vectors[account, a], vectors[account, b])
        for account, labels in accounts.items()
        for i, a in enumerate(labels)
        for b in labels[:i]
    )
    return min(pairs, default=float("inf"))


def _map(
    account: str,
    labels: Sequence[str],
    vectors: Mapping[Probe, _Vector],
    zones: Mapping[Probe, str],
    limit: float,
) -> tuple[dict[str, str], dict[str, float]]:
    """Zones of an account's labels, and log ratios of the second-best difference to the best."""
    taken = {zone for (other, _), zone in zones.items() if other == account}
    names = sorted(set(zones.values()) - taken)
    apart = np.full((len(labels), len(names)), np.inf)
    for i, label in enumerate(labels):
        for probe, zone in zones.items():
            if probe[0] != account and zone in names:
                j = names.index(zone)
                value = _difference(vectors[account, label], vectors[probe])
                apart[i, j] = min(apart[i, j], value)
    # Differences are finite only where targets are common.
    usable = np.where(np.isfinite(apart), apart, 1e6)
    rows, columns = linear_sum_assignment(usable) if names else ((), ())
    chosen = dict(zip(map(int, rows), map(int, columns), strict=True))
    mapped, margins = {}, {}
    for i, label in enumerate(labels):
        best = float(apart[i, chosen[i]]) if i in chosen else float("inf")
        if best < _SAME * limit and np.isfinite(best):
            mapped[label] = names[chosen[i]]
            margins[label] = _margin(apart[i], chosen[i], limit)
        elif np.isfinite(limit) and _nearest(apart[i]) > _OTHER * limit:
            mapped[label] = f"{account}:{label}"
    return mapped, margins


def _margin(differences: np.ndarray, chosen: int, limit: float) -> float:
    others = np.delete(differences, chosen)
    second = min([*others[np.isfinite(others)], limit])
    return float(np.log(max(second, 1e-6) / max(float(differences[chosen]), 1e-6)))


def _nearest(differences: np.ndarray) -> float:
    """Smallest difference; 0 where nothing can be compared, so that no zone is called new."""
    known = differences[np.isfinite(differences)]
    return float(known.min()) if len(known) else 0.0
