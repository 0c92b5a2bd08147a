"""Screen candidates by what is answered below them, so that most need no further query.

A wildcard does not answer below names that exist (RFC 4592 section 2.2.1). Once a level was seen to
follow that rule, a candidate below which the wildcard answers does not exist.
"""

from collections.abc import Sequence

from crawlers.enumeration.candidates import Probe
from crawlers.enumeration.wildcard_level import DENIALS_OF_DENYING, Level
from crawlers.enumeration.wildcard_statistics import (
    UNCHECKED,
    AnswerStatistics,
    Evidence,
    count_parts,
    is_seldom,
)


def can_screen(level: Level) -> bool:
    """Whether a denial below a name shows, and no wildcard further down hides, that it exists."""
    return bool(level.random) and level.can_test and level.takes_asterisks is not False


def screen_probes(level: Level, names: Sequence[str]) -> list[Probe]:
    """Questions below candidates that were not asked yet; none when all are tested."""
    if level.takes_asterisks is None:
        return level.check_wildcard()
    return [t for name in names if (t := level.test(name))] if can_screen(level) else []


def screen(level: Level, names: Sequence[str]) -> set[str]:
    """Candidates that do not exist; the level counts them as offered."""
    known = {name: level.tests[name] for name in names if name in level.tests}
    flaps = sum(bool(x.denied and x.answers) for x in known.values())
    if not can_screen(level) or (flaps and not is_seldom(flaps, len(names))):
        return set()
    needed = DENIALS_OF_DENYING if flaps else level.denials_needed
    if not level.learn_blocking(needed):
        return set()
    tally = _tally(level, [e for x in known.values() for e in x.answers])
    gone = {n for n, x in known.items() if x.answers and not any(map(tally.is_other, x.answers))}
    level.offered += len(gone)
    level.denials += flaps
    for name in gone:
        # One sample for each question that is saved.
        evidence = level.tests.pop(name).answers[0]
        level.screened.append(evidence)
        level.counted.update(count_parts(evidence, explained=level.is_explained(evidence)))
    return gone


def _tally(level: Level, answers: Sequence[Evidence]) -> AnswerStatistics:
    counts = level.counted.copy()
    for evidence in answers:
        counts.update(count_parts(evidence, explained=level.is_explained(evidence)))
    return AnswerStatistics([*level.random, *level.screened], counts, UNCHECKED)
