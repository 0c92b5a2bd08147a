"""Iterative resolution by the reference engine alone and with the compiled loop, for one test.

The loop gives JSON lines, which are read here again: what a test sees is what a command writes.
"""

from crawlers.compiled import layout as m
from crawlers.dns.message import TYPE_CODES
from crawlers.iterative.resolver import IterativeResolver
from crawlers.iterative.run import Loop, read_line
from tests.crawlers.engine.cores import load_compiled_step

ask_reference = IterativeResolver.ask


def ask_compiled(resolver, questions):
    """As ``IterativeResolver.ask``, with the compiled loop."""
    asked = list(questions)
    tagged = [question._replace(tag=tag) for tag, question in enumerate(asked)]
    types = tuple(dict.fromkeys(q.type for q in asked if q.type in TYPE_CODES))
    run = resolver.open_run(tagged, Loop(load_compiled_step(), types))
    while not run.is_over:
        for result in run.step():
            yield result._replace(question=asked[result.question.tag])
        yield from (result for _, result in read_lines(run.pop_lines(), asked))


def read_lines(lines, asked):
    """Each line of a step as text and as the result that it was written from."""
    texts = bytes(lines.text).splitlines()
    assert len(texts) == lines.n_lines
    rows = memoryview(lines.rows).cast("q")
    for text, tag in zip(texts, rows[m.R_TAG :: m.RESULT_WORDS], strict=True):
        yield text, read_line(text, asked[tag], 0.0)


CORES = {"reference": ask_reference, "compiled": ask_compiled}
