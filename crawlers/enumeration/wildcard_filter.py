"""Decide which candidates of many zones are real names and which a wildcard explains.

Wildcards are learnt level by level; the extra questions go through the crawl's engine and are
counted.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from core.records import Answer
from core.statuses import DnsStatus
from crawlers.enumeration.candidates import Probe, Verdict
from crawlers.enumeration.interleave import spread
from crawlers.enumeration.wildcard_level import Level
from crawlers.enumeration.wildcard_screening import can_screen, screen, screen_probes

# (number of the zone, name, type) out, the same number with the answer in.
Asked = Iterable[tuple[int, str, str]]
Ask = Callable[[Asked], Iterator[tuple[int, Answer]]]
# A level is known by the number of its zone and by its own name.
Key = tuple[int, str]
# Names with a denied AAAA that are queried again at one level.
_DOUBTED = 6
Judged = tuple[int, Answer, Verdict]


class WildcardFilter:
    """Holds the levels of all zones of a batch, from one round of candidates to the next.

    ``is_thrifty`` keeps a question of each level for ``doubt``, if that will be called.
    """

    def __init__(self, ask: Ask, *, is_thrifty: bool = False) -> None:
        self._ask = ask
        self._is_thrifty = is_thrifty
        self._tops: dict[int, Level] = {}
        self._levels: dict[Key, Level] = {}
        self._denied: Counter[Key] = Counter()
        # Only spreads the load: nothing that is found depends on it.
        self._rng = random.Random(0)

    def open(self, zones: Iterable[Key]) -> None:
        """Learn what the zones (number, domain) answer for random names."""
        fresh = [key for key in zones if key not in self._levels]
        for key in fresh:
            self._tops[key[0]] = self._level(key)
        self._probe(fresh, Level.open_probe)

    def _level(self, key: Key) -> Level:
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = Level(key[1], is_thrifty=self._is_thrifty)
        return level

    def can_screen(self, number: int) -> bool:
        """Whether guesses in a zone may be judged by what is answered below them alone."""
        return can_screen(self._tops[number])

    def screen(self, guesses: Mapping[int, Sequence[str]]) -> dict[int, set[str]]:
        """By zone, the guesses just below it that do not exist; they need not be queried."""
        tops = {(n, self._tops[n].name): self._tops[n] for n in guesses}
        names = {
            id(top): [g for g in guesses[key[0]] if _parent(g) == top.name]
            for key, top in tops.items()
        }
        self._probe(tops, lambda level: screen_probes(level, names[id(level)]))
        return {key[0]: screen(top, names[id(top)]) for key, top in tops.items()}

    def classify(self, number: int, answer: Answer) -> Verdict | None:
        """A candidate's answer; ``None`` when its verdict comes from ``settle``."""
        top = self._tops[number]
        if answer.answers:
            parent = _parent(answer.name)
            level = self._level((number, parent)) if len(parent) > len(top.name) else top
            return level.offer(answer.name, answer.answers, answer)
        if answer.status == DnsStatus.NXDOMAIN:
            top.deny(answer.name)
            parent = _parent(answer.name)
            if len(parent) > len(top.name):
                self._denied[number, parent] += 1
        return None

    def count_denials(self, number: int, n_name_errors: int) -> None:
        """So many candidates of one label do not exist."""
        top = self._tops[number]
        top.offered += n_name_errors
        top.denials += n_name_errors

    def settle(self) -> Iterator[Judged]:
        """Verdicts on all that was held, the levels from the lowest of each zone upwards.

        So what is below a name, and shows that it exists, is known when the name is judged.
        """
        by_depth: defaultdict[int, list[Key]] = defaultdict(list)
        for key, level in self._levels.items():
            if level.held or not level.asked or key[1] == self._tops[key[0]].name:
                by_depth[key[1].count(".")].append(key)
        for depth in sorted(by_depth, reverse=True):
            keys = by_depth[depth]
            for key in keys:
                self._note_denials(key)
            self._probe((k for k in keys if not self._levels[k].asked), Level.open_probe)
            self._probe(keys, Level.check_probes)
            for key in keys:
                yield from self._release(key)

    def _note_denials(self, key: Key) -> None:
        level, denied = self._levels[key], self._denied.pop(key, 0)
        level.denials += denied
        level.offered += denied

    def _release(self, key: Key) -> Iterator[Judged]:
        """Return the verdicts of one level; the level above learns from them."""
        number, name = key
        above = self._levels.get((number, _parent(name)))
        level = self._levels[key]
        if above is not None and level.is_below_denied:
            above.learn_below(name, None)
        for answer, verdict in level.release():
            if verdict == Verdict.GENUINE:
                self._prove(key)
            yield number, answer, verdict

    def _prove(self, key: Key) -> None:
        """A name exists, and so do all names above it."""
        number, name = key
        top = self._tops[number].name
        while len(name) > len(top):
            above = self._levels.get((number, _parent(name)))
            if above is not None:
                above.proven.add(name)
            name = _parent(name)

    def _probe(self, keys: Iterable[Key], choose: Callable[[Level], list[Probe]]) -> None:
        """One round of questions for all levels at a time, until no level wants another."""
        waiting = list(keys)
        while waiting:
            wanted = {key: choose(self._levels[key]) for key in waiting}
            waiting = [key for key in waiting if wanted[key]]
            if not waiting:
                return
            probes = {(key[0], p.name): (key, p) for key in waiting for p in wanted[key]}
            columns = [[(key[0], p.name, p.type) for p in wanted[key]] for key in waiting]
            for number, answer in self._ask(spread(columns, self._rng)):
                key, probe = probes[number, answer.name]
                self._levels[key].learn(probe, answer.status, answer.answers)

    def doubt(self, found: Iterable[tuple[Key, list[str], bool]]) -> Iterator[Key]:
        """Levels with unstable names, of (level, names that went, whether others of theirs
        stayed): some of the names that went are queried again."""
        again: dict[str, Key] = {}
        for key, gone, is_mixed in found:
            level = self._levels.get(key)
            if level is None or level.is_fickle:
                continue
            if is_mixed:
                level.is_fickle = True
                yield key
            else:
                again |= dict.fromkeys(gone[:_DOUBTED], key)
        yield from self._ask_again(again)

    def _ask_again(self, names: dict[str, Key]) -> Iterator[Key]:
        for _, answer in self._ask((key[0], name, "A") for name, key in names.items()):
            key = names[answer.name]
            level = self._levels[key]
            level.asked += 1
            if answer.status == DnsStatus.NXDOMAIN and not level.is_fickle:
                level.is_fickle = True
                yield key

    def levels(self) -> Iterator[tuple[int, Level]]:
        """All levels that were looked at, with the number of their zone."""
        for (number, _), level in self._levels.items():
            yield number, level


def _parent(name: str) -> str:
    return name.partition(".")[2]
