"""Run one sampling process per virtual CPU, collect their tallies and end all of them."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from screening.agent_parts.native import compile_native, exec_native
from screening.agent_parts.sampling import (
    Order,
    Tally,
    end_with_parent,
    parse_tally,
    run_sampler,
)

# What a sampler may take over its time before it is ended.
GRACE_S = 15.0
NO_COMPILER = "no C compiler, or no room for it: measured in Python"


class SamplerPool:
    """Children of this process; whatever happens, :meth:`stop` ends and reaps them."""

    def __init__(self) -> None:
        self.pids: dict[int, int] = {}  # pipe to process

    def start(self, body: Callable[[int], None]) -> int:
        """Fork a child that writes to a pipe; the parent gets the reading end."""
        reading, writing = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.close(reading)
            end_with_parent(parent)
            body(writing)
            os._exit(1)
        os.close(writing)
        self.pids[reading] = pid
        return reading

    def collect(self, limit_s: float) -> dict[int, str]:
        """What every child wrote until its end or the limit."""
        texts: dict[int, list[bytes]] = {pipe: [] for pipe in self.pids}
        deadline = time.monotonic() + limit_s
        with selectors.DefaultSelector() as selector:
            for pipe in texts:
                selector.register(pipe, selectors.EVENT_READ)
            while selector.get_map() and time.monotonic() < deadline:
                for key, _ in selector.select(0.5):
                    data = os.read(key.fd, 65536)
                    texts[key.fd].append(data)
                    if not data:
                        selector.unregister(key.fd)
        return {pipe: b"".join(parts).decode() for pipe, parts in texts.items()}

    def stop(self) -> None:
        """End and reap every child that is still there."""
        for pipe, pid in self.pids.items():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(pipe)
        self.pids.clear()


def measure(orders: list[Order], native: bool) -> tuple[list[Tally], list[str]]:
    """One tally per order; the notes name what was missing."""
    memory = compile_native() if native else None
    notes = (
        ["no C compiler, or no room for it: measured in Python"]
        if native and memory is None
        else []
    )
    pool, pipes = SamplerPool(), {}
    try:
        for order in orders:
            pipes[pool.start(partial(_sample, order, memory))] = order
        texts = pool.collect(max(order.seconds for order in orders) + GRACE_S)
    finally:
        pool.stop()
        if memory is not None:
            os.close(memory)
    mode = "python" if memory is None else "native"
    tallies = []
    for pipe, order in pipes.items():
        tally = parse_tally(texts[pipe], order.cpu, mode)
        if tally is None:
            notes.append(f"cpu {order.cpu}: the sampler was ended before it could report")
        else:
            tallies.append(tally)
    return tallies, notes


def _sample(order: Order, memory: int | None, pipe: int) -> None:
    if memory is None:
        run_sampler(order, pipe)
        return
    words = [order.cpu, order.sleep_us, order.seconds, os.getppid(), order.throttle_stat]
    try:
        exec_native(memory, [str(word) for word in words], pipe)
    except OSError as error:
        sys.stderr.write(f"native sampler: {error}\n")
