"""Sample one virtual CPU: a pinned process repeats a short sleep and counts durations.

The sampler in Python and the native one write the same lines: ``run``, ``h`` (slot, count) and
``s`` (one stall); :func:`parse_tally` reads both.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from screening.agent_parts.causes import STALL_US, Stall
from screening.agent_parts.histograms import SLOTS, find_slot
from screening.agent_parts.kernel import read_cpu_ticks, read_run_delay_ns, read_throttling

PR_SET_PDEATHSIG = 1
PR_SET_TIMERSLACK = 29
# Counters are read this often, so that what a stall shows belongs to the stall.
CHECK_NS = 50_000_000
# Steal is booked by the tick after the stall: it is read this much later.
SETTLE_NS = 30_000_000
# /proc/stat takes long to print where there are many interrupts.
STEAL_CHECK_NS = 1_000_000_000


class Order(NamedTuple):
    """What one sampler has to do."""

    cpu: int
    sleep_us: int
    seconds: float
    throttle_stat: str = ""


class Tally(NamedTuple):
    """What one sampler saw; ``cpu_ns`` is the time that it used itself."""

    cpu: int
    mode: str
    wakeups: int
    elapsed_ns: int
    cpu_ns: int
    max_ns: int
    run_delay_ns: int
    pinned: bool
    slack: bool
    histogram: dict[int, int]
    stalls: list[Stall]
    hypervisor: str = ""


class Watch:
    """Kernel counters around stalls, as they grow."""

    def __init__(self, order: Order) -> None:
        self.cpu, self.stat = order.cpu, order.throttle_stat
        self.stalls: list[Stall] = []
        self.pending = 0
        self.delay_ns, self.throttled_us = self._read()
        self.steal_ms = self._read_steal_ms()

    def _read(self) -> tuple[int, int]:
        throttled_us = read_throttling(self.stat).throttled_us if self.stat else 0
        return read_run_delay_ns(), throttled_us

    def _read_steal_ms(self) -> int:
        ticks = read_cpu_ticks().get(self.cpu)
        return ticks.steal_ms if ticks else 0

    def refresh(self) -> None:
        """Forget what was counted outside stalls."""
        self.delay_ns, self.throttled_us = self._read()

    def add(self, at_us: int, length_us: int) -> None:
        """Keep one stall with the run delay and throttling since the last look."""
        delay_ns, throttled_us = self._read()
        delay_us = (delay_ns - self.delay_ns) // 1000
        self.stalls.append(Stall(at_us, length_us, delay_us, 0, throttled_us - self.throttled_us))
        self.delay_ns, self.throttled_us = delay_ns, throttled_us

    def settle(self) -> None:
        """Share the steal since the last look among the stalls since then, by length."""
        steal_ms = self._read_steal_ms()
        new_us = (steal_ms - self.steal_ms) * 1000
        total_us = sum(stall.length_us for stall in self.stalls[self.pending :])
        for at in range(self.pending, len(self.stalls)):
            stall = self.stalls[at]
            share_us = min(new_us * stall.length_us // total_us, stall.length_us)
            self.stalls[at] = stall._replace(steal_us=share_us)
        self.pending, self.steal_ms = len(self.stalls), steal_ms


def find_sleep(sleep_us: int) -> Callable[[], Any]:
    """A function that sleeps once: clock_nanosleep where there is one, else time.sleep."""

    class Timespec(ctypes.Structure):
        _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]

    try:
        sleep = ctypes.CDLL(None).clock_nanosleep
    except (OSError, AttributeError):
        return lambda: time.sleep(sleep_us / 1e6)
    span = ctypes.byref(Timespec(0, sleep_us * 1000))
    clock, relative = ctypes.c_int(1), ctypes.c_int(0)
    return lambda: sleep(clock, relative, span, None)


def bind(cpu: int) -> tuple[bool, bool]:
    """Pin this process and set its timer slack to 1 ns; returns which of the two worked."""
    pinned = slack = False
    try:
        os.sched_setaffinity(0, {cpu})
        pinned = True
    except (AttributeError, OSError):
        pass
    with contextlib.suppress(AttributeError, OSError):
        slack = ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0
    return pinned, slack


def end_with_parent(parent: int) -> None:
    """Have the kernel end this process when its parent ends, however that ends."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def sample(order: Order) -> Tally:
    """Sleep and measure until the time is over."""
    pinned, slack = bind(order.cpu)
    gc.disable()
    watch, counts = Watch(order), [0] * SLOTS
    delay_ns = read_run_delay_ns()
    start_ns = time.monotonic_ns()
    max_ns, end_ns = _repeat(order, watch, counts, start_ns)
    time.sleep(SETTLE_NS / 1e9)
    watch.settle()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    histogram = {slot: count for slot, count in enumerate(counts) if count}
    return Tally(
        order.cpu,
        "python",
        sum(counts),
        end_ns - start_ns,
        int((usage.ru_utime + usage.ru_stime) * 1e9),
        max_ns,
        read_run_delay_ns() - delay_ns,
        pinned,
        slack,
        histogram,
        watch.stalls,
    )


