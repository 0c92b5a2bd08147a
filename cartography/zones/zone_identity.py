"""Merge the zone labels of several accounts of a region into common zones.

The result maps every account's labels to common zones, with a confidence. Accounts are merged one
after the other, the largest first, each by the assignment of its labels that shared prefixes make
most probable.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cartography.zones.assignment import Assignment, Problem, assign
from cartography.zones.observations import Rules, Sample, ZoneId, prefixes_of
from cartography.zones.vote_quality import Floats, Purity, fit_purity, zone_shares

Prefix = tuple[int, int, int]
# Own instances by label and prefix.
Votes = dict[str, Counter[Prefix]]
# Each pass can only move what an earlier pass has moved; more than a few would be a circle.
_PASSES = 5
# A label is mapped when its zone is fifty times more probable than any other.
_SURE = float(np.log(50.0))


@dataclass(frozen=True, slots=True)
class Alignment:
    """One account's labels in a region.

    ``margins`` are log odds of each label's zone against the best mapping without it; a label that
    a published ID maps has none. ``agreeing`` and ``conflicting`` count the pairs of own instances,
    one of this account and one of another, that share a prefix. ``pairs_agree`` is true when no
    other mapping has more agreeing pairs, which was IMC'13's rule.
    """

    region: str
    account: str
    basis: str
    samples: int
    zones: Mapping[str, str]
    margins: Mapping[str, float] = field(default_factory=dict)
    eliminated: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()
    agreeing: int = 0
    conflicting: int = 0
    pairs_agree: bool = True


@dataclass(frozen=True, slots=True)
class _Known:
    """Evidence of other accounts on each prefix: instances per zone, and log probabilities."""

    zones: list[str]
    rows: dict[Prefix, int]
    counts: Floats
    logs: Floats


def merge_labels(
    samples: Sequence[Sample], zone_ids: Sequence[ZoneId], rules: Rules
) -> tuple[Alignment, ...]:
    """Alignments of all accounts of one region, the largest first."""
    votes = _votes_of(samples, rules)
    region = samples[0].region if samples else ""
    if region in rules.uniform_regions:
        zone_ids = [*(ZoneId(region, a, b, b) for a in votes for b in votes[a]), *zone_ids]
    return _Merger(region, votes, zone_ids).merge() if votes else ()


def _votes_of(samples: Iterable[Sample], rules: Rules) -> dict[str, Votes]:
    """Distinct own instances by account, label and shortest prefix."""
    votes: dict[str, Votes] = defaultdict(lambda: defaultdict(Counter))
    for sample in set(samples):
        steps = prefixes_of(sample.address, rules.lengths)
        if steps:
            votes[sample.account][sample.label][steps[0]] += 1
    return votes


class _Merger:
    """The accounts of one region; ``zones`` is what is decided, by account and label."""

    def __init__(self, region: str, votes: dict[str, Votes], ids: Iterable[ZoneId]) -> None:
        self.region, self.votes = region, votes
        self.sizes = {a: sum(c.total() for c in v.values()) for a, v in votes.items()}
        self.order = sorted(votes, key=lambda a: (-self.sizes[a], a))
        self.purity = _purity_within(votes.values())
        self.fixed: dict[str, dict[str, str]] = {a: {} for a in votes}
        for row in ids:
            self.fixed.setdefault(row.account, {})[row.label] = row.zone_id
        self.zones = {a: {b: z for b, z in self.fixed[a].items() if b in votes[a]} for a in votes}
        self.found: dict[str, Assignment] = {}
        self.reference = ""
        if not any(self.zones.values()):
            self.reference = self.order[0]
            self.zones[self.reference] = {label: label for label in votes[self.reference]}

    def merge(self) -> tuple[Alignment, ...]:
        """Fold all accounts in, then align each with all others until nothing moves."""
        others = [a for a in self.order if a != self.reference]
        self._repeat(others, only_open=True)
        self._repeat(others, only_open=False)
        return tuple(self._alignment(account) for account in self.order)

    def _repeat(self, accounts: Sequence[str], only_open: bool) -> None:
        for _ in range(max(_PASSES, len(accounts) if only_open else 0)):
            before = {a: dict(z) for a, z in self.zones.items()}
            for account in accounts:
                if not only_open or set(self.votes[account]) - set(self.zones[account]):
                    self._align(account)
            if before == self.zones:
                return

    def _align(self, account: str) -> None:
        known = self._known_without(account)
        labels = sorted(self.votes[account])
        votes = np.zeros((len(labels), len(known.rows)))
        for i, label in enumerate(labels):
            for prefix, n in self.votes[account][label].items():
                if prefix in known.rows:
                    votes[i, known.rows[prefix]] = n
        fixed = {b: z for b, z in self.fixed[account].items() if b in self.votes[account]}
        problem = Problem(account, labels, known.zones, votes, known.logs, known.counts, fixed)
        self.found[account] = found = assign(problem, _SURE)
        self.zones[account] = dict(found.zones)

    def _known_without(self, account: str) -> _Known:
        """Prefixes and zones of all other accounts' mapped labels."""
        cells: Counter[tuple[Prefix, str]] = Counter()
        for other, zones in self.zones.items():
            for label, zone in zones.items() if other != account else ():
                for prefix, n in self.votes[other][label].items():
                    cells[prefix, zone] += n
        named = {z for a, own in self.fixed.items() if a != account for z in own.values()}
        zones_known = sorted(named | {zone for _, zone in cells})
        rows = {prefix: i for i, prefix in enumerate(dict.fromkeys(p for p, _ in cells))}
        counts = np.zeros((len(rows), len(zones_known)))
        place = {zone: j for j, zone in enumerate(zones_known)}
        for (prefix, zone), n in cells.items():
            counts[rows[prefix], place[zone]] = n
        return _Known(zones_known, rows, counts, _log_shares(counts, self.purity))

    def _alignment(self, account: str) -> Alignment:
        found, zones = self.found.get(account), self.zones[account]
        size = self.sizes[account]
        if account == self.reference or found is None:
            return Alignment(self.region, account, "reference", size, zones)
        basis = "zone ids" if set(zones) <= set(self.fixed[account]) and zones else "addresses"
        return Alignment(
            self.region,
            account,
            basis,
            size,
            zones,
            found.margins,
            found.eliminated,
            found.undetermined,
            found.agreeing,
            found.conflicting,
            found.pairs_agree,
        )


def _purity_within(accounts: Iterable[Votes]) -> Purity:
    """Rates of wrong labels and shared prefixes, as accounts by themselves show them."""
    tables = []
    for votes in accounts:
        labels = sorted(votes)
        prefixes = dict.fromkeys(p for counts in votes.values() for p in counts)
        table = np.array([[votes[b][p] for b in labels] for p in prefixes], dtype=float)
        if len(labels) > 1 and len(table):
            tables.append(table)
    width = max((t.shape[1] for t in tables), default=2)
    wide = [np.pad(t, ((0, 0), (0, width - t.shape[1]))) for t in tables]
    return fit_purity(np.vstack(wide) if wide else np.zeros((0, 2)))


def _log_shares(counts: Floats, purity: Purity) -> Floats:
    """Log probability of the label of one more instance per prefix, and of an unseen zone."""
    zones = counts.shape[1]
    shares = zone_shares(counts, purity)
    shares = (1 - purity.noise) * shares + purity.noise / (zones + 1)
    # An unseen zone cannot be distinguished from the least probable one that was seen.
    fresh = shares.min(axis=1, keepdims=True) if zones > 1 else np.full((len(counts), 1), 0.05)
    made: Floats = np.log(np.hstack([shares, fresh]))
    return made
