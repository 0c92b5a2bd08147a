"""The two cores of the bulk resolver, so that one test can run on both.

The compiled core gives JSON lines, which are read here again: what a test sees is what a command
writes.
"""

import json
from datetime import datetime

from core.records import Record
from core.statuses import DnsStatus
from crawlers.compiled.loading import load_step
from crawlers.compiled.run import CompiledRun, is_supported
from crawlers.engine.config import Block, Result
from crawlers.engine.engine import Engine

ask_reference = Engine.ask


def ask_compiled(engine, questions):
    """As ``Engine.ask``, with the compiled loop for all questions that it may read from a list."""
    questions = list(questions)
    fit = [q for q in questions if is_fit(q, questions[0].type)]
    if not fit or not is_supported(engine.config):
        yield from ask_reference(engine, questions)
        return
    asked = fit + [q for q in questions if not is_fit(q, questions[0].type)]
    run = open_compiled(engine, [q.name for q in fit], questions[0].type)
    run.ask_singly(q._replace(tag=n) for n, q in enumerate(asked) if n >= len(fit))
    by_name = {q.name: q for q in fit}
    while not run.is_over:
        for result in run.step():
            yield result._replace(question=asked[result.question.tag])
        lines = run.pop_lines()
        rows = [json.loads(line) for line in bytes(lines.text).splitlines()]
        assert len(rows) == lines.n_lines
        for row in rows:
            yield result_of(row, by_name[row["name"]])


def open_compiled(engine, names, *types):
    """A compiled run over one block of names."""
    return CompiledRun(
        engine, load_compiled_step(), types, iter([Block(0, "\n".join(names).encode())])
    )


def load_compiled_step():
    """The compiled loop; nothing tests it by falling back to the reference engine."""
    step = load_step(lambda: None)
    assert step is not None
    return step


def is_fit(question, rrtype):
    """Whether a question is no more than a name in a list and the type that all have."""
    is_line = question.name.isascii() and question.name and "\n" not in question.name
    has_more = question.server or question.subnet or question.zone
    return bool(is_line and question.type == rrtype and not has_more)


def result_of(row, question):
    """A line as the result that it was written from."""
    assert row["type"] == question.type
    return Result(
        question,
        DnsStatus(row["status"]),
        tuple(Record(**r) for r in row["answers"]),
        tuple(Record(**r) for r in row["authorities"]),
        row["resolver"],
        row["protocol"],
        row["attempts"],
        row["rtt_ms"],
        datetime.fromisoformat(row["at"]).timestamp(),
    )


CORES = {"reference": ask_reference, "compiled": ask_compiled}
