"""Xen's credit scheduler on one core: a VM that answers requests beside VMs that compute.

After ``xen/common/sched/credit.c``: credits burn at 100 per 10 ms of CPU time and are given out
every 30 ms; a VM that wakes with credits left becomes BOOST, which a tick that finds it running
ends. A VM preempts a running one only if its priority is strictly higher, unless ``preempt_boost``
(He et al., "Small is Better", section 4.1) lets BOOST preempt BOOST.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.jit import compile_loop

Floats = NDArray[np.float64]
BOOST, UNDER, OVER, ASLEEP = 0, 1, 2, 3
TICK_US, TICKS_PER_ACCOUNTING = 10_000.0, 3
CREDITS_PER_US, MOST_CREDITS = 0.01, 300.0
VM = np.dtype(
    [
        ("priority", "i8"),
        ("class_of", "i8"),  # the priority that it wakes with, if not BOOST
        ("is_active", "i8"),  # whether accounting gives it credits
        ("order", "i8"),  # in the run queue, among equals
        ("credits", "f8"),
        ("need", "f8"),  # CPU time until it sleeps
        ("overhead", "f8"),  # CPU time for switches and caches before that
        ("wake", "f8"),
        ("useful", "f8"),
    ],
    align=True,
)
CORE = np.dtype(
    [
        ("running", "i8"),  # number of a VM, or -1
        ("n_ticks", "i8"),
        ("served", "i8"),
        ("next_order", "i8"),
        ("preemptions", "i8"),
        ("events", "i8"),
        ("now", "f8"),
        ("tick", "f8"),
        ("started", "f8"),
        ("slice_end", "f8"),
        ("arrival", "f8"),  # of the next request
        ("arrived", "f8"),
    ],
    align=True,
)
POLICY = np.dtype(
    [
        ("preempt_boost", "i8"),
        *((name, "f8") for name in ("slice_us", "rate_limit_us", "burst_us", "sleep_us")),
        *((name, "f8") for name in ("service_us", "switch_us", "refill_us")),
    ],
    align=True,
)


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
    first_us = min(host.burst_us + host.sleep_us, TICKS_PER_ACCOUNTING * TICK_US)
    vms, core, policy = np.zeros(1 + host.n_neighbours, VM), np.zeros(1, CORE), np.zeros(1, POLICY)
    vms["priority"], vms["class_of"] = ASLEEP, UNDER
    vms["wake"] = np.append(np.inf, random.uniform(0, first_us, host.n_neighbours))
    for name in POLICY.names or ():
        policy[name] = getattr(host, name)
    # Ticks have a random phase: a fixed one would correlate with regular requests.
    core["tick"] = random.uniform(0, TICK_US)
    core["running"], core["next_order"], core["slice_end"] = -1, 1, np.inf
    core["arrival"] = gaps_us[0]
    delays = np.empty(len(gaps_us))
    _run(core, vms, policy, gaps_us, delays)
    now, preemptions, events = core[["now", "preemptions", "events"]][0].tolist()
    return Schedule(delays, vms["useful"], now, preemptions, events)


@compile_loop
def _run(cores: Any, vms: Any, policies: Any, gaps: Floats, delays: Floats) -> None:
    """Run until all requests are served."""
    core, policy = cores[0], policies[0]
    while core.served < len(gaps):
        core.events += 1
        sleeper = _find_sleeper(vms)
        wake = vms[sleeper].wake if len(vms) > 1 else np.inf
        done = np.inf
        if core.running >= 0:
            done = core.now + vms[core.running].overhead + vms[core.running].need
        time = min(min(core.tick, core.arrival), min(min(wake, core.slice_end), done))
        _burn(core, vms, time)
        reschedule = True
        if time == done:
            _finish(core, vms, policy, gaps, delays)
        elif time == core.tick:
            _tick(core, vms)
            reschedule = False
        elif time in (core.arrival, wake):
            woken = 0 if time == core.arrival else sleeper
            reschedule = _wake(core, vms, policy, woken)
        else:
            core.slice_end = np.inf
        if reschedule:
            _reschedule(core, vms, policy)


@compile_loop
def _find_sleeper(vms: Any) -> Any:
    """Return the neighbour that wakes first."""
    sleeper = 1
    for v in range(2, len(vms)):
        if vms[v].wake < vms[sleeper].wake:
            sleeper = v
    return sleeper


@compile_loop
def _burn(core: Any, vms: Any, time: Any) -> None:
    """Advance to a time, and charge it to the VM that was running."""
    passed = time - core.now
    core.now = time
    if core.running < 0:
        return
    vm = vms[core.running]
    vm.credits -= passed * CREDITS_PER_US
    lost = min(passed, vm.overhead)
    vm.overhead -= lost
    vm.need -= passed - lost
    vm.useful += passed - lost


@compile_loop
def _finish(core: Any, vms: Any, policy: Any, gaps: Floats, delays: Floats) -> None:
    """Let the running VM sleep, which has served a request or ended a burst."""
    vm = vms[core.running]
    vm.need = 0.0
    if core.running == 0:
        delays[core.served] = core.now - core.arrived
        core.served += 1
        core.arrival = core.now + gaps[core.served] if core.served < len(gaps) else np.inf
    else:
        vm.wake = core.now + policy.sleep_us
    # Only a tick ends boosting: a VM that sleeps before one is boosted when it wakes.
    vm.class_of = max(vm.priority, UNDER)
    vm.priority = ASLEEP
    core.running = -1


@compile_loop
def _tick(core: Any, vms: Any) -> None:
    """End the boost of the VM that is running, which is active; account with every third tick."""
    core.tick += TICK_US
    core.n_ticks += 1
    if core.running >= 0:
        vm = vms[core.running]
        if vm.priority == BOOST:
            vm.priority = UNDER
        vm.is_active = 1
    if core.n_ticks % TICKS_PER_ACCOUNTING == 0:
        _distribute_credits(vms)


@compile_loop
def _distribute_credits(vms: Any) -> None:
    """Distribute credits among the active VMs, and find the class of each."""
    n_active = 0
    for v in range(len(vms)):
        n_active += vms[v].is_active
    for v in range(len(vms)):
        vm = vms[v]
        if not vm.is_active:
            continue
        vm.credits += MOST_CREDITS / n_active
        grade = UNDER
        if vm.credits < 0:
            grade = OVER
            vm.credits = max(vm.credits, -MOST_CREDITS)
        elif vm.credits > MOST_CREDITS:
            vm.credits /= 2
            vm.is_active = 0
        if vm.priority == ASLEEP:
            vm.class_of = grade
        else:
            vm.priority = grade


@compile_loop
def _wake(core: Any, vms: Any, policy: Any, woken: Any) -> Any:
    """Wake a VM for a request or a burst; return whether it may preempt the running one."""
    vm = vms[woken]
    if woken == 0:
        core.arrived, core.arrival, vm.need = core.now, np.inf, policy.service_us
    else:
        vm.wake, vm.need = np.inf, policy.burst_us
    vm.priority = BOOST if vm.class_of == UNDER else vm.class_of
    vm.order = core.next_order
    core.next_order += 1
    rival = vms[core.running].priority if core.running >= 0 else ASLEEP
    return vm.priority < rival or (policy.preempt_boost and rival == BOOST)


@compile_loop
def _reschedule(core: Any, vms: Any, policy: Any) -> None:
    """Run the first VM of the queue, unless the rate limit protects the running one."""
    before = core.running
    if before >= 0 and core.now - core.started < policy.rate_limit_us - 1e-6:
        # Look again when the limit ends.
        core.slice_end = core.started + policy.rate_limit_us
        return
    if before >= 0:
        vms[before].order = core.next_order
        core.next_order += 1
    best = _choose(vms)
    if best >= 0 and best != before:
        if before >= 0:
            core.preemptions += 1
            if before > 0:
                vms[before].overhead += policy.refill_us
        vms[best].overhead += policy.switch_us
    if best != before or core.now >= core.slice_end or core.slice_end == np.inf:
        core.started = core.now
        core.slice_end = core.now + policy.slice_us
    core.running = best
    if best < 0:
        core.slice_end = np.inf


@compile_loop
def _choose(vms: Any) -> Any:
    """Return the runnable VM of the best priority that has waited for longest, or -1."""
    best = -1
    for v in range(len(vms)):
        if vms[v].priority == ASLEEP:
            continue
        if best < 0 or (vms[v].priority, vms[v].order) < (vms[best].priority, vms[best].order):
            best = v
    return best
