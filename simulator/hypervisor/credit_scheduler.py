"""Xen's credit scheduler on one core: a VM that answers requests beside VMs that compute.

After ``xen/common/sched/credit.c``: credits burn at 100 per 10 ms of CPU time and are dealt out
every 30 ms; a VM that wakes with credits left becomes BOOST, which a tick that finds it running
ends. A VM preempts a running one only if its priority is strictly higher, unless ``preempt_boost``
(He et al., "Small is Better", section 4.1) lets BOOST preempt BOOST.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Floats = NDArray[np.float64]
BOOST, UNDER, OVER, ASLEEP = 0, 1, 2, 3
TICK_US, TICKS_PER_ACCOUNTING = 10_000.0, 3
CREDITS_PER_US, MOST_CREDITS = 0.01, 300.0


@dataclass(frozen=True, slots=True)
class Host:
    """Policies of the scheduler and workloads of the VMs; times in µs.

    VM 0 answers requests of ``service_us`` each. ``n_neighbours`` others run ``burst_us`` and sleep
    ``sleep_us``. A neighbour that was preempted needs ``refill_us`` to fill its cache again.
    """

    preempt_boost: bool = False
    slice_us: float = 30_000.0
    rate_limit_us: float = 1_000.0
    n_neighbours: int = 1
    burst_us: float = 445_000.0
    sleep_us: float = 1_000.0
    service_us: float = 60.0
    switch_us: float = 5.0
    refill_us: float = 200.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a run gave: delays of requests, and CPU time of each VM.

    ``delays_us`` has shape (n_requests,): from arrival to completion. ``useful_us`` has shape
    (1 + n_neighbours,): CPU time without switching and refilling of caches.
    """

    delays_us: Floats
    useful_us: Floats
    duration_us: float
    n_preemptions: int
    n_events: int


def simulate_credit_scheduler(host: Host, gaps_us: Floats, seed: int) -> Schedule:
    """Serve requests of one client, each ``gaps_us`` after the last was served, shape (n,)."""
    random = np.random.default_rng(seed)
    n = 1 + host.n_neighbours
    first_us = min(host.burst_us + host.sleep_us, TICKS_PER_ACCOUNTING * TICK_US)
    wakes = np.append(np.inf, random.uniform(0, first_us, host.n_neighbours))
    delays, useful, counts = np.empty(len(gaps_us)), np.zeros(n), np.zeros(2, np.int64)
    # Ticks have a random phase: a fixed one would correlate with regular requests.
    end = _run(
        gaps_us,
        wakes,
        float(random.uniform(0, TICK_US)),
        host.preempt_boost,
        host.slice_us,
        host.rate_limit_us,
        np.array([host.burst_us, host.sleep_us, host.service_us, host.switch_us, host.refill_us]),
        delays,
        useful,
        counts,
    )
    return Schedule(delays, useful, end, int(counts[0]), int(counts[1]))


@compile_loop
def _run(  # noqa: C901, PLR0913, PLR0915 — one loop over events, compiled as a whole
    gaps: Floats,
    wakes: Floats,
    phase: float,
    preempt_boost: bool,
    slice_us: float,
    rate_limit_us: float,
    work: Floats,
    delays: Floats,
    useful: Floats,
    counts: NDArray[np.int64],
) -> float:
    burst, sleep, service, switch, refill = work[0], work[1], work[2], work[3], work[4]
    n = len(wakes)
    priority = np.full(n, ASLEEP)
    # The class that a sleeping VM wakes with, and whether accounting deals it credits.
    class_of = np.full(n, UNDER)
    credits = np.zeros(n)
    is_active = np.zeros(n, np.bool_)
    need = np.zeros(n)
    overhead = np.zeros(n)
    # Order in the run queue among equals.
    order = np.zeros(n, np.int64)
    next_order = 1
    running, started, slice_end = -1, 0.0, np.inf
    now, tick, n_ticks = 0.0, phase, 0
    arrival, arrived, served = gaps[0], 0.0, 0
    while served < len(gaps):
        counts[1] += 1
        # The next event: a tick, an arrival, a neighbour's wake, the slice, the end of work.
        sleeper = 1
        for v in range(2, n):
            if wakes[v] < wakes[sleeper]:
                sleeper = v
        wake = wakes[sleeper] if n > 1 else np.inf
        done = now + overhead[running] + need[running] if running >= 0 else np.inf
        time = min(min(tick, arrival), min(min(wake, slice_end), done))
        passed = time - now
        if running >= 0:
            credits[running] -= passed * CREDITS_PER_US
            lost = min(passed, overhead[running])
            overhead[running] -= lost
            need[running] -= passed - lost
            useful[running] += passed - lost
        now = time
        reschedule = False
        if time == done:
            need[running] = 0.0
            if running == 0:
                delays[served] = now - arrived
                served += 1
                arrival = now + gaps[served] if served < len(gaps) else np.inf
            else:
                wakes[running] = now + sleep
            # Only a tick ends boosting: a VM that sleeps before one is boosted when it wakes.
            class_of[running] = max(priority[running], UNDER)
            priority[running] = ASLEEP
            running = -1
            reschedule = True
        elif time == tick:
            tick += TICK_US
            n_ticks += 1
            if running >= 0:
                if priority[running] == BOOST:
                    priority[running] = UNDER
                is_active[running] = True
            if n_ticks % TICKS_PER_ACCOUNTING == 0:
                n_active = 0
                for v in range(n):
                    n_active += is_active[v]
                for v in range(n):
                    if not is_active[v]:
                        continue
                    credits[v] += MOST_CREDITS / n_active
                    grade = UNDER
                    if credits[v] < 0:
                        grade = OVER
                        credits[v] = max(credits[v], -MOST_CREDITS)
                    elif credits[v] > MOST_CREDITS:
                        credits[v] /= 2
                        is_active[v] = False
                    if priority[v] == ASLEEP:
                        class_of[v] = grade
                    else:
                        priority[v] = grade
        elif time in (arrival, wake):
            woken = 0 if time == arrival else sleeper
            if woken == 0:
                arrived, arrival, need[0] = now, np.inf, service
            else:
                wakes[woken], need[woken] = np.inf, burst
            priority[woken] = BOOST if class_of[woken] == UNDER else class_of[woken]
            order[woken], next_order = next_order, next_order + 1
            rival = priority[running] if running >= 0 else ASLEEP
            reschedule = priority[woken] < rival or (preempt_boost and rival == BOOST)
        else:
            slice_end = np.inf
            reschedule = True
        if not reschedule:
            continue
        if running >= 0 and now - started < rate_limit_us - 1e-6:
            # The rate limit protects the running VM; look again when it ends.
            slice_end = started + rate_limit_us
            continue
        if running >= 0:
            order[running], next_order = next_order, next_order + 1
        best = -1
        for v in range(n):
            if priority[v] != ASLEEP and (
                best < 0
                or priority[v] < priority[best]
                or (priority[v] == priority[best] and order[v] < order[best])
            ):
                best = v
        if best >= 0 and best != running:
            if running >= 0:
                counts[0] += 1
                if running > 0:
                    overhead[running] += refill
            overhead[best] += switch
        if best != running or now >= slice_end or slice_end == np.inf:
            started = now
            slice_end = now + slice_us
        running = best
        if running < 0:
            slice_end = np.inf
    return now
