"""Limits of time that compare with a control: what a pause and a little work take meanwhile."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PAUSE_S, _WORK_S = 0.005, 0.001


@contextmanager
def within(limit_s: float) -> Iterator[None]:
    """Fail if the block takes longer than ``limit_s`` would on an idle machine.

    The control is a thread that pauses for 5 ms and works for 1 ms, again and again. Where its
    turns take three times as long because the machine is busy, the block may as well; likewise
    where the threads of this process wait for a processor twice as long as they have one.
    """
    ended, turns = threading.Event(), 0
    ran_s, waited_s = _read_schedule()

    def control() -> None:
        nonlocal turns
        while not ended.is_set():
            time.sleep(_PAUSE_S)
            until = time.thread_time() + _WORK_S
            while time.thread_time() < until:
                pass
            turns += 1

    thread = threading.Thread(target=control)
    began = time.monotonic()
    thread.start()
    try:
        yield
    finally:
        took_s = time.monotonic() - began
        ended.set()
        thread.join()
    whole_s = time.monotonic() - began
    now_ran_s, now_waited_s = _read_schedule()
    contention = (now_waited_s - waited_s) / max(now_ran_s - ran_s, _WORK_S)
    slowness = max(1.0, whole_s / (turns * (_PAUSE_S + _WORK_S)), 1 + contention)
    assert took_s < limit_s * slowness, f"{took_s:.2f} s, {slowness:.1f} times as slow as idle"


def _read_schedule() -> tuple[float, float]:
    """Seconds for which the threads of this process had a processor, and waited for one."""
    ran_ns = waited_ns = 0
    for path in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):
            ran, waited, _ = path.read_text().split()
            ran_ns, waited_ns = ran_ns + int(ran), waited_ns + int(waited)
    return ran_ns / 1e9, waited_ns / 1e9
