"""Questions of an enumeration in the compiled loop: most guesses are denied, and only counted."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np

from core.records import Answer
from crawlers.compiled.counting import CountingRun, Tally
from crawlers.compiled.layout import COUNT_WORDS
from crawlers.compiled.loading import announce_compilation, load_step
from crawlers.compiled.run import is_supported
from crawlers.compiled.slots import Step
from crawlers.engine.config import EngineConfig, Question
from crawlers.engine.engine import Engine
from crawlers.enumeration.columns import NameBlocks
from crawlers.enumeration.interleave import Integers

# For fewer questions the loop is not worth its start, for fewer than the second its compilation.
_FEW, _MANY = 2_000, 200_000
_FLUSH_S = 0.5
_NO_DATA, _NAME_ERROR = 1, 2
# Number of a domain, and how many of its guesses exist without the type, or do not exist.
Denials = tuple[int, int, int]


def find_step(config: EngineConfig, n_questions: int) -> Step | None:
    """The compiled loop, where it supports the queries and is worth its start."""
    if n_questions < _FEW or not is_supported(config):
        return None
    return _load(n_questions >= _MANY)


@cache
def _load(may_compile: bool) -> Step | None:
    return load_step(announce_compilation if may_compile else None)


def ask_blocks(
    engine: Engine,
    step: Step,
    blocks: NameBlocks,
    rrtype: str,
    on_denials: Callable[[Sequence[Denials]], None],
) -> Iterator[tuple[int, Answer]]:
    """Ask all names; yields number of the domain and answer, but for the denials that are counted.

    Those are given to ``on_denials`` from time to time.
    """
    counts = np.zeros((max(1, blocks.n_counted), COUNT_WORDS), np.int64)
    tally = Tally(counts, blocks.n_counted, blocks.zone_of)
    run = CountingRun(engine, step, rrtype, iter(blocks), tally)
    odd = [(blocks.add_single(number, name), name) for number, name in blocks.odd]
    run.ask_singly(Question(name, rrtype, tag, zone=blocks.zone_of(tag)) for tag, name in odd)
    due_at = time.monotonic() + _FLUSH_S
    while not run.is_over:
        for result in run.step():
            yield blocks.number_of(result.question.tag), result.as_answer()
        for tag, status in run.pop_denials():
            number, name = blocks.pop(tag)
            yield number, Answer(name, rrtype, status)
        if time.monotonic() > due_at:
            on_denials(_read_counts(counts))
            due_at = time.monotonic() + _FLUSH_S
    on_denials(_read_counts(counts))


def _read_counts(counts: Integers) -> list[Denials]:
    """Return the counts by domain and reset them."""
    numbers = np.flatnonzero(counts.any(axis=1))
    rows = counts[numbers].tolist()
    counts[numbers] = 0
    pairs = zip(numbers.tolist(), rows, strict=True)
    return [(number, row[_NO_DATA], row[_NAME_ERROR]) for number, row in pairs]
