"""Generate altered labels from names that were found in a zone.

Kinds of alteration are ordered by expected yield, a frequency that the survey's own results update;
each zone has a budget.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from core.statuses import Technique
from crawlers.engine.engine import Engine
from crawlers.sources.base import Harvest, Zone
from crawlers.sources.hostnames import is_plain
from crawlers.sources.permutations.rules import Alteration, View, alterations

# A frequency that is only supposed weighs as much as so many names that were queried.
_PRIOR_WEIGHT = 200
# A word that is in all zones is so much likelier than one that no zone was seen to have.
_ZONES_OF_PRIOR = 20
_LEAST_BOOST, _MOST_BOOST = 0.5, 20.0
# No kind takes more than this share of a budget as long as others have something to try.
_SHARE_OF_KIND = 4
# Harvests without feedback are dropped in the end.
_KEPT_HARVESTS = 2_000


@dataclass(frozen=True, slots=True)
class PermutationConfig:
    """How many names a zone may cost: ``budget``, and at most ``per_name`` for each found one."""

    budget: int = 500
    per_name: int = 40

    def budget_of(self, n_found: int) -> int:
        """The names that a zone with so many found ones may cost."""
        return max(0, min(self.budget, self.per_name * n_found))


@dataclass(slots=True)
class Yields:
    """What alterations brought so far, and which words the survey's zones use."""

    asked: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    zones: int = 0
    zones_with: Counter[str] = field(default_factory=Counter)

    def see(self, words: set[str]) -> None:
        """Count the words of one more zone."""
        self.zones += 1
        self.zones_with.update(words)

    def expect(self, kind: Alteration) -> float:
        """The share of its names that should exist, by what is supposed and what was seen."""
        weight = _PRIOR_WEIGHT
        share = (kind.prior * weight + self.found[kind.name]) / (weight + self.asked[kind.name])
        if not kind.word:
            return share
        seen = (self.zones_with[kind.word] + 1) / (self.zones + _ZONES_OF_PRIOR)
        return share * min(max(seen * _ZONES_OF_PRIOR, _LEAST_BOOST), _MOST_BOOST)


@dataclass(slots=True)
class Permutations:
    """Alterations of ``Zone.found``; sends no query.

    ``learn`` receives which names of a harvest exist, so that later zones get the best kinds first.
    The same zones and results always give the same names.
    """

    config: PermutationConfig = PermutationConfig()
    yields: Yields = field(default_factory=Yields)
    # The kinds that made the names of a harvest, until its lesson comes.
    _origins: dict[str, dict[str, str]] = field(default_factory=dict)

    technique = Technique.PERMUTATION
    is_zone_data = False

    def harvest(self, zones: Sequence[Zone], engine: Engine) -> Iterator[Harvest]:
        """One harvest per zone; all are seen before the first is altered."""
        views = [View(zone.domain, zone.found) for zone in zones]
        for view in views:
            self.yields.see(view.words)
        kinds = self._kinds()
        for view in views:
            origins = dict(self._alter(view, kinds))
            self._remember(view.domain, origins)
            yield Harvest(view.domain, names=tuple(origins))

    def learn(self, domain: str, found: Sequence[str]) -> None:
        """Take the names of a harvest that exist; to be called once for each harvest."""
        origins = self._origins.pop(domain, {})
        self.yields.asked.update(origins.values())
        self.yields.found.update(origins[name] for name in found if name in origins)

    def _remember(self, domain: str, origins: dict[str, str]) -> None:
        self._origins.pop(domain, None)
        self._origins[domain] = origins
        if len(self._origins) > _KEPT_HARVESTS:
            del self._origins[next(iter(self._origins))]

    def _kinds(self) -> list[Alteration]:
        kinds = alterations(self.yields.zones_with)
        return sorted(kinds, key=lambda kind: (-self.yields.expect(kind), kind.name))

    def _alter(self, view: View, kinds: Sequence[Alteration]) -> Iterator[tuple[str, str]]:
        """(name, kind), the likeliest kind first, until the budget is used."""
        budget = self.config.budget_of(len(view.labels))
        known = set(view.found)
        made = _first_of_each(view, kinds, known, max(1, budget // _SHARE_OF_KIND))
        return islice(made, budget)


def _first_of_each(
    view: View, kinds: Sequence[Alteration], known: set[str], share: int
) -> Iterator[tuple[str, str]]:
    """The first names of each kind, then what is left of each; ``known`` grows."""
    left: list[tuple[str, Iterator[str]]] = []
    for kind in kinds:
        names = _new_names(kind.make, view, known)
        yield from ((name, kind.name) for name in islice(names, share))
        left.append((kind.name, names))
    for name_of_kind, names in left:
        yield from ((name, name_of_kind) for name in names)


def _new_names(make: Callable[[View], Iterator[str]], view: View, known: set[str]) -> Iterator[str]:
    for name in make(view):
        if name not in known and is_plain(name.encode()):
            known.add(name)
            yield name