def _repeat(order: Order, watch: Watch, counts: list[int], start_ns: int) -> tuple[int, int]:
    nap, clock, stall_ns = find_sleep(order.sleep_us), time.monotonic_ns, STALL_US * 1000
    end_ns = start_ns + int(order.seconds * 1e9)
    max_ns, check_ns, steal_ns = 0, start_ns + CHECK_NS, start_ns + STEAL_CHECK_NS
    before_ns = clock()
    while before_ns < end_ns:
        nap()
        after_ns = clock()
        length_ns = after_ns - before_ns
        counts[find_slot(length_ns)] += 1
        before_ns = after_ns
        max_ns = max(max_ns, length_ns)
        if length_ns >= stall_ns:
            watch.add((after_ns - start_ns) // 1000, length_ns // 1000)
            steal_ns = min(steal_ns, after_ns + SETTLE_NS)
        elif after_ns >= check_ns:
            watch.refresh()
            if after_ns >= steal_ns:
                watch.settle()
                steal_ns = after_ns + STEAL_CHECK_NS
        else:
            continue
        before_ns = clock()
        check_ns = before_ns + CHECK_NS
    return max_ns, before_ns


def format_tally(tally: Tally) -> str:
    """The lines that a sampler writes."""
    run = tally[2:7] + (int(tally.pinned), int(tally.slack))
    lines = ["run " + " ".join(map(str, run))]
    lines += [f"h {slot} {count}" for slot, count in tally.histogram.items()]
    lines += ["s " + " ".join(map(str, stall)) for stall in tally.stalls]
    return "\n".join([*lines, "end\n"])


def parse_tally(text: str, cpu: int, mode: str) -> Tally | None:
    """What a sampler wrote, or nothing when it was cut short."""
    lines = [line.partition(" ")[::2] for line in text.splitlines()]
    if not lines or lines[-1][0] != "end":
        return None
    rows: dict[str, list[list[int]]] = {"run": [], "h": [], "s": []}
    hypervisor = ""
    for kind, words in lines[:-1]:
        if kind == "hv":
            hypervisor = words
        else:
            rows[kind].append([int(word) for word in words.split()])
    wakeups, elapsed_ns, cpu_ns, max_ns, delay_ns, pinned, slack = rows["run"][0]
    return Tally(
        cpu,
        mode,
        wakeups,
        elapsed_ns,
        cpu_ns,
        max_ns,
        delay_ns,
        bool(pinned),
        bool(slack),
        {row[0]: row[1] for row in rows["h"]},
        [Stall(*row) for row in rows["s"]],
        hypervisor,
    )


def run_sampler(order: Order, pipe: int) -> None:
    """Body of a forked child: sample, write, end without the parent's clean-up."""
    code = 1
    try:
        data = format_tally(sample(order)).encode()
        while data:
            data = data[os.write(pipe, data) :]
        code = 0
    finally:
        if code:
            traceback.print_exc()
        os._exit(code)
