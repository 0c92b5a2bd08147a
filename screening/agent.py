#!/usr/bin/env python3
"""Nephoscope's screening agent: is this virtual machine a good one?

    curl -s SITE/agent | python3 - --pool TOKEN     measure 100 s and report to a pool
    python3 agent.py --output result.json           measure offline; --upload sends it later
    python3 agent.py --server                       answer network tests of other machines
    python3 agent.py --client HOST:PORT             the network test
    python3 agent.py --battery --rounds 12          CPU, disk and network jitter, every 5 minutes

It needs Python 3.8 and nothing else, never root, and leaves no file and no process behind.
This file is put together from screening/agent_parts; change it there.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import hmac
import json
import math
import mmap
import os
import platform
import random
import resource
import select
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request
import uuid
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

# --- histograms ---

# 2**40 ns are 18 minutes, nine times the longest run.
SLOTS = 2240


def find_slot(value_ns: int) -> int:
    """Slot that counts a duration."""
    shift = value_ns.bit_length() - 7
    if shift <= 0:
        return max(value_ns, 0)
    return min((shift << 6) + (value_ns >> shift), SLOTS - 1)


def find_bounds_ns(slot: int) -> tuple[int, int]:
    """Shortest and longest duration that a slot counts."""
    shift = max(0, (slot >> 6) - 1)
    low = (slot - (shift << 6)) << shift
    return low, low + (1 << shift) - 1


def find_percentile_us(histogram: dict[int, int], share: float, max_ns: int) -> float:
    """Duration that ``share`` of all counts do not exceed, by nearest rank, middle of its slot."""
    rank = max(1, -int(-sum(histogram.values()) * share // 1))
    seen = 0
    for slot in sorted(histogram):
        seen += histogram[slot]
        if seen >= rank:
            low, high = find_bounds_ns(slot)
            return round(min((low + high) / 2, max_ns) / 1000, 3)
    return 0.0


# --- kernel ---

TICK_MS = 10
if hasattr(os, "sysconf"):
    TICK_MS = 1000 // (os.sysconf("SC_CLK_TCK") or 100)


class CpuTicks(NamedTuple):
    """Time of one virtual CPU since boot, in milliseconds."""

    busy_ms: int
    steal_ms: int


class Quota(NamedTuple):
    """The control group whose quota binds this process, if any."""

    version: int
    path: str
    stat: str
    limit: float  # in CPUs; 0 is no limit


class Throttling(NamedTuple):
    """How often and how long a control group was stopped by its quota."""

    periods: int
    throttled: int
    throttled_us: int


def read_text(path: str) -> str:
    """Text of a small kernel file, empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def read_cpu_ticks() -> dict[int, CpuTicks]:
    """Busy and stolen time per virtual CPU from /proc/stat."""
    ticks = {}
    for line in read_text("/proc/stat").splitlines():
        words = line.split()
        if not words or not words[0].startswith("cpu") or words[0] == "cpu":
            continue
        times = [int(word) * TICK_MS for word in words[1:9]] + [0] * 8
        busy = times[0] + times[1] + times[2] + times[5] + times[6]
        ticks[int(words[0][3:])] = CpuTicks(busy, times[7])
    return ticks


def read_run_delay_ns() -> int:
    """Time that this process was ready to run and waited for its CPU."""
    words = read_text("/proc/self/schedstat").split()
    return int(words[1]) if len(words) > 1 else 0


def read_pressure_us(resource: str) -> dict[str, int]:
    """Totals of pressure stall information, such as ``{"some": 1200}``."""
    totals = {}
    for line in read_text("/proc/pressure/" + resource).splitlines():
        words = line.split()
        for word in words[1:]:
            if word.startswith("total="):
                totals[words[0]] = int(word[6:])
    return totals


