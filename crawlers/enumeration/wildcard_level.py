"""Wildcards of one level of a zone: what is answered for random names, and what that explains.

A level is the parent of its candidates: the apex, or a name below it. Queries below a candidate
show whether it exists (RFC 4592 section 2.2.1); where a server does not follow that rule, answers
are compared. Method and error: docs/methods/crawl.md.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.records import Record
from core.statuses import DnsStatus
from crawlers.dns.name_codec import random_label
from crawlers.enumeration.candidates import Held, Probe, Tests, Verdict
from crawlers.enumeration.wildcard_comparison import MOST_TESTS, Comparison
from crawlers.enumeration.wildcard_statistics import (
    SURE,
    UNCHECKED,
    AnswerStatistics,
    Evidence,
    count_needed,
    count_parts,
    evidence_of,
    is_seldom,
)

# Random names that are queried at each level to see whether it has a wildcard.
PROBES = 3
# Random names at a level with a wildcard at most, where its candidates cannot be judged by fewer.
SAMPLES = 24
# Candidates that a level with a wildcard holds back, and so tests, at most.
MOST_HELD = 20_000
# A level that denies random names but answers so many of the others is looked at again.
_BUSY_SHARE = 0.05
_THRIFTY_SHARE = 0.25
_BUSY_NAMES = 3
# No real zone holds a quarter of a long list of guesses with one and the same answer.
_PACKED_SHARE = 0.25
_PACKED_WORDS = 100
# Where it denies fewer names than this, it would not have denied every random one.
_LEAST_DENIED = 0.1
# Random names asked in one round; after so many an answer must have been given twice.
_ROUND = 6
# Denials below a name that show that it exists, at least; and at most, or where the wildcard denies
# itself.
_DENIALS = 2
DENIALS_OF_DENYING = 5
# Names shown to exist before answers below others show that these do not.
_LEAST_PROVEN = 2
_DENIED = (DnsStatus.NXDOMAIN, DnsStatus.NODATA)


@dataclass(slots=True)
class Level:
    """Judge candidates below one name of a zone.

    Ask ``open_probe``'s questions, offer candidates and their denials, ask ``check_probes``'s until
    both give none; ``release`` gives the verdicts.
    """

    name: str
    asked: int = 0
    tested: int = 0
    is_denied: bool = False
    is_empty: bool = False
    is_deep: bool = False
    has_ipv6: bool = False
    is_fickle: bool = False
    has_replied: bool = False
    # Whether a random name was denied, which shows that a name exists where a wildcard above is.
    is_below_denied: bool = False
    # Candidates below which something was answered, something denied, and both.
    n_answered: int = 0
    n_denied: int = 0
    n_flapping: int = 0
    # Whether names that hold an asterisk are answered, once that is known.
    takes_asterisks: bool | None = None
    # Reserve one question for a name with a denied AAAA (``WildcardFilter.doubt``).
    is_thrifty: bool = False
    random: list[Evidence] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    tests: dict[str, Tests] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    # Whether the wildcard was seen not to answer below names that exist.
    is_blocked: bool = False
    # What was answered below candidates that were not asked themselves.
    screened: list[Evidence] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    offered: int = 0
    denials: int = 0
    let_go: int = 0
    _shown: set[str] = field(default_factory=set)

    @property
    def answers(self) -> bool:
        """Whether random names are answered at this level."""
        return bool(self.random) or self.has_ipv6 or self.is_fickle

    @property
    def questions(self) -> int:
        """Questions that this level cost beyond one for each candidate."""
        return self.asked + self.tested - len(self.screened)

    @property
    def can_test(self) -> bool:
        """Whether a denial below a name shows that it exists (RFC 4592 section 2.2.1).

        It does where the wildcard reaches down and hardly ever denies itself.
        """
        is_often = self.denials and not is_seldom(self.denials, self.offered)
        is_denying = self.is_denied or self.is_empty or is_often
        return self.is_deep and not is_denying

    def open_probe(self) -> list[Probe]:
        """A random name two labels below the level; where nothing came back, one a label below."""
        if not self.asked:
            return [self._deep_probe()]
        return [self._new_probe()] if self.asked < PROBES and not self.has_replied else []

    def check_probes(self) -> list[Probe]:
        """What is still worth asking once all candidates are known; names differ."""
        if self.random:
            return self.check_wildcard() if self.held else []
        if self.asked >= PROBES:
            return []
        if self.is_empty and not self.has_ipv6 and not self.is_denied:
            return [Probe(f"{random_label()}.{self.name}", "AAAA")]
        return [self._new_probe()] if self.held and self._is_doubtful else []

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

    def _deep_probe(self) -> Probe:
        return Probe(f"{random_label()}.{random_label()}.{self.name}", is_deep=True)

    def check_wildcard(self) -> list[Probe]:
        """Tests of all candidates; then, for those that they do not settle, comparisons."""
        if self.can_test and self.takes_asterisks is None:
            name = f"{random_label()}.*.{random_label()}.{self.name}"
            return [Probe(name, is_deep=True, is_control=True)]
        tests = [t for h in self.held if (t := self.test(h.name))] if self.can_test else []
        if tests:
            return tests
        self.learn_blocking(self.denials_needed)
        compared = Comparison(self)
        return self._more_samples(compared) or compared.recheck_probes()

    def test(self, name: str) -> Probe | None:
        """A random name below a candidate, unless enough is known about it."""
        known = self.tests.get(name)
        if known is None or name in self.proven:
            wanted = known is None or not known.asked
        else:
            most = min(MOST_TESTS, _DENIALS + known.denied)
            is_shown = bool(known.answers) or known.denied >= self.denials_needed
            wanted = not is_shown and known.asked < most
        return self.probe_below(name) if wanted else None

    def probe_below(self, name: str) -> Probe:
        """A random name below a candidate, that no wildcard below the candidate answers either.

        A wildcard blocks itself: nothing answers for ``x.*.NAME`` where ``*.NAME`` exists, nor
        where ``NAME`` does (RFC 4592 section 2.2.1).
        """
        asterisk = "*." if self.takes_asterisks else ""
        return Probe(f"{random_label()}.{asterisk}{name}", below=name)

    @property
    def denials_needed(self) -> int:
        """How many denials below a candidate no chance denials of the wildcard explain."""
        if self.denials:
            return DENIALS_OF_DENYING
        needed = count_needed(self.n_denied, self.n_flapping, self.n_answered)
        return min(max(needed, _DENIALS), DENIALS_OF_DENYING)

    def learn_blocking(self, denials: int) -> bool:
        """Note whether names exist below which the wildcard never answers; whether it is so."""
        n_proven = sum(x.denied >= denials and not x.answers for x in self.tests.values())
        self.is_blocked |= self.can_test and n_proven >= _LEAST_PROVEN
        return self.is_blocked

    def _more_samples(self, compared: Comparison) -> list[Probe]:
        """Random names, where too few were seen to compare with and they give something twice."""
        seen, tally = len(self.random), self.tally(self.random)
        if self.asked >= SAMPLES or (seen > _ROUND and not tally.repeats_itself):
            return []
        others = [h for h in compared.open if not tally.explains(h.evidence)]
        if compared.is_decidable and all(tally.is_other(h.evidence) for h in others):
            return []
        make = self._deep_probe if self.can_test else self._new_probe
        return [make() for _ in range(min(_ROUND, SAMPLES - self.asked))]

    def learn(self, probe: Probe, status: DnsStatus, answers: Sequence[Record]) -> None:
        """Record what became of a probe; its question is spent whatever the outcome."""
        evidence = evidence_of(answers) if answers else None
        has_reply = bool(evidence) or status in _DENIED
        if not probe.below:
            self._learn_random(probe, status, evidence)
            return
        self.tested += 1
        known = self.tests.setdefault(probe.below, Tests())
        if probe.is_repeat:
            known.repeated += 1
            known.repeats += [evidence] if has_reply else []
            return
        known.asked += 1
        if has_reply:
            self.learn_below(probe.below, evidence)

    def learn_below(self, name: str, evidence: Evidence | None) -> None:
        """Record the answer for a random name below a candidate; nothing is a denial."""
        known = self.tests.setdefault(name, Tests())
        was_denied, was_answered = bool(known.denied), bool(known.answers)
        if evidence:
            known.answers.append(evidence)
        else:
            known.denied += 1
        self.n_denied += bool(known.denied) - was_denied
        self.n_answered += bool(known.answers) - was_answered
        self.n_flapping += bool(known.denied and known.answers) - (was_denied and was_answered)

    def _learn_random(self, probe: Probe, status: DnsStatus, evidence: Evidence | None) -> None:
        self.asked += 1
        if probe.is_control:
            self.takes_asterisks = bool(evidence)
        if evidence:
            self._learn_answer(probe, evidence)
        elif status in _DENIED and not probe.is_control:
            self._learn_denial(probe, status)

    def _learn_answer(self, probe: Probe, evidence: Evidence) -> None:
        self.has_replied = True
        if probe.type == "AAAA":
            self.has_ipv6 = True
        else:
            self._show(evidence)
            self.is_deep |= probe.is_deep

    def _learn_denial(self, probe: Probe, status: DnsStatus) -> None:
        self.has_replied = True
        self.is_below_denied |= probe.type == "A"
        if status == DnsStatus.NODATA:
            self.is_empty = True
        elif self.is_deep:
            self.denials += 1
        elif not probe.is_deep:
            self.is_denied = True

    def _show(self, evidence: Evidence) -> None:
        self.random.append(evidence)
        self._shown |= evidence.whole

    def deny(self, name: str) -> None:
        """Record that a candidate does not exist: evidence about the level without a query."""
        child = name[: -len(self.name) - 1]
        if "." not in child:
            self.offered += 1
            self.denials += 1
        elif self.is_deep:
            # Where the wildcard covers lower levels, only an existing name blocks it (RFC 4592).
            self.learn_below(f"{child.rpartition('.')[2]}.{self.name}", None)

    def offer(self, name: str, answers: Sequence[Record], load: Any) -> Verdict | None:
        """The verdict on a candidate, or ``None`` when it is held back until ``release``."""
        self.offered += 1
        evidence = evidence_of(answers)
        if len(self.held) >= MOST_HELD // 2 and self.is_explained(evidence):
            self.counted.update(count_parts(evidence, explained=True))
            return Verdict.WILDCARD
        self.held.append(Held(name, evidence, load))
        if len(self.held) > MOST_HELD and self.random:
            self._compact()
        return None

    def is_explained(self, evidence: Evidence) -> bool:
        """Whether random names were answered just so."""
        return bool(evidence.whole) and evidence.whole <= self._shown

    def tally(self, samples: Sequence[Evidence]) -> AnswerStatistics:
        counts = self.counted.copy()
        for held in self.held:
            explained = self.is_explained(held.evidence)
            counts.update(count_parts(held.evidence, explained=explained))
        is_sure = self.can_test and len(samples) >= SAMPLES
        return AnswerStatistics(samples, counts, SURE if is_sure else UNCHECKED)

    @property
    def has_rule(self) -> bool:
        """Whether nothing is answered below names that exist, not by nested wildcards either."""
        return self.is_blocked and bool(self.takes_asterisks) and not self.n_flapping

    def _compact(self) -> None:
        """Let go of the half that is likest to the wildcard so far; ``let_go`` counts it."""
        tally = self.tally(self.random)
        self.held.sort(
            key=lambda h: (
                tally.explains(h.evidence),
                not tally.is_other(h.evidence),
                tally.weight(h.evidence),
            )
        )
        gone = self.held[MOST_HELD // 2 :]
        del self.held[MOST_HELD // 2 :]
        self.let_go += len(gone)
        for candidate in gone:
            self.counted.update(count_parts(candidate.evidence, explained=False))

    def release(self) -> Iterator[tuple[Any, Verdict]]:
        """Every held candidate's load with its verdict; nothing is held afterwards."""
        packed = self._packed_answers()
        compared = Comparison(self)
        tally, own = compared.tally, compared.find_own()
        held, self.held = self.held, []
        for candidate in held:
            evidence = candidate.evidence
            if not self.random:
                sound = self._is_denying and not self.is_fickle and evidence not in packed
                yield candidate.load, Verdict.GENUINE if sound else Verdict.SUSPECTED
                continue
            explained = self.is_explained(evidence)
            self.counted.update(count_parts(evidence, explained=explained))
            yield (
                candidate.load,
                Verdict.GENUINE if candidate.name in own else _classify(evidence, tally),
            )
        for evidence in tally.samples[len(self.random) :]:
            self._show(evidence)
        self.tests.clear()

    def _packed_answers(self) -> set[Evidence]:
        """Answers that far too many guesses share, where random names were denied all the same."""
        denied = self.denials > _LEAST_DENIED * self.offered
        if self.random or self.offered < _PACKED_WORDS or not denied:
            return set()
        most = Counter(h.evidence for h in self.held)
        found = {e for e, n in most.items() if n > _PACKED_SHARE * self.offered}
        self.is_fickle |= bool(found)
        return found


def _classify(evidence: Evidence, tally: AnswerStatistics) -> Verdict:
    """The verdict about a name that nothing shows to exist."""
    is_wildcard = tally.explains(evidence) or tally.is_like(evidence)
    return Verdict.WILDCARD if is_wildcard else Verdict.SUSPECTED
