"""Wildcards: what one level of a zone answers for names that nobody made, and what that explains.

Answers to random names and to candidates go in; at most ``PROBES`` names to ask per level, and a
verdict on every candidate, come out. The rule and its error stand in docs/methods/crawl.md.
"""

import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from core.records import Record
from core.statuses import DnsStatus
from crawlers.tallies import (
    CHECKED,
    SURE,
    UNCHECKED,
    Evidence,
    Strictness,
    Tally,
    count_parts,
    evidence_of,
)

# Extra questions per level, whatever happens: the budget that docs/methods/crawl.md states.
PROBES = 3
# Candidates that a level with a wildcard holds back before the explained ones are let go.
MOST_HELD = 20_000
# A level that denies random names but answers so many of the others is looked at once more.
_BUSY_SHARE = 0.05
_THRIFTY_SHARE = 0.25
_BUSY_NAMES = 3
# No real zone holds a quarter of a long list of guesses with one and the same answer.
_PACKED_SHARE = 0.25
_PACKED_WORDS = 100
# Where it denies fewer names than this, it would not have denied every random one.
_LEAST_DENIED = 0.1
# Where no name can be shown to exist, an answer that more names share may be a rare one of the
# wildcard's as well as a host of theirs.
_MOST_ALIKE = 2
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Verdict(Enum):
    """What a candidate turned out to be; a suspected one cannot be told from the wildcard."""

    GENUINE = "genuine"
    WILDCARD = "wildcard"
    SUSPECTED = "suspected"


class Probe(NamedTuple):
    """One extra question; ``below`` is the candidate whose existence it tests, if any."""

    name: str
    type: str = "A"
    is_deep: bool = False
    below: str = ""


class Held(NamedTuple):
    """A candidate that waits for its verdict; ``load`` travels along untouched."""

    name: str
    evidence: Evidence
    load: Any