def read_throttling(stat: str) -> Throttling:
    """Counters of cpu.stat, whose names and units differ between versions 1 and 2."""
    values = {}
    for line in read_text(stat).splitlines():
        words = line.split()
        if len(words) == 2 and words[1].isdigit():
            values[words[0]] = int(words[1])
    throttled_us = values.get("throttled_usec", values.get("throttled_time", 0) // 1000)
    return Throttling(values.get("nr_periods", 0), values.get("nr_throttled", 0), throttled_us)


def find_quota() -> Quota | None:
    """The nearest control group upwards that has a CPU quota, else the process's own."""
    groups = list(_list_groups())
    return next((group for group in groups if group.limit), groups[0] if groups else None)


def _list_groups() -> list[Quota]:
    mounts = _find_cpu_mounts()
    groups = []
    for line in read_text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        version = 1 if "cpu" in controllers.split(",") else 2 if not controllers else 0
        if version in mounts:
            groups += _climb(version, mounts[version], path)
    return groups


def _find_cpu_mounts() -> dict[int, str]:
    mounts = {}
    for line in read_text("/proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        place, kind, options = left.split()[4], right.split()[0], right.split()[-1]
        if kind == "cgroup2":
            mounts[2] = place
        elif kind == "cgroup" and "cpu" in options.split(","):
            mounts[1] = place
    return mounts


def _climb(version: int, mount: str, path: str) -> list[Quota]:
    groups = []
    while True:
        folder = mount + path.rstrip("/")
        stat = folder + "/cpu.stat"
        if Path(stat).exists():
            groups.append(Quota(version, path, stat, _read_limit(version, folder)))
        if path in ("", "/"):
            return groups
        path = str(Path(path).parent)


def _read_limit(version: int, folder: str) -> float:
    if version == 2:
        words = read_text(folder + "/cpu.max").split()
        return int(words[0]) / int(words[1]) if words and words[0] != "max" else 0.0
    quota = read_text(folder + "/cpu.cfs_quota_us").strip()
    period = read_text(folder + "/cpu.cfs_period_us").strip()
    return int(quota) / int(period) if quota and period and int(quota) > 0 else 0.0


def read_wall_clock() -> float:
    """Seconds since the epoch, UTC."""
    return time.clock_gettime(time.CLOCK_REALTIME)


# --- causes ---

STALL_US = 10_000
# /proc/stat counts steal in ticks of 10 ms, so a stall of 18 ms may show only one.
STEAL_TICK_US = 10_000

CAUSES = {
    "quota": "the CPU quota of the own control group",
    "run delay": "other work inside this machine on the same CPU",
    "steal": "the hypervisor, which gave the CPU to a neighbour",
    "unexplained": "nothing that this kernel counts, on a virtual machine mostly the hypervisor",
}


class Stall(NamedTuple):
    """One sleep of 10 ms or more; ``at_us`` counts from the start to its end."""

    at_us: int
    length_us: int
    run_delay_us: int = 0
    steal_us: int = 0
    throttled_us: int = 0


def find_cause(stall: Stall) -> str:
    """The counter that covers at least half of a stall, else ``unexplained``."""
    half_us = stall.length_us / 2
    if stall.throttled_us >= half_us:
        return "quota"
    if stall.steal_us >= min(half_us, STEAL_TICK_US) and stall.steal_us >= stall.run_delay_us / 2:
        return "steal"
    if stall.run_delay_us >= half_us:
        return "run delay"
    return "unexplained"


def count_causes(stalls: list[Stall]) -> dict[str, dict[str, float]]:
    """Number and milliseconds of stalls per cause, most stalls first."""
    found: dict[str, dict[str, float]] = {}
    for stall in stalls:
        entry = found.setdefault(find_cause(stall), {"stalls": 0, "ms": 0.0})
        entry["stalls"] += 1
        entry["ms"] = round(entry["ms"] + stall.length_us / 1000, 3)
    return dict(sorted(found.items(), key=lambda item: -item[1]["stalls"]))


# --- sampling ---

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


def find_nap(sleep_us: int) -> Callable[[], Any]:
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
    """Pin this process and set its timer slack to 1 ns; says which of the two worked."""
    pinned = slack = False
    try:
        os.sched_setaffinity(0, {cpu})
        pinned = True
    except (AttributeError, OSError):
        pass
    with contextlib.suppress(AttributeError, OSError):
        slack = ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) == 0
    return pinned, slack


def die_with_parent(parent: int) -> None:
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
    nap, clock, stall_ns = find_nap(order.sleep_us), time.monotonic_ns, STALL_US * 1000
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


# --- native ---

NATIVE_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

enum { SLOTS = 2240, STALLS = 16384 };
static const int64_t STALL = 10000000, CHECK = 50000000, SETTLE = 30000000, SECOND = 1000000000;
static uint64_t counts[SLOTS];
static struct { int64_t at, length, delay, steal, throttled; } stalls[STALLS];
static int kept, pending, schedstat, procstat, cpustat = -1, cpu;
static int64_t delay, throttled, steal;
static char text[65536];

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static int find_slot(uint64_t value) {
    if (value < 128) return (int)value;
    int shift = 57 - __builtin_clzll(value);
    uint64_t slot = ((uint64_t)shift << 6) + (value >> shift);
    return slot < SLOTS ? (int)slot : SLOTS - 1;
}

static const char *look(int file) {
    ssize_t size = file < 0 ? 0 : pread(file, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = 0;
    return text;
}

static int64_t read_delay(void) {
    long long ran = 0, waited = 0;
    sscanf(look(schedstat), "%lld %lld", &ran, &waited);
    return waited;
}

static int64_t read_throttled(void) {
    const char *all = look(cpustat), *found = strstr(all, "throttled_usec ");
    if (found) return atoll(found + 15);
    found = strstr(all, "throttled_time ");
    return found ? atoll(found + 15) / 1000 : 0;
}

static int64_t read_steal(void) {
    char name[24];
    long long v[8] = {0};
    snprintf(name, sizeof name, "\ncpu%d ", cpu);
    const char *line = strstr(look(procstat), name);
    if (!line) return 0;
    sscanf(line + strlen(name), "%lld %lld %lld %lld %lld %lld %lld %lld",
           v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7);
    return v[7] * (1000000 / sysconf(_SC_CLK_TCK));
}

static void refresh(void) {
    delay = read_delay();
    throttled = read_throttled();
}

static void add(int64_t at, int64_t length) {
    int64_t old_delay = delay, old_throttled = throttled;
    refresh();
    if (kept == STALLS) return;
    stalls[kept].at = at / 1000;
    stalls[kept].length = length / 1000;
    stalls[kept].delay = (delay - old_delay) / 1000;
    stalls[kept++].throttled = throttled - old_throttled;
}

static void settle(void) {
    int64_t total = 0, before = steal;
    steal = read_steal();
    for (int i = pending; i < kept; i++) total += stalls[i].length;
    for (; pending < kept; pending++) {
        int64_t share = (steal - before) * stalls[pending].length / total;
        stalls[pending].steal = share < stalls[pending].length ? share : stalls[pending].length;
    }
}

static void print_hypervisor(void) {
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && c >> 31) {
        char name[13] = {0};
        __cpuid(0x40000000, a, b, c, d);
        memcpy(name, &b, 4), memcpy(name + 4, &c, 4), memcpy(name + 8, &d, 4);
        for (char *p = name; *p; p++) if (*p < 32 || *p > 126) *p = '?';
        printf("hv %s\n", name);
    }
#endif
}

int main(int count, char **words) {
    if (count < 5) return 2;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != atoi(words[4])) return 1;
    cpu = atoi(words[1]);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    int pinned = sched_setaffinity(0, sizeof set, &set) == 0;
    int slack = prctl(PR_SET_TIMERSLACK, 1) == 0;
    struct timespec nap = {0, atol(words[2]) * 1000};
    schedstat = open("/proc/self/schedstat", O_RDONLY);
    procstat = open("/proc/stat", O_RDONLY);
    if (count > 5 && words[5][0]) cpustat = open(words[5], O_RDONLY);
    refresh();
    steal = read_steal();
    int64_t first_delay = delay, wakeups = 0, longest = 0;
    int64_t start = now(), end = start + (int64_t)(atof(words[3]) * 1e9);
    int64_t before = start, check = start + CHECK, steal_at = start + SECOND;
    alarm((unsigned)atof(words[3]) + 10);
    while (before < end) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, 0);
        int64_t after = now(), length = after - before;
        counts[find_slot((uint64_t)length)]++;
        wakeups++;
        before = after;
        if (length > longest) longest = length;
        if (length >= STALL) {
            add(after - start, length);
            if (steal_at > after + SETTLE) steal_at = after + SETTLE;
        } else if (after >= check) {
            refresh();
            if (after >= steal_at) settle(), steal_at = after + SECOND;
        } else continue;
        before = now();
        check = before + CHECK;
    }
    struct timespec rest = {0, SETTLE};
    nanosleep(&rest, 0);
    settle();
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    long long used = (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * (long long)SECOND
        + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000LL;
    printf("run %lld %lld %lld %lld %lld %d %d\n", (long long)wakeups, (long long)(before - start),
           used, (long long)longest, (long long)(read_delay() - first_delay), pinned, slack);
    print_hypervisor();
    for (int i = 0; i < SLOTS; i++)
        if (counts[i]) printf("h %d %llu\n", i, (unsigned long long)counts[i]);
    for (int i = 0; i < kept; i++)
        printf("s %lld %lld %lld %lld %lld\n", (long long)stalls[i].at,
               (long long)stalls[i].length, (long long)stalls[i].delay,
               (long long)stalls[i].steal, (long long)stalls[i].throttled);
    puts("end");
    return 0;
}
"""


def compile_native() -> int | None:
    """Descriptor of the compiled sampler, or nothing where it cannot be made."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler or not sys.platform.startswith("linux"):
        return None
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _compile_apart(compiler, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        program = pipe.read()
    os.waitpid(pid, 0)
    return _load(program) if program else None


def _compile_apart(compiler: str, pipe: int) -> NoReturn:
    """In a process that nothing ends early, so that its folder goes even if the agent is killed."""
    program = b""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        program = _compile(compiler)
    with contextlib.suppress(OSError), os.fdopen(pipe, "wb") as file:
        file.write(program)
    os._exit(0)


def _compile(compiler: str) -> bytes:
    folder = tempfile.mkdtemp(prefix="nephoscope-agent-")
    try:
        path = Path(folder) / "sampler"
        subprocess.run(
            [compiler, "-O2", "-x", "c", "-", "-o", str(path)],
            input=NATIVE_SOURCE.encode(),
            timeout=30,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return path.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _load(program: bytes) -> int:
    memory = os.memfd_create("nephoscope-sampler")
    while program:
        program = program[os.write(memory, program) :]
    return memory


def exec_native(memory: int, words: list[str], pipe: int) -> None:
    """Become the native sampler; returns only by an exception."""
    os.dup2(pipe, 1)
    os.execve(memory, ["nephoscope-sampler", *words], {})


# --- sampler_pool ---

# What a sampler may take over its time before it is ended.
GRACE_S = 15.0
NO_COMPILER = "no C compiler, or no room for it: measured in Python"


class Crew:
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
            die_with_parent(parent)
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
    """One tally per order; the notes say what was missing."""
    memory = compile_native() if native else None
    notes = (
        ["no C compiler, or no room for it: measured in Python"]
        if native and memory is None
        else []
    )
    crew, pipes = Crew(), {}
    try:
        for order in orders:
            pipes[crew.start(partial(_sample, order, memory))] = order
        texts = crew.collect(max(order.seconds for order in orders) + GRACE_S)
    finally:
        crew.stop()
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


# --- host ---

DMI = "/sys/class/dmi/id/"


def read_host(name: str = "") -> dict[str, Any]:
    """Description of this machine for the report."""
    quota = find_quota()
    return {
        "name": (name or socket.gethostname())[:253],
        "cpu_model": _find_cpu_model()[:200],
        "vcpus": os.cpu_count() or 1,
        "kernel": (f"{platform.system()} {platform.release()}")[:200],
        "machine": platform.machine()[:64],
        "hypervisor": find_hypervisor()[:200],
        "clock_source": read_text(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        ).strip()[:64],
        "cgroup": quota.version if quota else 0,
        "quota_cpus": round(quota.limit, 3) if quota else 0.0,
        "python": platform.python_version()[:64],
        "machine_id": find_machine_id(),
        "addresses": find_addresses(),
    }


def find_machine_id() -> str:
    """What tells two machines of one name apart, without giving the machine's own id away."""
    own = (read_text("/etc/machine-id") or read_text("/var/lib/dbus/machine-id")).strip()
    return hmac.new(own.encode(), b"nephoscope.screening", "sha256").hexdigest()[:32] if own else ""


def find_addresses() -> list[str]:
    """Own addresses towards the world, by which others' network tests name this machine.

    Connecting a datagram socket sends nothing; both targets are reserved for documentation.
    """
    found = []
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            found.append(probe.getsockname()[0].partition("%")[0])
    return found


def find_hypervisor() -> str:
    """What the machine runs under, empty when nothing says so."""
    xen = read_text("/sys/hypervisor/type").strip()
    board = " ".join(read_text(DMI + name).strip() for name in ("sys_vendor", "product_name"))
    flags = next((x for x in read_text("/proc/cpuinfo").splitlines() if x.startswith("flags")), "")
    guest = "hypervisor" in flags.split()
    return (xen or (board.strip() if guest else "") or ("unnamed" if guest else "")).strip()


def _find_cpu_model() -> str:
    for line in read_text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Hardware", "Model"):
            return value.strip()
    return platform.processor() or platform.machine()


# --- verdict ---

# Bobtail's marks, in stalls of 10 ms or more per 100 s.
LOW_PER_100S = 13.0
HIGH_PER_100S = 65.0
# A run that is shorter says too little about a mark of 13 in 100 s.
ENOUGH_S = 30.0
DOUBT = 0.05
# Stalls whose details travel; every stall is counted in the histogram.
STALLS_KEPT = 20_000

GOOD, NETWORK_TEST, BAD, UNKNOWN = "good", "network-test", "bad", "not-enough"


def describe_cpu(
    tally: Tally, before: CpuTicks | None, after: CpuTicks | None, throttled_us: int, kept: int
) -> dict[str, Any]:
    """The report's entry of one virtual CPU."""
    zero = CpuTicks(0, 0)
    first, last = before or zero, after or zero
    busy, steal = last.busy_ms - first.busy_ms, last.steal_ms - first.steal_ms
    elapsed_s = tally.elapsed_ns / 1e9
    return {
        "cpu": tally.cpu,
        "mode": tally.mode,
        "seconds": round(elapsed_s, 3),
        "wakeups": tally.wakeups,
        "stalls_10ms": len(tally.stalls),
        "p50_us": find_percentile_us(tally.histogram, 0.5, tally.max_ns),
        "p99_us": find_percentile_us(tally.histogram, 0.99, tally.max_ns),
        "p999_us": find_percentile_us(tally.histogram, 0.999, tally.max_ns),
        "max_us": round(tally.max_ns / 1000, 3),
        "steal_ms": max(steal, 0),
        "run_delay_ms": round(tally.run_delay_ns / 1e6, 3),
        "throttled_ms": round(throttled_us / 1000, 3),
        "busy_ms": max(round(busy - tally.cpu_ns / 1e6, 3), 0),
        "own_ms": round(tally.cpu_ns / 1e6, 3),
        "own_share": round(tally.cpu_ns / max(tally.elapsed_ns, 1), 5),
        "pinned": tally.pinned,
        "slack": tally.slack,
        "causes": count_causes(tally.stalls),
        "histogram": sorted(map(list, tally.histogram.items())),
        "stalls": [list(stall) for stall in tally.stalls[:kept]],
    }


def place(stalls: int, seconds: float, low: float, high: float) -> str:
    """Algorithm 1 for a run of any length, with marks per 100 s.

    In 100 s it is the paper's. A shorter run is only called good when HIGH would have shown more
    stalls, and bad when LOW would have shown fewer, with 95 % confidence.
    """
    scale = seconds / 100
    if stalls <= low * scale:
        return GOOD if find_chance_upto(stalls, high * scale) <= DOUBT else UNKNOWN
    if stalls <= high * scale:
        return NETWORK_TEST
    return BAD if 1 - find_chance_upto(stalls - 1, low * scale) <= DOUBT else UNKNOWN


def find_chance_upto(count: int, mean: float) -> float:
    """Probability of at most ``count`` events where ``mean`` are expected (Poisson)."""
    term = total = math.exp(-mean)
    for number in range(1, count + 1):
        term *= mean / number
        total += term
    return min(total, 1.0)


def find_rate(cpu: dict[str, Any]) -> float:
    """Stalls per 100 s of one CPU's entry."""
    return float(100 * cpu["stalls_10ms"] / cpu["seconds"])


def judge(cpus: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Verdict by the worst virtual CPU, and why: a server's tail is made there."""
    if not cpus:
        return UNKNOWN, ["no virtual CPU was measured"]
    worst = max(cpus, key=find_rate)
    rate = find_rate(worst)
    verdict = place(worst["stalls_10ms"], worst["seconds"], LOW_PER_100S, HIGH_PER_100S)
    reasons = [
        f"cpu {worst['cpu']}: {worst['stalls_10ms']} stalls of 10 ms or more in "
        f"{worst['seconds']:.0f} s, {rate:.1f} per 100 s "
        f"(good up to {LOW_PER_100S:g}, bad over {HIGH_PER_100S:g})"
    ]
    for cause, found in worst["causes"].items():
        reasons.append(f"{found['stalls']} of them: {cause} ({CAUSES[cause]})")
    if worst["seconds"] < ENOUGH_S:
        reasons.append(f"only {worst['seconds']:.0f} s were measured: 100 s say more")
    return verdict, reasons


# --- network ---

HEADER = struct.Struct("!4sBQQQ")  # magic, kind, number, length of the body, reserved: 29 bytes
MAGIC = b"NPH1"
CALL, ECHO = 1, 2
REQUEST_BYTES, REPLY_BYTES, ECHO_BYTES = 8, 2048, 32_768
PORT = 7420
CONNECTIONS = 256
OVER_NS = 10_000_000
RATES = (100, 200, 500)
LOSS_S = 5.0


def make_frame(kind: int, number: int, body: bytes) -> bytes:
    """A message with its 29 bytes of header."""
    return HEADER.pack(MAGIC, kind, number, len(body), 0) + body


def serve(host: str, port: int, seconds: float, ready: Any = None) -> int:
    """Answer calls until the time is over; gives the number of answers."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(CONNECTIONS)
    if ready:
        ready(listener.getsockname()[1])
    answered, deadline = 0, time.monotonic() + seconds
    reply = os.urandom(REPLY_BYTES)
    with listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ, None)
        while time.monotonic() < deadline:
            for key, _ in selector.select(0.2):
                if key.data is None:
                    _accept(listener, selector)
                else:
                    answered += _answer(key.fileobj, key.data, selector, reply)
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
    return answered


def _accept(listener: socket.socket, selector: selectors.BaseSelector) -> None:
    peer, _ = listener.accept()
    if len(selector.get_map()) > CONNECTIONS:
        peer.close()
        return
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.settimeout(LOSS_S)
    selector.register(peer, selectors.EVENT_READ, bytearray())


def _answer(peer: Any, waiting: bytearray, selector: selectors.BaseSelector, reply: bytes) -> int:
    answered = 0
    try:
        data = peer.recv(65536)
        if not data:
            raise ConnectionError
        waiting += data
        for kind, number, body in take_frames(waiting):
            peer.sendall(make_frame(kind, number, reply if kind == CALL else body))
            answered += 1
    except (OSError, ValueError):
        selector.unregister(peer)
        peer.close()
    return answered


def take_frames(waiting: bytearray) -> list[tuple[int, int, bytes]]:
    """Whole messages, taken from the front; ValueError for what is none of ours."""
    frames = []
    while len(waiting) >= HEADER.size:
        magic, kind, number, length, _ = HEADER.unpack_from(waiting)
        if magic != MAGIC or kind not in (CALL, ECHO) or length > ECHO_BYTES:
            raise ValueError("not a message of the network test")
        end = HEADER.size + length
        if len(waiting) < end:
            break
        frames.append((kind, number, bytes(waiting[HEADER.size : end])))
        del waiting[:end]
    return frames


class Peer:
    """One server that is called: its connection, calls under way and times."""

    def __init__(self, host: str, port: int) -> None:
        self.name = f"{host}:{port}"
        self.socket = socket.create_connection((host, port), LOSS_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = bytearray()
        self.reset()

    def reset(self) -> None:
        """Start a new rate."""
        self.sent: deque[int] = deque()
        self.histogram: dict[int, int] = {}
        self.calls = self.lost = self.over = self.max_ns = self.late = 0

    def call(self, due_ns: int) -> None:
        """Send one request; late is what this client's own stall delayed by 1 ms or more."""
        self.calls += 1
        now_ns = time.monotonic_ns()
        self.late += now_ns - due_ns >= 1_000_000
        try:
            self.socket.sendall(make_frame(CALL, self.calls, b"\0" * REQUEST_BYTES))
            self.sent.append(now_ns)
        except OSError:
            self.lost += 1

    def receive(self) -> None:
        """Time the replies that have come."""
        try:
            data = self.socket.recv(65536)
        except OSError:
            data = b""
        now_ns = time.monotonic_ns()
        if not data:
            raise ConnectionError(self.name + " closed the connection")
        self.waiting += data
        for _ in take_frames(self.waiting):
            self.add(now_ns - self.sent.popleft())

    def add(self, rtt_ns: int) -> None:
        """Count one round trip."""
        slot = find_slot(rtt_ns)
        self.histogram[slot] = self.histogram.get(slot, 0) + 1
        self.over += rtt_ns >= OVER_NS
        self.max_ns = max(self.max_ns, rtt_ns)

    def describe(self, rate: int, seconds: float) -> dict[str, Any]:
        """The report's entry of one server at one rate; calls without reply are lost."""
        answered = sum(self.histogram.values())
        quantiles = (("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999))
        return {
            "server": self.name,
            "rate": rate,
            "seconds": round(seconds, 3),
            "calls": self.calls,
            "answered": answered,
            "lost": self.calls - answered,
            "late": self.late,
            "over_10ms": self.over,
            "max_us": round(self.max_ns / 1000, 3),
            **{key: find_percentile_us(self.histogram, q, self.max_ns) for key, q in quantiles},
            "histogram": sorted(map(list, self.histogram.items())),
        }


def call_servers(
    addresses: list[tuple[str, int]], rates: tuple[int, ...], seconds: float, seed: int = 0
) -> list[dict[str, Any]]:
    """Call all servers at every rate; OSError when one cannot be reached at the start."""
    chance = random.Random(seed or None)
    peers = [Peer(*address) for address in addresses]
    found = []
    try:
        for rate in rates:
            for peer in peers:
                peer.reset()
            _drive(peers, rate, seconds, chance)
            found += [peer.describe(rate, seconds) for peer in peers]
    finally:
        for peer in peers:
            peer.socket.close()
    return found


def _drive(peers: list[Peer], rate: int, seconds: float, chance: random.Random) -> None:
    start_ns = time.monotonic_ns()
    end_ns = start_ns + int(seconds * 1e9)
    due_ns = [start_ns + int(chance.expovariate(rate) * 1e9) for _ in peers]
    alive = set(range(len(peers)))
    # Only select() waits for less than a millisecond.
    with selectors.SelectSelector() as selector:
        for at, peer in enumerate(peers):
            selector.register(peer.socket, selectors.EVENT_READ, at)
        while alive:
            now_ns = time.monotonic_ns()
            open_calls = any(peers[at].sent for at in alive)
            if now_ns >= end_ns and (not open_calls or now_ns >= end_ns + LOSS_S * 1e9):
                return
            for at in alive:
                while due_ns[at] <= now_ns and due_ns[at] < end_ns:
                    peers[at].call(due_ns[at])
                    due_ns[at] += int(chance.expovariate(rate) * 1e9)
            _wait(selector, peers, alive, max(min(due_ns), now_ns))


def _wait(
    selector: selectors.BaseSelector, peers: list[Peer], alive: set[int], until_ns: int
) -> None:
    wait_s = min(max(until_ns - time.monotonic_ns(), 0) / 1e9, 0.05)
    for key, _ in selector.select(wait_s):
        try:
            peers[key.data].receive()
        except (OSError, ValueError):
            selector.unregister(key.fileobj)
            alive.discard(key.data)


def echo(host: str, port: int) -> float:
    """Milliseconds for 32 KB there and back."""
    with socket.create_connection((host, port), LOSS_S) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body, start = os.urandom(ECHO_BYTES), time.monotonic_ns()
        peer.sendall(make_frame(ECHO, 1, body))
        need = HEADER.size + ECHO_BYTES
        while need > 0:
            data = peer.recv(65536)
            if not data:
                raise ConnectionError("closed")
            need -= len(data)
        return round((time.monotonic_ns() - start) / 1e6, 4)


# --- disk ---

FILE_BYTES = 5 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
SMALL_BYTES = 1024
# The sector of the commonest disks, taken where direct I/O refuses 1 KB.
SECTOR_BYTES = 4096
SMALL_OPERATIONS = 40
WHOLE_FILES = 3
# macOS has no fdatasync.
sync = getattr(os, "fdatasync", os.fsync)


class Disk:
    """Own files on one file system, already without a name."""

    def __init__(self, folder: str, files: int) -> None:
        free = shutil.disk_usage(folder).free
        self.count = max(WHOLE_FILES, min(files, free // 4 // FILE_BYTES))
        if free < 2 * self.count * FILE_BYTES:
            raise OSError(f"less than {2 * self.count * FILE_BYTES // 2**20} MB are free")
        self.block = mmap.mmap(-1, BLOCK_BYTES)
        self.block.write(os.urandom(BLOCK_BYTES))
        self.direct = hasattr(os, "O_DIRECT")
        self.files: list[int] = []
        self.small_bytes = SMALL_BYTES
        try:
            for _ in range(self.count):
                self.files.append(self._create(folder))
        except OSError:
            self.close()
            raise
        self._find_small()

    def _create(self, folder: str) -> int:
        descriptor, path = tempfile.mkstemp(prefix="nephoscope-disk-", dir=folder)
        try:
            if self.direct:
                descriptor = self._reopen(descriptor, path)
        finally:
            Path(path).unlink()
        self._write_whole(descriptor)
        return descriptor

    def _reopen(self, descriptor: int, path: str) -> int:
        try:
            direct = os.open(path, os.O_RDWR | os.O_DIRECT)
        except OSError:
            self.direct = False
            return descriptor
        os.close(descriptor)
        return direct

    def _find_small(self) -> None:
        try:
            self._read_small(self.files[0], 0)
        except OSError:
            self.small_bytes = SECTOR_BYTES

    def _drop(self, descriptor: int) -> None:
        if not self.direct and hasattr(os, "posix_fadvise"):
            sync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def _read_small(self, descriptor: int, at: int) -> None:
        with memoryview(self.block) as view:
            os.preadv(descriptor, [view[: self.small_bytes]], at)

    def _write_small(self, descriptor: int, at: int) -> None:
        with memoryview(self.block) as view:
            os.pwritev(descriptor, [view[: self.small_bytes]], at)
        sync(descriptor)

    def _read_whole(self, descriptor: int) -> None:
        for at in range(0, FILE_BYTES, BLOCK_BYTES):
            os.preadv(descriptor, [self.block], at)

    def _write_whole(self, descriptor: int) -> None:
        for at in range(0, FILE_BYTES, BLOCK_BYTES):
            os.pwritev(descriptor, [self.block], at)
        sync(descriptor)

    def measure(self, chance: random.Random) -> dict[str, Any]:
        """Milliseconds per small operation, megabytes per second for whole files."""
        for descriptor in self.files:
            self._drop(descriptor)
        places = FILE_BYTES // self.small_bytes
        spots = [
            (chance.choice(self.files), chance.randrange(places) * self.small_bytes)
            for _ in range(SMALL_OPERATIONS)
        ]
        whole = chance.sample(self.files, WHOLE_FILES)
        reads = [_time_ms(self._read_small, *spot) for spot in spots]
        writes = [_time_ms(self._write_small, *spot) for spot in spots]
        read_ms = sum(_time_ms(self._read_whole, file) for file in whole)
        write_ms = sum(_time_ms(self._write_whole, file) for file in whole)
        megabytes = WHOLE_FILES * FILE_BYTES / 1e6
        return {
            "disk_small_read_ms": reads,
            "disk_small_write_ms": writes,
            "disk_read_mb_s": round(megabytes / read_ms * 1000, 3),
            "disk_write_mb_s": round(megabytes / write_ms * 1000, 3),
            "disk_direct": self.direct,
            "disk_small_bytes": self.small_bytes,
        }

    def close(self) -> None:
        """Give the space back."""
        for descriptor in self.files:
            os.close(descriptor)
        self.files.clear()


def _time_ms(work: Any, *values: Any) -> float:
    start_ns = time.monotonic_ns()
    work(*values)
    return round(max(time.monotonic_ns() - start_ns, 1) / 1e6, 4)


# --- battery ---

# About half a second on the processors of 2026, and the same work everywhere.
CPU_STEPS = 4_000_000
IP_RECVERR = 11
HOP_TRIES = 3
HOP_WAIT_S = 0.5
TRACE_PORT = 33434


class Plan:
    """What a battery does: rounds every so many seconds, with files in one folder."""

    def __init__(self, rounds: int, every_s: float, folder: str, files: int) -> None:
        self.rounds, self.every_s = rounds, every_s
        self.folder, self.files = folder, files
        self.peer: tuple[str, int] | None = None
        self.target = ""


def run_battery(plan: Plan, pause: Callable[[float], None] = time.sleep) -> list[dict[str, Any]]:
    """All rounds; a test that cannot be made is a row's ``missing`` with its reason."""
    chance, found = random.Random(), []
    disk, reason = _open_disk(plan)
    start = time.monotonic()
    try:
        for at in range(plan.rounds):
            pause(max(0.0, start + at * plan.every_s - time.monotonic()))
            row: dict[str, Any] = {"at": round(read_wall_clock(), 3), "cpu_ms": time_cpu_ms()}
            row["missing"] = {"disk": reason} if reason else {}
            if disk:
                row.update(disk.measure(chance))
            _add_network(row, plan)
            found.append(row)
    except KeyboardInterrupt:
        # What was measured in hours is kept.
        if not found:
            raise
    finally:
        if disk:
            disk.close()
    return found


def _open_disk(plan: Plan) -> tuple[Disk | None, str]:
    try:
        return Disk(plan.folder, plan.files), ""
    except OSError as error:
        return None, str(error)[:200]


def time_cpu_ms() -> float:
    """Wall time of a fixed piece of floating-point work in one thread."""
    start_ns, value = time.monotonic_ns(), 1.0
    for _ in range(CPU_STEPS):
        value = value * 1.0000001 + 0.5
    return round((time.monotonic_ns() - start_ns) / 1e6, 3)


def _add_network(row: dict[str, Any], plan: Plan) -> None:
    try:
        hops = find_hops_ms(plan.target or find_gateway())
        if hops and hops[0] is not None:
            row["first_hop_ms"] = hops[0]
        if len(hops) == 3 and None not in hops:
            row["three_hops_ms"] = round(sum(hop or 0 for hop in hops), 4)
        elif "first_hop_ms" not in row:
            row["missing"]["hops"] = "no router answered"
    except OSError as error:
        row["missing"]["hops"] = str(error)[:200]
    try:
        if plan.peer:
            row["echo_32kb_ms"] = echo(*plan.peer)
        else:
            row["missing"]["echo"] = "no --peer was given"
    except OSError as error:
        row["missing"]["echo"] = str(error)[:200]


def find_gateway() -> str:
    """Address of the default router; OSError when there is none."""
    for line in read_text("/proc/net/route").splitlines()[1:]:
        words = line.split()
        if words[1] == "00000000":
            return socket.inet_ntoa(struct.pack("<I", int(words[2], 16)))
    raise OSError("no default route")


def find_hops_ms(target: str) -> list[float | None]:
    """Round trips to the first three hops towards an address, the best of three tries each.

    It needs no privilege: Linux hands a router's complaint to the socket that caused it.
    """
    found: list[float | None] = []
    for ttl in (1, 2, 3):
        times = [_time_hop_ms(target, ttl) for _ in range(HOP_TRIES)]
        known = [each for each in times if each is not None]
        found.append(min(known) if known else None)
        if not known:
            break
    return found


def _time_hop_ms(target: str, ttl: int) -> float | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        probe.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        probe.connect((target, TRACE_PORT))
        poller = select.poll()
        poller.register(probe, 0)
        start_ns = time.monotonic_ns()
        probe.send(b"nephoscope battery")
        if not poller.poll(HOP_WAIT_S * 1000):
            return None
        return round((time.monotonic_ns() - start_ns) / 1e6, 4)


# --- delivery ---

REPORTS_PATH = "/api/v1/screening/reports"
TIMEOUT_S = 20.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
# These say that trying again helps; every other 4xx says that it does not.
AGAIN = (408, 425, 429)


class Refused(Exception):
    """The site has read the report and does not want it; sending it again cannot help."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would turn the report into a GET, and send the token elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def deliver(
    report: dict[str, Any],
    site: str,
    token: str,
    patience_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """The site's answer; Refused when it refuses, OSError when patience is over."""
    deadline, wait_s = time.monotonic() + patience_s, FIRST_WAIT_S
    while True:
        try:
            return post(report, site, token)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code not in AGAIN:
                raise Refused(_explain(error)) from None
            reason, asked_s = f"HTTP {error.code}", _read_wait(error)
        except (OSError, ValueError) as error:
            reason, asked_s = str(error), 0.0
        if time.monotonic() >= deadline:
            raise OSError("the site did not take the report: " + reason)
        if asked_s:
            # The site has told when: it is there, and waiting ever longer helps nobody.
            pause(asked_s * random.uniform(1, 1.5))
            continue
        pause(wait_s * random.uniform(0.5, 1.5))
        wait_s = min(wait_s * 2, LONGEST_WAIT_S)


def post(report: dict[str, Any], site: str, token: str) -> dict[str, Any]:
    """Send once."""
    request = urllib.request.Request(
        site.rstrip("/") + REPORTS_PATH,
        data=json.dumps(report, separators=(",", ":")).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": "Bearer " + token,
            "Idempotency-Key": report["report_id"],
        },
    )
    with urllib.request.build_opener(NoRedirect).open(request, timeout=TIMEOUT_S) as reply:
        answer = json.loads(reply.read(1_000_000) or b"{}")
    return answer if isinstance(answer, dict) else {}


def _explain(error: urllib.error.HTTPError) -> str:
    text = error.read(2000).decode("utf-8", "replace")
    with contextlib.suppress(ValueError, AttributeError):
        text = str(json.loads(text).get("detail", text))
    return f"HTTP {error.code}: " + " ".join(text.split())[:300]


def _read_wait(error: urllib.error.HTTPError) -> float:
    word = error.headers.get("Retry-After", "") if error.headers else ""
    return min(float(word), 60.0) if word.isdigit() else 0.0


def save(report: dict[str, Any], path: str) -> None:
    """Write a result file as a whole."""
    draft = Path(f"{path}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(report, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
    finally:
        if draft.exists():
            draft.unlink()


# --- commands ---

AGENT_VERSION = "1.1"
SCHEMA = "nephoscope.screening/1"
# The site writes its own address here when it serves this file.
SITE_URL = ""
SECONDS, LONGEST_S = 100.0, 120.0
# A server of the network test outlives many clients, but never its machine's hour.
SERVER_LONGEST_S = 3600.0


def main(words: list[str] | None = None) -> int:
    """Run what the command line asks for; gives the exit code."""
    options = parse_options(words)
    if os.name != "posix":
        return say("this agent needs Linux; macOS works in part", 2)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        return run(options)
    except KeyboardInterrupt:
        return say("interrupted", 130)
    except Refused as error:
        return say(f"refused: {error}", 1)
    except (OSError, ValueError) as error:
        return say(str(error), 1)


def stop(number: int, _: Any) -> NoReturn:
    """End by a signal, but through every clean-up."""
    raise SystemExit(128 + number)


def say(text: str, code: int = 0) -> int:
    """One line for the person who watches."""
    sys.stderr.write(f"nephoscope agent: {text}\n")
    return code


def parse_options(words: list[str] | None) -> argparse.Namespace:
    """Options with their bounds; ends the program when one is wrong."""
    parser = argparse.ArgumentParser(description="Is this virtual machine a good one?")
    add = parser.add_argument
    add("--pool", metavar="TOKEN", help="token of the pool that gets the report")
    add(
        "--server",
        nargs="?",
        const=f":{PORT}",
        metavar="URL or [HOST]:PORT",
        help="with a URL: the site; with an address or nothing: answer network tests",
    )
    add("--client", nargs="+", metavar="HOST[:PORT]", help="network test of these servers")
    add("--rates", default=",".join(map(str, RATES)), help="calls per second, one after another")
    add("--seconds", type=float, help="time per measurement (default 100, at most 120)")
    add("--sleep-us", type=int, default=100, help="length of one sleep, 10 to 10000")
    add("--cpu", type=int, action="append", help="only this virtual CPU; may be repeated")
    add("--python", action="store_true", help="do not compile the native sampler")
    add("--name", default="", help="name of this machine in the pool")
    add("--battery", action="store_true", help="CPU, disk and network tests as well")
    add("--rounds", type=int, default=1, help="rounds of the battery, 1 to 10000")
    add("--every", type=float, default=300.0, help="seconds from round to round")
    add("--folder", help="where the disk tests put their files (default: for temporary files)")
    add("--files", type=int, default=20, help="5 MB files of the disk tests, 3 to 400")
    add("--peer", metavar="HOST[:PORT]", help="machine with --server, for 32 KB there and back")
    add("--output", metavar="FILE", help="write the report to a file")
    add("--upload", nargs="+", metavar="FILE", help="send reports that were written earlier")
    add("--patience", type=float, default=900.0, help="seconds to try again for when sending")
    add("--json", action="store_true", help="the report on standard output")
    options = parser.parse_args(words)
    for problem in check_options(options):
        parser.error(problem)
    return options


def check_options(options: argparse.Namespace) -> list[str]:
    """What is wrong with the options, and their defaults filled in."""
    is_site = bool(options.server) and "://" in options.server
    options.site = options.server.rstrip("/") if is_site else SITE_URL
    options.listen = "" if is_site else options.server
    longest_s = SERVER_LONGEST_S if options.listen else LONGEST_S
    if options.seconds is None:
        options.seconds = 600.0 if options.listen else SECONDS
    wrong = [
        (not 1 <= options.seconds <= longest_s, f"--seconds is 1 to {longest_s:g}"),
        (not 10 <= options.sleep_us <= 10_000, "--sleep-us is 10 to 10000"),
        (not 1 <= options.rounds <= 10_000, "--rounds is 1 to 10000"),
        (not 1 <= options.every <= 86_400, "--every is 1 to 86400"),
        (not 3 <= options.files <= 400, "--files is 3 to 400"),
        (bool(options.pool) and not options.site, "--pool needs --server URL"),
        (bool(options.upload) and not options.pool, "--upload needs --pool TOKEN"),
        (not _read_rates(options.rates), "--rates are whole numbers from 1 to 5000"),
    ]
    return [text for found, text in wrong if found]


def _read_rates(text: str) -> tuple[int, ...]:
    words = text.split(",")
    fit = all(word.isdigit() and 1 <= int(word) <= 5000 for word in words)
    return tuple(int(word) for word in words) if fit else ()


def read_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST``, ``HOST:PORT``, ``:PORT``, ``PORT`` or ``[v6]:PORT``."""
    if text.isdigit():
        return "", int(text)
    host, colon, port = text.rpartition(":")
    if colon and port.isdigit() and (":" not in host or host.startswith("[")):
        return host.strip("[]"), int(port)
    return text.strip("[]"), PORT


def run(options: argparse.Namespace) -> int:
    """Serve, upload or measure."""
    if options.listen:
        host, port = read_address(options.listen)
        found = serve(host or "0.0.0.0", port, options.seconds, _tell_port)
        return say(f"answered {found} calls")
    if options.upload:
        return max(send(json.loads(Path(path).read_text()), options) for path in options.upload)
    report = make_report(options)
    is_kept = not options.output or keep(report, options.output)
    if options.json and is_kept:
        write_out(report)
    elif is_kept:
        show(report)
    sent = send(report, options) if options.pool else 0
    return sent if is_kept else 1


def keep(report: dict[str, Any], path: str) -> bool:
    """Write a result file; where none can be written, standard output gets the report."""
    try:
        save(report, path)
    except OSError as error:
        say(f"{error}; the report is on standard output")
        write_out(report)
        return False
    return True


def write_out(report: dict[str, Any]) -> None:
    """The report as one line."""
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()


def _tell_port(port: int) -> None:
    say(f"answering on port {port}")


def send(report: dict[str, Any], options: argparse.Namespace) -> int:
    """Deliver a report; when the site stays away, keep it in a file and say so."""
    try:
        deliver(report, options.site, options.pool, options.patience)
    except OSError as error:
        kept = options.output or (options.upload and "the file it came from")
        if not kept:
            kept = "nephoscope-{}.json".format(report["report_id"])
            if not keep(report, kept):
                return say(str(error), 1)
        return say(f"{error}; the report is in {kept}, send it with --upload", 1)
    return say("report {} has arrived".format(report["report_id"]))


def make_report(options: argparse.Namespace) -> dict[str, Any]:
    """Measure and put together one report."""
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "report_id": uuid.uuid4().hex,
        "agent_version": AGENT_VERSION,
        "started_at": round(read_wall_clock(), 3),
        "sleep_us": options.sleep_us,
        "host": read_host(options.name),
        "notes": list(_find_notes()),
    }
    if options.client:
        addresses = [read_address(word) for word in options.client]
        report["network"] = call_servers(addresses, _read_rates(options.rates), options.seconds)
        cpus: list[dict[str, Any]] = []
    else:
        cpus = sample_cpus(options, report)
    if options.battery:
        report["battery"] = run_battery(_plan(options))
    verdict, reasons = judge(cpus)
    return {
        **report,
        "seconds": options.seconds,
        "cpus": cpus,
        "verdict": verdict,
        "reasons": reasons,
    }


def _find_notes() -> list[str]:
    if platform.system() == "Linux":
        return []
    return [f"{platform.system()}: no pinning, no timer slack, no steal or run delay"]


def _plan(options: argparse.Namespace) -> Plan:
    folder = options.folder or find_folder()
    plan = Plan(options.rounds, options.every, folder, options.files)
    if options.peer:
        plan.peer = read_address(options.peer)
        plan.target = plan.peer[0]
    return plan


def find_folder() -> str:
    """Where temporary files go; where none can be written, the disk tests will say so."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return "/tmp"


def find_cpus() -> list[int]:
    """Virtual CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return [0]


def sample_cpus(options: argparse.Namespace, report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report's entries of all virtual CPUs; fills its notes, pressure and quota."""
    allowed = find_cpus()
    chosen = sorted(set(options.cpu or allowed))
    if not set(chosen) <= set(allowed):
        raise ValueError("--cpu is one of {}".format(", ".join(map(str, allowed))))
    quota = find_quota()
    stat = quota.stat if quota else ""
    orders = [Order(cpu, options.sleep_us, options.seconds, stat) for cpu in chosen]
    ticks, throttling = read_cpu_ticks(), read_throttling(stat)
    pressure = {name: read_pressure_us(name) for name in ("cpu", "io", "memory")}
    tallies, notes = measure(orders, not options.python)
    after, late = read_cpu_ticks(), read_throttling(stat)
    report["notes"] += notes
    report["throttled_periods"] = late.throttled - throttling.throttled
    report["pressure_us"] = {
        name: {kind: total - before.get(kind, 0) for kind, total in read_pressure_us(name).items()}
        for name, before in pressure.items()
    }
    _name_hypervisor(report, tallies)
    kept = max(STALLS_KEPT // max(len(tallies), 1), 100)
    lost_us = late.throttled_us - throttling.throttled_us
    return [
        describe_cpu(tally, ticks.get(tally.cpu), after.get(tally.cpu), lost_us, kept)
        for tally in tallies
    ]


def _name_hypervisor(report: dict[str, Any], tallies: list[Tally]) -> None:
    seen = next((tally.hypervisor for tally in tallies if tally.hypervisor), "")
    known = report["host"]["hypervisor"]
    if seen and seen not in known:
        report["host"]["hypervisor"] = (seen + (" " + known if known != "unnamed" else "")).strip()


def show(report: dict[str, Any]) -> None:
    """The result for a person."""
    lines = [f"{report['host']['name']}: {report['verdict']}"]
    lines += [f"  {text}" for text in report["reasons"] + report["notes"]]
    lines += map(_format_cpu, report["cpus"])
    lines += map(_format_calls, report.get("network", []))
    lines += map(_format_round, report.get("battery", []))
    sys.stdout.write("\n".join(lines) + "\n")


def _format_cpu(cpu: dict[str, Any]) -> str:
    return (
        f"  cpu {cpu['cpu']} ({cpu['mode']}): {cpu['wakeups']} sleeps, p50 {cpu['p50_us']:.0f} us, "
        f"p99 {cpu['p99_us']:.0f} us, p99.9 {cpu['p999_us']:.0f} us, "
        f"longest {cpu['max_us']:.0f} us, {cpu['stalls_10ms']} stalls, "
        f"steal {cpu['steal_ms']} ms, run delay {cpu['run_delay_ms']:.0f} ms, "
        f"throttled {cpu['throttled_ms']:.0f} ms, own use {100 * cpu['own_share']:.1f} %"
    )


def _format_calls(row: dict[str, Any]) -> str:
    return (
        f"  {row['server']} at {row['rate']}/s: {row['answered']} of {row['calls']} calls, "
        f"p50 {row['p50_us']:.0f} us, p99.9 {row['p999_us']:.0f} us, "
        f"{row['over_10ms']} of 10 ms or more, {row['late']} sent late"
    )


def _format_round(row: dict[str, Any]) -> str:
    values = [f"{name} {value}" for name, value in row.items() if isinstance(value, float)]
    missing = [f"no {name}: {reason}" for name, reason in row["missing"].items()]
    return "  battery: " + ", ".join(values[1:] + missing)


if __name__ == "__main__":
    sys.exit(main())
