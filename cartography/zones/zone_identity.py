"""Merge the zone labels of several accounts of a region into common zones.

The result maps every account's labels to common zones, with a confidence. Accounts are merged one
after the other, the largest first, each by the assignment of its labels that common prefixes make
most probable: for each own instance, the prefix for which other accounts are most certain of one
zone, since zones may share a /16.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from cartography.zones.assignment import Assignment, Problem, assign
from cartography.zones.observations import Rules, Sample, ZoneId, prefixes_of
from cartography.zones.vote_quality import Floats, Purity, fit_purity, zone_shares

Prefix = tuple[int, int, int]
# The prefixes of one address, the shortest first.
Steps = tuple[Prefix, ...]
# Own instances by label and prefixes.
Votes = dict[str, Counter[Steps]]
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
    """Evidence of other accounts on each prefix: instances per zone, and log probabilities.

    ``best`` is the log probability of each prefix's most probable zone.
    """

    zones: list[str]
    rows: dict[Prefix, int]
    counts: Floats
    logs: Floats
    best: Floats

    def decisive_row(self, steps: Steps) -> int | None:
        """The row of the prefix with the most certain zone; of equal ones the shortest."""
        rows = [self.rows[prefix] for prefix in steps if prefix in self.rows]
        return max(rows, key=lambda row: self.best[row], default=None)


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
    """Distinct own instances by account, label and prefixes."""
    votes: dict[str, Votes] = defaultdict(lambda: defaultdict(Counter))
    for sample in set(samples):
        steps = prefixes_of(sample.address, rules.lengths)
        if steps:
            votes[sample.account][sample.label][steps] += 1
    return votes


class _Merger:
    """The accounts of one region; ``zones`` is what is decided, by account and label."""

    def __init__(self, region: str, votes: dict[str, Votes], ids: Iterable[ZoneId]) -> None:
        self.region, self.votes = region, votes
        self.sizes = {a: sum(c.total() for c in v.values()) for a, v in votes.items()}
        self.order = sorted(votes, key=lambda a: (-self.sizes[a], a))
        # Instances in each prefix: of each account's labels, and the labels of all accounts.
        self.counts = {a: {b: _by_prefix(c) for b, c in v.items()} for a, v in votes.items()}
        self.holders: dict[Prefix, list[tuple[str, str, int]]] = defaultdict(list)
        for account, labels in self.counts.items():
            for label, counts in labels.items():
                for prefix, n in counts.items():
                    self.holders[prefix].append((account, label, n))
        self.purity = _purity_within(self.counts.values())
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
        pairs = np.zeros((len(labels), len(known.zones)))
        for i, label in enumerate(labels):
            for steps, n in self.votes[account][label].items():
                row, shortest = known.decisive_row(steps), known.rows.get(steps[0])
                if row is not None and shortest is not None:
                    votes[i, row] += n
                    pairs[i] += n * known.counts[shortest]
        fixed = {b: z for b, z in self.fixed[account].items() if b in self.votes[account]}
        problem = Problem(account, labels, known.zones, votes, known.logs, pairs, fixed)
        self.found[account] = found = assign(problem, _SURE)
        self.zones[account] = dict(found.zones)

    def _known_without(self, account: str) -> _Known:
        """The evidence of all other accounts on the prefixes of one account."""
        others = [zones for a, zones in self.zones.items() if a != account]
        named = [own for a, own in self.fixed.items() if a != account]
        zones_known = sorted({zone for zones in [*named, *others] for zone in zones.values()})
        place = {zone: j for j, zone in enumerate(zones_known)}
        rows: dict[Prefix, int] = {}
        counts: list[Floats] = []
        for prefix in _prefixes_of(self.counts[account].values()):
            row = np.zeros(len(zones_known))
            for other, label, n in self.holders[prefix]:
                if other != account and label in self.zones[other]:
                    row[place[self.zones[other][label]]] += n
            if row.any():
                rows[prefix] = len(counts)
                counts.append(row)
        table = np.array(counts).reshape(len(rows), len(zones_known))
        logs = np.zeros((len(rows), len(zones_known) + 1))
        for length, members in _rows_by_length(rows).items():
            logs[members] = _log_shares(table[members], self.purity[length])
        return _Known(zones_known, rows, table, logs, logs[:, :-1].max(axis=1, initial=-np.inf))

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


def _by_prefix(counts: Counter[Steps]) -> Counter[Prefix]:
    """Instances in each prefix of every length."""
    found: Counter[Prefix] = Counter()
    for steps, n in counts.items():
        for prefix in steps:
            found[prefix] += n
    return found


def _rows_by_length(prefixes: Iterable[Prefix]) -> dict[tuple[int, int], list[int]]:
    """Positions of the prefixes of each (version, length)."""
    rows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, (version, length, _) in enumerate(prefixes):
        rows[version, length].append(row)
    return rows


def _prefixes_of(labels: Iterable[Counter[Prefix]]) -> list[Prefix]:
    """The distinct prefixes of several labels."""
    return list(dict.fromkeys(prefix for counts in labels for prefix in counts))


def _purity_within(
    accounts: Iterable[Mapping[str, Counter[Prefix]]],
) -> dict[tuple[int, int], Purity]:
    """Rates of wrong labels and shared prefixes, as accounts by themselves show them.

    Each (version, length) has separate rates.
    """
    tables: dict[tuple[int, int], list[Floats]] = defaultdict(list)
    for labels in accounts:
        own = [labels[label] for label in sorted(labels)]
        prefixes = _prefixes_of(own)
        table = np.array([[counts[prefix] for counts in own] for prefix in prefixes], dtype=float)
        for length, rows in _rows_by_length(prefixes).items():
            tables[length].append(table[rows])
    return {length: fit_purity(_stacked(found)) for length, found in tables.items()}


def _stacked(tables: Sequence[Floats]) -> Floats:
    """One table of all that have several columns, as wide as the widest."""
    several = [t for t in tables if t.shape[1] > 1]
    width = max((t.shape[1] for t in several), default=2)
    wide = [np.pad(t, ((0, 0), (0, width - t.shape[1]))) for t in several]
    return np.vstack(wide) if wide else np.zeros((0, 2))


def _log_shares(counts: Floats, purity: Purity) -> Floats:
    """Log probability of the label of one more instance per prefix, and of an unseen zone."""
    zones = counts.shape[1]
    shares = zone_shares(counts, purity)
    shares = (1 - purity.noise) * shares + purity.noise / (zones + 1)
    # An unseen zone cannot be distinguished from the least probable one that was seen.
    fresh = shares.min(axis=1, keepdims=True) if zones > 1 else np.full((len(counts), 1), 0.05)
    made: Floats = np.log(np.hstack([shares, fresh]))
    return made
