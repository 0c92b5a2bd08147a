"""Infer zones by address: a target is in the zone of own instances with a common prefix.

The inputs are own instances in common zones and the internal addresses of targets; the result is a
finding per target. IMC'13 compared /16; a /16 that zones share is refined by longer prefixes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cartography.zones.observations import Rules, Sample, Target, prefix_text, prefixes_of
from cartography.zones.verdicts import ProximityFinding, Reason
from cartography.zones.vote_quality import Floats, Purity, fit_purity, zone_shares

Prefix = tuple[int, int, int]
Labels = Mapping[tuple[str, str], str]  # (account, label) to common zone


@dataclass(frozen=True, slots=True)
class AddressMap:
    """Probabilities and votes by prefix and zone, of one region.

    ``unmapped`` are the prefixes of instances with labels without a common zone; ``purity`` is that
    of the shortest prefixes.
    """

    zones: tuple[str, ...]
    rows: Mapping[Prefix, int]
    votes: Floats
    shares: Floats
    unmapped: frozenset[Prefix]
    purity: Purity
    prefixes: Mapping[str, int]  # shortest prefixes: how many are of one zone, shared …


def map_addresses(samples: Iterable[Sample], labels: Labels, rules: Rules) -> AddressMap:
    """The address map of one region's own instances."""
    cells: Counter[tuple[Prefix, str]] = Counter()
    unmapped = set()
    for _, account, label, address in set(samples):
        zone = labels.get((account, label))
        for prefix in prefixes_of(address, rules.lengths):
            if zone is None:
                unmapped.add(prefix)
            else:
                cells[prefix, zone] += 1
    zones = tuple(sorted({zone for _, zone in cells}))
    rows = {prefix: i for i, prefix in enumerate(dict.fromkeys(p for p, _ in cells))}
    votes = np.zeros((len(rows), len(zones)))
    for (prefix, zone), n in cells.items():
        votes[rows[prefix], zones.index(zone)] = n
    return _with_shares(zones, rows, votes, frozenset(unmapped))


def _with_shares(
    zones: tuple[str, ...], rows: dict[Prefix, int], votes: Floats, unmapped: frozenset[Prefix]
) -> AddressMap:
    """Probabilities per prefix; each length has separate rates."""
    levels: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (version, length, _), row in rows.items():
        levels[version, length].append(row)
    shares = np.ones_like(votes)
    first: Purity | None = None
    for members in levels.values():
        purity = fit_purity(votes[members])
        shares[members] = zone_shares(votes[members], purity)
        first = first or purity
    top = next(iter(levels.values()), [])
    several = int((np.count_nonzero(votes[top], axis=1) > 1).sum()) if top else 0
    counts = {"one_zone": len(top) - several, "several_zones": several}
    return AddressMap(zones, rows, votes, shares, unmapped, first or fit_purity(votes), counts)


def locate(
    targets: Sequence[Target], known: AddressMap, rules: Rules
) -> tuple[ProximityFinding, ...]:
    """A finding per target, in their order."""
    best = known.shares.argmax(axis=1) if known.zones else np.zeros(0, dtype=int)
    found: dict[tuple[Prefix, ...], ProximityFinding] = {}
    findings = []
    for target in targets:
        steps = prefixes_of(target.internal, rules.lengths)
        if steps not in found:
            found[steps] = _finding(steps, known, best, rules)
        findings.append(found[steps])
    return tuple(findings)


def _finding(
    steps: tuple[Prefix, ...], known: AddressMap, best: np.ndarray, rules: Rules
) -> ProximityFinding:
    if not steps:
        return ProximityFinding(reason=Reason.NO_INTERNAL_ADDRESS)
    rows = [known.rows[p] for p in steps if p in known.rows]
    if not rows:
        lost = known.unmapped.intersection(steps)
        return ProximityFinding(reason=Reason.UNMAPPED_SAMPLES if lost else Reason.NO_SAMPLE)
    row = max(rows, key=lambda r: known.shares[r, best[r]])
    confidence = float(known.shares[row, best[row]])
    prefix = next(p for p in steps if known.rows.get(p) == row)
    votes = {z: int(n) for z, n in zip(known.zones, known.votes[row], strict=True) if n}
    if confidence < rules.proximity_confidence:
        reason = Reason.CONFLICTING_SAMPLES
        return ProximityFinding(None, reason, confidence, prefix_text(prefix), votes)
    return ProximityFinding(known.zones[best[row]], None, confidence, prefix_text(prefix), votes)
