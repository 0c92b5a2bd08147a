"""The bulk resolver behind its command: resolve a list of names to a file or a stream.

A run that writes a file keeps a checkpoint beside it, and one that was stopped or killed continues
from there.
"""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from core.errors import BadInput, Unavailable
from crawlers.compiled.layout import R_TAG, RESULT_WORDS
from crawlers.compiled.loading import load_step
from crawlers.compiled.run import CompiledRun, is_supported
from crawlers.compiled.slots import Step
from crawlers.engine.config import NO_LINES, EngineStats, Lines, Result
from crawlers.engine.engine import Engine, Question
from crawlers.engine.query_encoder import option_of_subnet
from crawlers.files.name_list import NameList
from crawlers.files.writers import LineSink, Sink
from tasks.platform.checkpoint import (
    Checkpoint,
    identify_list,
    load_checkpoint,
    refuse_unfinished,
    save_checkpoint,
    state_path,
)
from tasks.resolution.engine_factory import Resolving, open_engine, open_iteration
from tasks.resolution.list_file import count_lines, open_names

if TYPE_CHECKING:
    from crawlers.iterative.resolver import IterativeResolver
    from crawlers.iterative.run import Loop

TYPES = ("A", "AAAA", "CAA", "CNAME", "HTTPS", "MX", "NS", "PTR", "SOA", "SRV", "SVCB", "TXT")
# Loading the compiled loop takes as long as some thousand questions, compiling it as long as a
# million.
_SMALL, _LARGE = 5_000, 200_000


@dataclass(frozen=True, slots=True)
class ListJob:
    """What one run of the command asks, and where its answers go (nowhere named: the stream)."""

    names_file: str
    types: tuple[str, ...] = ("A",)
    subnet: str = ""
    output: Path | None = None
    resume: bool = False
    iterative: bool = False
    compiled: bool = True

    @property
    def asked(self) -> list[str]:
        """What a checkpoint has to agree with, besides the list."""
        return [*self.types, self.subnet, "parquet" if self.is_parquet else "jsonl"]

    @property
    def is_parquet(self) -> bool:
        return self.output is not None and self.output.suffix == ".parquet"


class Resolver(Protocol):
    """What answers questions, step by step."""

    stats: EngineStats

    def step(self) -> list[Result]:
        """Results that came; an empty list does not mean the end."""

    def pop_lines(self) -> Lines:
        """Further results that came, as JSON lines."""

    @property
    def next_tag(self) -> int:
        """Number of the first question that was not read."""

    @property
    def is_over(self) -> bool: ...

    def open_tags(self) -> list[int]:
        """Tags of the questions that were read and have no result yet."""


class _ByResults:
    """Resolvers that give results only, and read questions from a list."""

    def __init__(self, names: NameList) -> None:
        self._names = names

    @property
    def next_tag(self) -> int:
        return self._names.next_tag

    def pop_lines(self) -> Lines:
        return NO_LINES


class _Recursive(_ByResults):
    """Asks recursive resolvers, or the servers that were named."""

    def __init__(self, engine: Engine, names: NameList, questions: Iterator[Question]) -> None:
        super().__init__(names)
        self.stats = engine.stats
        self._run = engine.open_run()
        self._run.ask(questions)
        self.step = self._run.step

    @property
    def is_over(self) -> bool:
        return self._run.is_over

    def open_tags(self) -> list[int]:
        return [question.tag for question in self._run.open_questions()]


class _Compiled:
    """The same with a compiled loop for what is usual."""

    def __init__(
        self,
        engine: Engine,
        names: NameList,
        job: ListJob,
        earlier: Checkpoint | None,
        step: Step,
    ) -> None:
        self.stats = engine.stats
        left, blocks = (
            names.blocks_after(earlier.next_tag, frozenset(earlier.open_tags))
            if earlier
            else ([], names.blocks())
        )
        self._run = CompiledRun(engine, step, job.types, blocks, has_records=job.is_parquet)
        self._run.ask_singly(left)
        self.step = self._run.step

    def pop_lines(self) -> Lines:
        return self._run.pop_lines()

    @property
    def next_tag(self) -> int:
        return self._run.next_tag

    @property
    def is_over(self) -> bool:
        return self._run.is_over

    def open_tags(self) -> list[int]:
        return [question.tag for question in self._run.open_questions()]


