"""The iterative bulk resolver: resolve names from the root servers down.

It gives one final answer per question, as ``Engine`` does. Delegations are shared by all names for
as long as the resolver lives.
"""

import gc
import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice

from core.errors import BadInput
from core.records import Answer
from crawlers.engine.config import EngineConfig, Lines, Question, Result
from crawlers.engine.engine import Engine
from crawlers.engine.nameservers import DNS_PORT, Network, Server
from crawlers.iterative.delegation_cache import DelegationCache
from crawlers.iterative.root_hints import read_root_hints
from crawlers.iterative.run import IterationStats, IterativeRun, Loop

# The engine asks the same server again when a packet is lost; further tries go elsewhere.
_RETRIES = 1
# New objects, and rounds of younger objects, between two searches for reference cycles.
_COLLECT_AFTER = (50_000, 20, 100)


class IterativeResolver:
    """A bulk resolver that starts at root servers; use it as a context manager or ``close`` it.

    ``allowed`` are networks that may be queried although they are not public; servers
    that are found are queried at ``port``, by IPv6 only with ``ipv6``. Raises ``BadInput`` without
    a root server.
    """

    def __init__(
        self,
        roots: Sequence[Server],
        config: EngineConfig | None = None,
        *,
        port: int = DNS_PORT,
        allowed: Sequence[Network] = (),
        ipv6: bool = False,
    ) -> None:
        config = config or EngineConfig()
        self.config = replace(
            config,
            recursion=False,
            follow=False,
            additionals=True,
            retries=min(config.retries, _RETRIES),
            sockets=config.sockets * max(1, len(roots)),
        )
        self.engine = Engine(roots, self.config)
        self.delegations = DelegationCache(roots, port=port, allowed=allowed, ipv6=ipv6)
        self._stats = IterationStats()

    def __enter__(self) -> "IterativeResolver":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every socket; queries in flight are forgotten."""
        self.engine.close()

    @property
    def stats(self) -> IterationStats:
        """Counters since the resolver was opened."""
        of_engine = self.engine.stats
        for counter in ("queries", "retries", "tcp", "stray"):
            setattr(self._stats, counter, getattr(of_engine, counter))
        return self._stats

    def resolve(self, questions: Iterable[Question]) -> Iterator[tuple[Question, Answer]]:
        """Find every answer; yields (question, final answer) in the order in which they end."""
        for result in self.ask(questions):
            yield result.question, result.as_answer()

    def ask(self, questions: Iterable[Question]) -> Iterator[Result]:
        """The same with results in packed form.

        Memory is bounded by the window: ``questions`` is read only as answers come in.
        """
        with collecting_seldom():
            iteration = self.open_run(questions)
            while not iteration.is_over:
                yield from iteration.step()

    def open_run(self, questions: Iterable[Question], loop: Loop | None = None) -> "Iteration":
        """A run with a loop in the caller; with a compiled ``loop`` most results are lines.

        A line has the tag of its question, so the tags of all questions differ. Where the loop does
        not keep a limit of this resolver, it is not used.
        """
        loop = None if self.config.zone_rate else loop
        iteration = IterativeRun(self.engine, self.delegations, self._stats, loop)
        return Iteration(iteration, iter(questions), self.config.window)


class Iteration:
    """Questions that are resolved step by step; no more than ``window`` are open at a time."""

    def __init__(self, run: IterativeRun, questions: Iterator[Question], window: int) -> None:
        self._run = run
        self._questions = questions
        self._window = window
        self.is_over = False
        self._fill()

    def step(self) -> list[Result]:
        """Results that came; further ones are lines. An empty list does not mean the end."""
        results = self._run.step()
        self._fill()
        return results

    def pop_lines(self) -> Lines:
        """The results of the last step as JSON lines; good until the next step."""
        return self._run.pop_lines()

    def _fill(self) -> None:
        for question in islice(self._questions, max(0, self._window - self._run.in_flight)):
            self._run.ask(question)
        self.is_over = not self._run.in_flight


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Let Python look for reference cycles less often, since there are next to none.

    The cache only grows, so by default it would be searched through again and again, which takes
    a third of all time.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def open_iterative(
    roots: Sequence[Server] = (),
    config: EngineConfig | None = None,
    *,
    allowed: Sequence[str] = (),
    ipv6: bool = False,
) -> IterativeResolver:
    """A resolver on these root servers, or on the Internet's; raises ``BadInput``.

    Discovered servers are queried on the port of the first root server. ``allowed`` are networks
    such as "127.0.0.0/8" that may be queried although they are not public.
    """
    roots = tuple(roots) or read_root_hints(ipv6=ipv6)
    try:
        networks = [ipaddress.ip_network(text) for text in allowed]
    except ValueError as error:
        raise BadInput(f"{error}; write a network like 127.0.0.0/8") from error
    return IterativeResolver(roots, config, port=roots[0].port, allowed=networks, ipv6=ipv6)
