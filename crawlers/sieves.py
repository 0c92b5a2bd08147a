"""Candidates of many zones in, verdicts out: wildcards are learnt level by level and held apart.

The questions that this costs go through the crawl's own way of asking, at most
``wildcards.PROBES`` for each level of a zone.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from core.records import Answer
from core.statuses import DnsStatus
from crawlers.wildcards import PROBES, Level, Probe, Verdict

# (number of the zone, name, type) out, the same number with the answer in.
Asked = Iterable[tuple[int, str, str]]
Ask = Callable[[Asked], Iterator[tuple[int, Answer]]]
# A level is known by the number of its zone and by its own name.
Key = tuple[int, str]
Judged = tuple[int, Answer, Verdict]


class Sieve:
    """Holds the levels of all zones of a batch, from one round of candidates to the next.

    ``is_thrifty`` keeps a question of each level for ``doubt``, if that will be called.
    """

    def __init__(self, ask: Ask, *, is_thrifty: bool = False) -> None:
        self._ask = ask
        self._is_thrifty = is_thrifty
        self._tops: dict[int, Level] = {}
        self._levels: dict[Key, Level] = {}
        self._denied: Counter[Key] = Counter()

    def open(self, zones: Iterable[tuple[int, str]]) -> None:
        """Learn what the zones (number, domain) answer for names that nobody made."""
        fresh = [key for key in zones if key not in self._levels]
        for key in fresh:
            self._tops[key[0]] = self._levels[key] = self._new(key)
        self._probe(fresh, Level.open_probe)

    def _new(self, key: Key) -> Level:
        denied = self._denied.pop(key, 0)
        return Level(key[1], is_thrifty=self._is_thrifty, denials=denied, offered=denied)

    def take(self, number: int, answer: Answer) -> Verdict | None:
        """A candidate's answer; ``None`` when its verdict comes from ``settle``."""
        top = self._tops[number]
        if answer.answers:
            return top.offer(answer.name, answer.answers, answer)
        if answer.status == DnsStatus.NXDOMAIN:
            top.deny(answer.name)
            parent = answer.name.partition(".")[2]
            if len(parent) > len(top.name):
                self._denied[number, parent] += 1
        return None

    def settle(self) -> Iterator[Judged]:
        """Verdicts on all that was held, the levels from the top of each zone downwards."""
        keys = [(number, level.name) for number, level in self._tops.items()]
        while keys:
            self._probe(keys, Level.check_probe)
            below: defaultdict[Key, list[Answer]] = defaultdict(list)
            for number, level_name in keys:
                for answer, verdict in self._levels[number, level_name].release():
                    deeper = _next_level(answer.name, level_name)
                    if verdict == Verdict.GENUINE and deeper:
                        below[number, deeper].append(answer)
                    else:
                        yield number, answer, verdict
            yield from self._descend(below)
            keys = list(below)

    def _descend(self, below: dict[Key, list[Answer]]) -> Iterator[Judged]:
        fresh = [key for key in below if key not in self._levels]
        for key in fresh:
            self._levels[key] = self._new(key)
        self._probe(fresh, Level.open_probe)
        for key, answers in below.items():
            for answer in answers:
                verdict = self._levels[key].offer(answer.name, answer.answers, answer)
                if verdict is not None:
                    yield key[0], answer, verdict

    def _probe(self, keys: Iterable[Key], choose: Callable[[Level], Probe | None]) -> None:
        """One question per level at a time, until no level wants another."""
        waiting = list(keys)
        while waiting:
            probes: dict[str, tuple[Key, Probe]] = {}
            for key in waiting:
                probe = choose(self._levels[key])
                if probe is not None:
                    probes[probe.name] = (key, probe)
            asked = ((key[0], probe.name, probe.type) for key, probe in probes.values())
            for _, answer in self._ask(asked):
                key, probe = probes[answer.name]
                self._levels[key].learn(probe, answer.status, answer.answers)
            waiting = [key for key, _ in probes.values()]

    def doubt(self, found: Iterable[tuple[Key, list[str], bool]]) -> Iterator[Key]:
        """Levels whose names come and go, of (level, names that went, whether others of theirs
        stayed): with questions left, names that went are asked again."""
        again: dict[str, Key] = {}
        for key, gone, is_mixed in found:
            level = self._levels.get(key)
            if level is None or level.is_fickle:
                continue
            if is_mixed:
                level.is_fickle = True
                yield key
            else:
                again |= dict.fromkeys(gone[: PROBES - level.asked], key)
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


def _next_level(name: str, level: str) -> str:
    """The level one label below ``level`` on the way to a name; empty when there is none."""
    inner = name[: -len(level) - 1].rpartition(".")
    return f"{inner[2]}.{level}" if inner[0] else ""