class _Iterative(_ByResults):
    """Goes down from root servers."""

    def __init__(
        self,
        resolver: "IterativeResolver",
        names: NameList,
        questions: Iterator[Question],
        loop: "Loop | None",
    ) -> None:
        super().__init__(names)
        self.stats: EngineStats = resolver.stats
        self._open: set[int] = set()
        self._run = resolver.open_run(self._note(questions), loop)

    @property
    def is_over(self) -> bool:
        return self._run.is_over

    def _note(self, questions: Iterator[Question]) -> Iterator[Question]:
        for question in questions:
            self._open.add(question.tag)
            yield question

    def step(self) -> list[Result]:
        results = self._run.step()
        self._open.difference_update(result.question.tag for result in results)
        return results

    def pop_lines(self) -> Lines:
        lines = self._run.pop_lines()
        self._open.difference_update(memoryview(lines.rows).cast("q")[R_TAG::RESULT_WORDS])
        return lines

    def open_tags(self) -> list[int]:
        return list(self._open)


@dataclass(slots=True)
class Progress:
    """How far a run is; ``total`` is unknown (none) for a stream."""

    names: NameList
    asker: Resolver
    total: int | None
    earlier: Checkpoint | None = None
    done: int = 0

    def by_status(self) -> Counter[str]:
        """Results by status, those of the runs before this one included."""
        before = self.earlier.by_status if self.earlier else {}
        return Counter(before) + Counter({str(s): n for s, n in self.asker.stats.by_status.items()})


def check_types(types: Sequence[str]) -> tuple[str, ...]:
    """Record types in upper case and in order; raises ``BadInput`` for one that is not offered."""
    chosen = sorted({t.upper() for t in types} or {"A"})
    for name in chosen:
        if name not in TYPES:
            raise BadInput(f"{name} is not offered; use one of {' '.join(TYPES)}", field="type")
    return tuple(chosen)


def check_subnet(text: str) -> str:
    """An EDNS client subnet as it was given; raises ``BadInput``."""
    if text:
        option_of_subnet(text)
    return text


def resolve_list(job: ListJob, options: Resolving, go_on: Callable[[Progress], bool]) -> Progress:
    """Ask every name of a list until all is answered or ``go_on`` returns false.

    Raises ``BadInput``, and ``Unavailable`` where the output cannot be written; what was written
    up to the last checkpoint stays good.
    """
    with ExitStack() as stack:
        source = stack.enter_context(open_names(job.names_file))
        names = NameList(source, job.types, job.subnet, _build_zone_lookup(options))
        earlier = _find_checkpoint(job)
        sink = _open_sink(job, earlier)
        total = count_lines(job.names_file) * len(job.types) if job.names_file != "-" else None
        asker = stack.enter_context(_open_resolver(job, options, names, earlier, total))
        progress = Progress(names, asker, total, earlier, earlier.done if earlier else 0)
        try:
            _drive(job, progress, sink, go_on)
        except BrokenPipeError:
            # The reader of the output has closed it, as in `… | head`.
            raise
        except OSError as error:
            raise Unavailable(_explain(job, error)) from error
    return progress


def _drive(job: ListJob, progress: Progress, sink: Sink, go_on: Callable[[Progress], bool]) -> None:
    asker, keep = progress.asker, _CheckpointWriter(job, progress, sink)
    while not asker.is_over:
        results = asker.step()
        sink.write(results)
        lines = asker.pop_lines()
        if lines.text:
            sink.write_lines(lines)
        progress.done += len(results) + lines.n_lines
        if not go_on(progress):
            keep.save(monotonic())
            return
        keep.save_if_due()
    sink.finish()
    if job.output:
        state_path(job.output).unlink(missing_ok=True)


