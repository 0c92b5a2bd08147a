"""A run with denials counted by the compiled loop: for guesses, of which few exist."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.statuses import DnsStatus
from crawlers.compiled import layout as m
from crawlers.compiled.run import CompiledRun
from crawlers.compiled.slots import Step
from crawlers.engine.config import Block, Question

if TYPE_CHECKING:
    from crawlers.engine.engine import Engine

STATUSES = (DnsStatus.NOERROR, DnsStatus.NODATA, DnsStatus.NXDOMAIN)


@dataclass(frozen=True, slots=True)
class Tally:
    """What is counted by tag.

    ``counts`` is a writable buffer of 64-bit integers with a row of ``COUNT_WORDS`` for each of the
    first ``n_counted`` tags: a denial adds one at its tag and status. ``zone_of`` gives the zone of
    a tag's name.
    """

    counts: Any
    n_counted: int
    zone_of: Callable[[int], str]


class CountingRun(CompiledRun):
    """A run over blocks of names with tags; whatever is no denial becomes a Result.

    Denials of tags that have no row in the tally are listed by ``pop_denials``.
    """

    def __init__(
        self, engine: "Engine", step: Step, rrtype: str, blocks: Iterator[Block], tally: Tally
    ) -> None:
        self._zone_of = tally.zone_of
        super().__init__(engine, step, (rrtype,), blocks)
        self._memory.set_buffer(m.COUNTS, tally.counts)
        self._words[m.N_COUNTED] = tally.n_counted

    def _create_question(self, name: str, rrtype: str, tag: int) -> Question:
        return Question(name, rrtype, tag, zone=self._zone_of(tag))

    def pop_denials(self) -> list[tuple[int, DnsStatus]]:
        """Tag and status of the denials of the last step that have no row in ``counts``."""
        words, n = memoryview(self.pop_lines().rows).cast("q").tolist(), m.RESULT_WORDS
        pairs = zip(words[m.R_TAG :: n], words[m.R_STATUS :: n], strict=True)
        return [(tag, STATUSES[status]) for tag, status in pairs]