@dataclass(slots=True)
class Level:
    """One name of a zone below which candidates were found, or the zone's own name.

    Ask what ``open_probe`` gives, then offer candidates and tell denials, then ask what
    ``check_probe`` gives, until both give nothing; ``release`` gives the verdicts.
    """

    name: str
    asked: int = 0
    is_denied: bool = False
    is_empty: bool = False
    is_deep: bool = False
    has_ipv6: bool = False
    is_fickle: bool = False
    is_heard: bool = False
    # Keep a question for a name that is denied when it is asked for IPv6 (``Sieve.doubt``).
    is_thrifty: bool = False
    random: list[Evidence] = field(default_factory=list)
    condemned: list[Evidence] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)
    proven: set[str] = field(default_factory=set)
    counted: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    offered: int = 0
    denials: int = 0
    let_go: int = 0
    # So many names may share an answer that is kept: as many as one that was shown to exist.
    alike: int = _MOST_ALIKE

    @property
    def answers(self) -> bool:
        """Whether names that nobody made are answered here."""
        return bool(self.random) or self.has_ipv6 or self.is_fickle

    @property
    def _can_test(self) -> bool:
        """Whether a denial below a name shows that it exists (RFC 4592 section 2.2.1).

        It does where the wildcard reaches down and denies nothing beside itself.
        """
        return self.is_deep and not self.denials and not self.is_denied

    def open_probe(self) -> Probe | None:
        """A random name two labels below the level; where nothing came back, one a label below."""
        if not self.asked:
            return Probe(f"{random_label()}.{random_label()}.{self.name}", is_deep=True)
        return self._new_probe() if self.asked < PROBES and not self.is_heard else None

    def check_probe(self) -> Probe | None:
        """What is still worth asking once all candidates are known."""
        if self.asked >= PROBES:
            return None
        if self.random:
            return self._check_wildcard() if self.held else None
        if self.is_empty and not self.has_ipv6 and not self.is_denied:
            return Probe(f"{random_label()}.{self.name}", "AAAA")
        return self._new_probe() if self.held and self._is_doubtful else None

    @property
    def _is_doubtful(self) -> bool:
        """Whether random names were denied too seldom for what is answered."""
        if not self._is_denying:
            return True
        share = _THRIFTY_SHARE if self.is_thrifty else _BUSY_SHARE
        spare = 1 if self.is_thrifty else 0
        busy = len(self.held) > max(_BUSY_NAMES, share * self.offered)
        return busy and self.asked < PROBES - spare

    @property
    def _is_denying(self) -> bool:
        """Whether names one label below are denied; guesses that are count like random names."""
        return self.is_denied or self.is_empty or self.denials >= PROBES

    def _new_probe(self) -> Probe:
        return Probe(f"{random_label()}.{self.name}")

    def _check_wildcard(self) -> Probe | None:
        if not self._can_test:
            # Nothing can be tested; a later look at the wildcard may show another of its answers.
            return self._new_probe()
        target = self._target()
        return Probe(f"{random_label()}.{target}", below=target) if target else None

    def _target(self) -> str:
        """The candidate to test: one of the largest group to be kept, then the doubtful ones."""
        tally = self._tally(hopeful=True)
        waiting = [h for h in self.held if h.name not in self.tested | self.proven]
        kept = [h for h in waiting if tally.is_other(h.evidence)]
        if kept:
            return self._heaviest(kept, tally).name
        doubtful = [h for h in waiting if not self._is_explained(h.evidence)]
        if not doubtful:
            return ""
        return min(
            doubtful, key=lambda h: (tally.is_like(h.evidence), tally.weight(h.evidence))
        ).name

    def _heaviest(self, kept: Sequence[Held], tally: Tally) -> Held:
        """Of the answer seen most, else of the fullest network; an exact pool gives itself away."""
        near = Counter(n for h in kept for n in h.evidence.neighbourhoods)
        done = {n for h in self.held if h.name in self.tested for n in h.evidence.neighbourhoods}

        def rank(held: Held) -> tuple[bool, int, int]:
            around = held.evidence.neighbourhoods
            fullest = max((near[n] for n in around), default=0)
            return not around & done, tally.weight(held.evidence), fullest

        return max(kept, key=rank)

    def learn(self, probe: Probe, status: DnsStatus, answers: Sequence[Record]) -> None:
        """Take in what became of a probe; its question is spent whatever the outcome."""
        self.asked += 1
        if probe.below:
            self.tested.add(probe.below)
        self.is_heard |= bool(answers) or status in (DnsStatus.NXDOMAIN, DnsStatus.NODATA)
        if answers:
            self._learn_answer(probe, evidence_of(answers))
        elif status == DnsStatus.NXDOMAIN:
            self._learn_denial(probe)
        elif status == DnsStatus.NODATA and not probe.below:
            self.is_empty = True

    def _learn_answer(self, probe: Probe, evidence: Evidence) -> None:
        if probe.type == "AAAA":
            self.has_ipv6 = True
            return
        self.random.append(evidence)
        self.is_deep |= probe.is_deep
        if probe.below:
            self.condemned += [h.evidence for h in self.held if h.name == probe.below]

    def _learn_denial(self, probe: Probe) -> None:
        if probe.below:
            self.proven.add(probe.below)
            self.passed += 1
        elif not probe.is_deep:
            self.is_denied = True

    def deny(self, name: str) -> None:
        """Take in that a candidate does not exist: free news about the level."""
        self.offered += 1
        child, inner = name[: -len(self.name) - 1], ""
        if "." not in child:
            self.denials += 1
        elif self.is_deep:
            inner = child.rpartition(".")[2]
            # Where the wildcard reaches down, only a name that exists can stand in its way.
            self.proven.add(f"{inner}.{self.name}")

    def offer(self, name: str, answers: Sequence[Record], load: Any) -> Verdict | None:
        """The verdict on a candidate, or ``None`` when it is held back until ``release``."""
        self.offered += 1
        evidence = evidence_of(answers)
        if self._is_explained(evidence):
            self.counted.update(count_parts(evidence, explained=True))
            return Verdict.WILDCARD
        self.held.append(Held(name, evidence, load))
        if len(self.held) > MOST_HELD and self.random:
            self._compact()
        return None

    def _is_explained(self, evidence: Evidence) -> bool:
        """Whether random names were answered just so."""
        if evidence.alias:
            return any(evidence.alias == seed.alias for seed in self.random)
        shown = frozenset[str]().union(*(seed.addresses for seed in self.random))
        return bool(evidence.addresses) and evidence.addresses <= shown

    def _tally(self, *, hopeful: bool = False) -> Tally:
        counts = self.counted.copy()
        for held in self.held:
            explained = self._is_explained(held.evidence)
            counts.update(count_parts(held.evidence, explained=explained))
        return Tally(self.random, self.condemned, counts, SURE if hopeful else self._strictness)

    @property
    def _strictness(self) -> Strictness:
        if not self.passed or self.condemned or self.denials:
            return UNCHECKED
        return SURE if self.passed > 1 else CHECKED

    def _compact(self) -> None:
        """Let go of the half that is likest to the wildcard so far; ``let_go`` counts it."""
        tally = self._tally()
        self.held.sort(key=lambda h: (not tally.is_other(h.evidence), tally.weight(h.evidence)))
        gone = self.held[MOST_HELD // 2 :]
        del self.held[MOST_HELD // 2 :]
        self.let_go += len(gone)
        for candidate in gone:
            self.counted.update(count_parts(candidate.evidence, explained=False))

    def release(self) -> Iterator[tuple[Any, Verdict]]:
        """Every held candidate's load with its verdict; nothing is held afterwards."""
        packed = self._packed_answers()
        tally = self._tally()
        held, self.held = self.held, []
        if self._can_test:
            shown = [tally.weight(h.evidence) for h in held if h.name in self.proven]
            self.alike = max([self.alike, *shown])
        for candidate in held:
            yield candidate.load, self._judge(candidate, tally, packed)

    def _packed_answers(self) -> set[Evidence]:
        """Answers that far too many guesses share, where random names were denied all the same."""
        denied = self.denials > _LEAST_DENIED * self.offered
        if self.random or self.offered < _PACKED_WORDS or not denied:
            return set()
        most = Counter(h.evidence for h in self.held)
        found = {e for e, n in most.items() if n > _PACKED_SHARE * self.offered}
        self.is_fickle |= bool(found)
        return found

    def _judge(self, candidate: Held, tally: Tally, packed: set[Evidence]) -> Verdict:
        if not self.random:
            sound = self._is_denying and not self.is_fickle and candidate.evidence not in packed
            return Verdict.GENUINE if sound else Verdict.SUSPECTED
        evidence = candidate.evidence
        explained = self._is_explained(evidence)
        self.counted.update(count_parts(evidence, explained=explained))
        if candidate.name in self.proven and self._can_test:
            return Verdict.GENUINE
        if explained:
            return Verdict.WILDCARD
        common = tally.weight(evidence) > self.alike or (self.condemned and not self.passed)
        if tally.is_other(evidence) and not common and candidate.name not in self.tested:
            return Verdict.GENUINE
        return Verdict.WILDCARD if tally.is_like(evidence) else Verdict.SUSPECTED


def random_label() -> str:
    """A label that nobody made; no two need begin alike or be equally long."""
    length = 5 + secrets.randbelow(4)
    return secrets.choice(_LETTERS) + secrets.token_hex(length)