class _CheckpointWriter:
    """Writes checkpoints of a run to its output file's folder."""

    def __init__(self, job: ListJob, progress: Progress, sink: Sink) -> None:
        self._job, self._progress, self._sink = job, progress, sink
        can_go_on = job.output is not None and job.names_file != "-"
        self._names = identify_list(Path(job.names_file)) if can_go_on else ""

    def save_if_due(self) -> None:
        now = monotonic()
        if self._names and self._sink.is_due(now):
            self.save(now)

    def save(self, now: float) -> None:
        """Make all results safe, and note what is open."""
        if not self._names or self._job.output is None:
            self._sink.finish()
            return
        progress = self._progress
        checkpoint = Checkpoint(
            names=self._names,
            asked=self._job.asked,
            next_tag=progress.asker.next_tag,
            open_tags=progress.asker.open_tags(),
            mark=self._sink.mark(now),
            by_status=dict(progress.by_status()),
        )
        save_checkpoint(checkpoint, self._job.output)


def _find_checkpoint(job: ListJob) -> Checkpoint | None:
    if job.output is None or job.names_file == "-":
        if job.resume:
            raise BadInput("needs a file of names and --output", field="resume")
        return None
    if not job.resume:
        refuse_unfinished(job.output)
        return None
    return load_checkpoint(job.output, identify_list(Path(job.names_file)), job.asked)


def _open_sink(job: ListJob, earlier: Checkpoint | None) -> Sink:
    mark = earlier.mark if earlier else None
    if job.output is None:
        return LineSink(sys.stdout.buffer)
    if job.is_parquet:
        # Arrow takes as long to load as some thousand names take to resolve; threads that numpy
        # starts for its linear algebra, which nothing uses here, would take half as long again.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from crawlers.files.parquet import ParquetSink  # noqa: PLC0415

        return ParquetSink(job.output, len(job.types), mark)
    return LineSink.open(job.output, mark)


def _build_zone_lookup(options: Resolving) -> Callable[[str], str] | None:
    if options.zone_rate is None:
        return None
    # The list of public suffixes takes a while to load, and few runs need it.
    from crawlers.dns.public_suffix import registered_domain  # noqa: PLC0415

    return registered_domain


@contextmanager
def _open_resolver(
    job: ListJob,
    options: Resolving,
    names: NameList,
    earlier: Checkpoint | None,
    total: int | None,
) -> Iterator[Resolver]:
    if job.iterative:
        # The resolver from the root servers down is rarely needed.
        from crawlers.iterative.resolver import collecting_seldom  # noqa: PLC0415
        from crawlers.iterative.run import Loop  # noqa: PLC0415

        step = _find_compiled(job, total)
        loop = Loop(step, job.types) if step else None
        with open_iteration(options) as resolver, collecting_seldom():
            yield _Iterative(resolver, names, _questions(names, earlier), loop)
        return
    with open_engine(options) as engine:
        step = _find_compiled(job, total) if is_supported(engine.config) else None
        if step:
            yield _Compiled(engine, names, job, earlier, step)
        else:
            yield _Recursive(engine, names, _questions(names, earlier))


def _questions(names: NameList, earlier: Checkpoint | None) -> Iterator[Question]:
    if earlier is None:
        return names.questions()
    return names.questions_after(earlier.next_tag, frozenset(earlier.open_tags))


def _find_compiled(job: ListJob, total: int | None) -> Step | None:
    """Return the compiled loop where it supports the question and its start is worth it."""
    if not job.compiled or job.subnet or (total or _LARGE) < _SMALL:
        return None
    is_worth_compiling = (total or 0) >= _LARGE
    return load_step(_announce_compilation if is_worth_compiling else None)


def _announce_compilation() -> None:
    sys.stderr.write(
        "compiling the fast loop for this processor, once (--no-compiled: without it) …\n"
    )
    sys.stderr.flush()


def _explain(job: ListJob, error: OSError) -> str:
    where = job.output or "standard output"
    more = "; make room, then run it again with --resume" if job.output else ""
    return f"cannot write {where}: {error.strerror or error}{more}"
