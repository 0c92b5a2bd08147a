"""The native sampler, compiled from C into a memory file where a compiler is installed.

It does what :mod:`screening.agent_parts.sampling` does without an interpreter's own pauses. The
program lives in a memory file: nothing is left on the disk, however the agent ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

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
        _compile_in_child(compiler, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        program = pipe.read()
    os.waitpid(pid, 0)
    return _load(program) if program else None


def _compile_in_child(compiler: str, pipe: int) -> NoReturn:
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
