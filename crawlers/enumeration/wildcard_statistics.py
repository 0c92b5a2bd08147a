"""Statistics of a wildcard's answers: how often each part occurs, and which answers it explains.

The parts of an answer are its addresses or, for an alias, the target and its suffixes. A part is
attributed to a name itself only if a wildcard that gives all its parts about equally often would
have given it far more often than it was seen.
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from core.records import Record

# Targets are compared whole, then without their first label, and so on: a wildcard may send each
# name to a different target below one common name.
RUNGS = 4

# A part that was seen so often beside others like it is one of a rotation.
_COMMON = 8
# Probability, per level, to accept a name with answers that differ by chance alone.
_CHANCE = 1e-4
# A wildcard may deny itself so often, counted over so many names.
_MOST_DENYING = 0.05
_DENYING_NAMES = 100


class Evidence(NamedTuple):
    """The content of an answer: the first alias, or else the addresses."""

    alias: str
    addresses: frozenset[str]

    def parts(self, rung: int) -> tuple[str, ...]:
        """What is counted: addresses, or the alias with ``rung`` labels cut off (two stay)."""
        if not self.alias:
            return tuple(self.addresses)
        target = self.alias
        for _ in range(rung):
            shorter = target.partition(".")[2]
            target = shorter if "." in shorter else target
        return (f"{rung}>{target}",)

    @property
    def whole(self) -> frozenset[str]:
        """What a wildcard must have given to explain the answer: the alias, or the addresses."""
        return frozenset({f"0>{self.alias}"}) if self.alias else self.addresses


class Strictness(NamedTuple):
    """When a part is too rare for the wildcard.

    ``share``: no part of the wildcard is given less than so often as one that was seen; ``error``:
    how unlikely a rarity has to be.
    """

    share: float
    error: float


# Where many random names were answered, and where few were or names cannot be shown to exist.
SURE = Strictness(share=1.0, error=1e-2)
UNCHECKED = Strictness(share=2 / 3, error=1e-3)


def evidence_of(answers: Sequence[Record]) -> Evidence:
    """The evidence in the records of an answer, which begin with the alias if there is one."""
    if answers and answers[0].type == "CNAME":
        return Evidence(_without_name(answers[0].name, answers[0].data), frozenset())
    return Evidence("", frozenset(r.data for r in answers if r.type in ("A", "AAAA")))


def _without_name(name: str, target: str) -> str:
    """A target with the labels that it took from the name left out: ``*.cdn.example``."""
    asked, labels, same = name.split("."), target.split("."), 0
    while same < min(len(asked), len(labels) - 2) and asked[same] == labels[same]:
        same += 1
    return ".".join(("*", *labels[same:])) if same else target


def count_parts(evidence: Evidence, *, explained: bool) -> tuple[str, ...]:
    """What one answer adds to the counts.

    Shortened targets count only for answers that the random names do not explain as they are,
    so that a wildcard with one target does not swallow its neighbours at the same host.
    """
    if not evidence.alias or explained:
        return evidence.parts(0)
    return tuple(part for rung in range(RUNGS) for part in evidence.parts(rung))


def is_too_rare(seen: int, usual: int, strictness: Strictness) -> bool:
    """Whether a part of the same source would hardly be seen so rarely beside a usual one.

    Chernoff's bound on a binomial: of all sightings of the two, how many fall on the rare one.
    """
    total, fair = seen + usual, strictness.share / (1 + strictness.share)
    ratio = seen / total
    if ratio >= fair:
        return False
    distance = (1 - ratio) * math.log((1 - ratio) / (1 - fair))
    if seen:
        distance += ratio * math.log(ratio / fair)
    return -total * distance < math.log(strictness.error)


class AnswerStatistics:
    """The counts of one level, judged against its wildcard's answers to random names."""

    def __init__(
        self, samples: Sequence[Evidence], counts: Counter[str], strictness: Strictness
    ) -> None:
        self.samples = samples
        self.counts = counts
        self.strictness = strictness
        rungs = RUNGS if any(seed.alias for seed in samples) else 1
        asked = [Counter(p for seed in samples for p in set(seed.parts(r))) for r in range(rungs)]
        self._asked = asked[-1]
        self._own = [asked[min(r, rungs - 1)].keys() for r in range(RUNGS)]
        usual = [
            min((counts[part] + n for part, n in asked[r].items()), default=0) for r in range(rungs)
        ]
        # The most exact rung at which the wildcard repeats itself often enough to judge by.
        enough = (r for r in range(rungs) if is_too_rare(1, usual[r], strictness))
        self.rung = next(enough, RUNGS - 1)
        self.usual = usual[min(self.rung, rungs - 1)]

    @property
    def repeats_itself(self) -> bool:
        """Whether the samples have fewer parts than half their number."""
        return 2 * len(self._asked) <= len(self.samples)

    def explains(self, evidence: Evidence) -> bool:
        """Whether random names were answered just so."""
        return bool(evidence.whole) and evidence.whole <= self._own[0]

    def count_needed(self, n_candidates: int) -> int:
        """How many repeated answers, unlike the wildcard's, show that a candidate has its own.

        The wildcard's answers that no further sample had estimate how many of them are unknown
        (Good and Turing).
        """
        rung = min(self.rung, RUNGS - 1)
        parts = [set(seed.parts(rung)) for seed in self.samples]
        times = Counter(part for found in parts for part in found)
        n_single = sum(any(times[part] == 1 for part in found) for found in parts)
        return count_needed(n_candidates, n_single, len(parts))

    def is_other(self, evidence: Evidence) -> bool:
        """Whether an answer cannot be the wildcard's."""
        if not evidence.alias:
            return any(self._is_own_to_a_name(part) for part in evidence.addresses)
        (exact,) = evidence.parts(self.rung)
        wider = (part for r in range(self.rung, RUNGS) for part in evidence.parts(r))
        return exact not in self._own[self.rung] and all(self._is_rare(p) for p in wider)

    def weight(self, evidence: Evidence) -> int:
        """How often the most frequent informative part of an answer was seen."""
        if evidence.alias:
            return self.counts[evidence.parts(self.rung)[0]]
        telling = [self.counts[p] for p in evidence.addresses if p not in self._own[0]]
        return max(telling, default=0)

    def is_like(self, evidence: Evidence) -> bool:
        """Whether an answer has no part but the wildcard's, or such as are just as common."""
        own, common = self._own[self.rung], max(_COMMON, self.usual / 2)
        return all(p in own or self.counts[p] >= common for p in evidence.parts(self.rung))

    def _is_own_to_a_name(self, part: str) -> bool:
        return part not in self._own[0] and self._is_rare(part)

    def _is_rare(self, part: str) -> bool:
        return is_too_rare(max(1, self.counts[part]), self.usual, self.strictness)


def count_needed(n_candidates: int, n_rare: int, n_seen: int) -> int:
    """How many answers to repeated queries have to be rare before chance cannot explain them.

    ``n_candidates`` had a rare first answer, any of them perhaps from the wildcard. ``n_rare`` of
    ``n_seen`` answers of the wildcard were rare; the share assumed is an upper limit (three
    standard deviations, or the rule of three where none was). With one that is not below 1 no
    number suffices.
    """
    share = (n_rare + 3 * math.sqrt(n_rare + 1)) / max(1, n_seen)
    if share >= 1:
        return sys.maxsize
    return max(2, math.ceil(math.log(_CHANCE / max(1, n_candidates)) / math.log(share)))


def is_seldom(denied: int, offered: int) -> bool:
    """Whether a wildcard denies itself so seldom that denials still show what exists."""
    return offered >= _DENYING_NAMES and denied <= _MOST_DENYING * offered
