"""Compare the candidates of one level with its wildcard's answers.

Decides about names that no denial shows to exist: those with answers of their own, and those below
which a separate wildcard answers. Both are rare, and so may be a rare answer of the level's own
wildcard; therefore they are queried again until chance cannot explain all answers.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crawlers.enumeration.candidates import Held, Probe, Tests
from crawlers.enumeration.wildcard_statistics import AnswerStatistics, Evidence, count_needed

if TYPE_CHECKING:
    from crawlers.enumeration.wildcard_level import Level

# Random names below one candidate at most, and repeated queries for it at most.
MOST_TESTS = 7
# At most so many candidates with a nested wildcard; more are rare answers of the level's.
_MOST_NESTED = 8
# Where a wildcard was seen less often than half as often as its candidates, an answer that more
# names share may be a rare one of the wildcard's as well as a host of theirs.
_MOST_ALIKE = 2
_NO_TESTS = Tests()


class Comparison:
    """What the answers known so far show about a level's candidates.

    ``tally`` has the wildcard's answers, ``open`` the candidates that no denial shows to exist.
    """

    def __init__(self, level: "Level") -> None:
        self._level = level
        below = {h.name: self._tests(h.name).answers for h in level.held}
        self.tally, self._nested = self._find_nested({n: e for n, e in below.items() if e})
        self.open = [held for held in level.held if not self._is_shown(held)]
        self._others = [held for held in self.open if self._is_distinct(held)]
        # How many repeated answers have to differ from the wildcard's, too.
        self._needed = self.tally.count_needed(len(self._others)) if self._others else 0

    def _tests(self, name: str) -> Tests:
        return self._level.tests.get(name, _NO_TESTS)

    def _find_nested(
        self, below: dict[str, list[Evidence]]
    ) -> tuple[AnswerStatistics, dict[str, int]]:
        """Return the wildcard's answers, and candidates below which something else answers.

        The number with each is how many answers below it have to be unlike the level's. More than a
        few such candidates are rare answers of the level's own wildcard.
        """
        level = self._level
        tally = level.tally(level.random)
        n_rare = sum(tally.is_other(found[0]) for found in below.values())
        n_seen = len(level.random) + len(level.screened) + len(below)
        nested = set(below) if n_rare <= _MOST_NESTED and not level.has_rule else set()
        while True:
            rest = [e for name, found in below.items() if name not in nested for e in found]
            if rest or level.screened:
                tally = level.tally([*level.random, *level.screened, *rest])
            kept = {name for name in nested if all(map(tally.is_other, below[name]))}
            if kept == nested:
                needed = count_needed(n_rare, n_rare, n_seen)
                return tally, dict.fromkeys(nested, min(needed, sys.maxsize - 1) + 1)
            nested = kept

    def _is_shown(self, held: Held) -> bool:
        """Whether names below a candidate show that it exists."""
        level, name, known = self._level, held.name, self._tests(held.name)
        if name in level.proven:
            # A server that answers below names that exist answers for those without records, too.
            is_any = bool(known.answers) and level.takes_asterisks
            return not (is_any and self.tally.explains(held.evidence))
        if not level.can_test:
            return False
        if known.answers:
            return not known.denied and len(known.answers) >= self._nested.get(name, sys.maxsize)
        return known.denied >= level.denials_needed

    def _is_distinct(self, held: Held) -> bool:
        """Whether a candidate's answer differs from everything that the wildcard gave."""
        tally, level = self.tally, self._level
        if held.name in self._nested or tally.explains(held.evidence):
            return False
        if not tally.is_other(held.evidence) or (self._tests(held.name).answers and level.has_rule):
            return False
        common = tally.weight(held.evidence) > _MOST_ALIKE
        return not common or 2 * len(tally.samples) >= level.offered - level.denials

    def _is_confirmed(self, held: Held) -> bool:
        """Whether the repeated answers, if any, differ from the wildcard's."""
        repeats = self._tests(held.name).repeats
        return all(again and self.tally.is_other(again) for again in repeats)

    @property
    def is_decidable(self) -> bool:
        """Whether so many answers are known that repeated queries can decide about the rest."""
        return self._needed <= MOST_TESTS and max(self._nested.values(), default=0) <= MOST_TESTS

    def recheck_probes(self) -> list[Probe]:
        """Probes below names that seem to hold a wildcard, and repetitions for the distinct."""
        return [*self._probe_nested(), *self._repeat_others()]

    def _probe_nested(self) -> Iterator[Probe]:
        for name, needed in self._nested.items():
            known = self._tests(name)
            if len(known.answers) < needed <= MOST_TESTS and known.asked < MOST_TESTS:
                yield self._level.probe_below(name)

    def _repeat_others(self) -> Iterator[Probe]:
        for held in self._others if self._needed <= MOST_TESTS else ():
            known = self._tests(held.name)
            is_open = len(known.repeats) < self._needed and known.repeated < MOST_TESTS
            if is_open and self._is_confirmed(held):
                yield Probe(held.name, below=held.name, is_repeat=True)

    def find_own(self) -> set[str]:
        """The candidates that exist."""
        is_open = {held.name for held in self.open}
        found = {held.name for held in self._level.held if held.name not in is_open}
        sure = (h for h in self._others if len(self._tests(h.name).repeats) >= self._needed)
        return found | {held.name for held in sure if self._is_confirmed(held)}
