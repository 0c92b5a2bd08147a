"""Packets of TUN devices go to the device they are joined with: later, at a rate, or never.

Run as a process of its own: joints come as one JSON line on standard input, changes as further
lines; when its owner is gone, it removes what the owner made.
"""

import contextlib
import ctypes
import gc
import heapq
import json
import os
import random
import select
import sys
import time
from typing import Any

from lab import namespaces

# As netem: packets that may wait for a slow link.
QUEUE_PACKETS = 1000
_PACKETS_AT_ONCE = 32
_TIMER_SLACK = 29
# A sleep may end as much too late; from this long before a packet is due, nobody sleeps.
_AWAKE_S = 0.0002


class Joint:
    """One direction of a link: from a device to one or more others, of which chance takes one."""

    def __init__(self, number: int, spec: dict[str, Any]) -> None:
        self.number, self.outs = number, spec["outs"]
        self._chance = random.Random(spec["seed"])
        self._free_s = 0.0
        self.change(spec)

    def change(self, spec: dict[str, Any]) -> None:
        """Take on other values."""
        self._delay_s = spec["delay_ms"] / 1e3
        self._jitter_s = spec["jitter_ms"] / 1e3
        self._loss = spec["loss"]
        self._octet_s = 8e-6 / spec["rate_mbit"] if spec["rate_mbit"] else 0.0

    def schedule(self, now_s: float, octets: int) -> float | None:
        """When a packet comes out; ``None`` when it is lost or the queue is full."""
        if self._loss and self._chance.random() < self._loss:
            return None
        if self._octet_s:
            waiting_s = self._free_s - now_s
            if waiting_s > QUEUE_PACKETS * 1500 * self._octet_s:
                return None
            now_s = self._free_s = max(self._free_s, now_s) + octets * self._octet_s
        if self._jitter_s:
            now_s += self._chance.uniform(-self._jitter_s, self._jitter_s)
        return now_s + self._delay_s

    def out(self) -> int:
        return int(self.outs[0] if len(self.outs) == 1 else self._chance.choice(self.outs))


class DelayLine:
    """All joints, and the packets that are on their way."""

    def __init__(self, specs: list[dict[str, Any]]) -> None:
        self._joints = {s["in"]: Joint(n, s) for n, s in enumerate(specs)}
        self._numbered = list(self._joints.values())
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        for number in self._joints:
            os.set_blocking(number, False)

    def forward(self, owner: int) -> None:
        """Forward packets until the owner's end of a pipe is closed."""
        numbers = [*self._joints, owner]
        while True:
            left = None
            if self._waiting:
                left = max(self._waiting[0][0] - time.monotonic() - _AWAKE_S, 0.0)
            ready, _, _ = select.select(numbers, [], [], left)
            for number in ready:
                if number == owner:
                    if not self._listen(owner):
                        return
                else:
                    self._take(number)
            self._give()

    def _take(self, number: int) -> None:
        joint = self._joints[number]
        for _ in range(_PACKETS_AT_ONCE):
            try:
                packet = os.read(number, 65_536)
            except OSError:
                return
            due = joint.schedule(time.monotonic(), len(packet))
            if due is not None:
                self._count += 1
                heapq.heappush(self._waiting, (due, self._count, joint.out(), packet))

    def _give(self) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, number, packet = heapq.heappop(waiting)
            # A device that is down takes nothing: the packet is lost.
            with contextlib.suppress(OSError):
                os.write(number, packet)

    def _listen(self, owner: int) -> bool:
        text = os.read(owner, 65_536)
        for line in text.splitlines():
            change = json.loads(line)
            for number in change["joints"]:
                self._numbered[number].change(change)
        return bool(text)


def say(word: str) -> None:
    """Tell the owner."""
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def hurry() -> None:
    """Wake up on time beside other work: real-time priority where we get it, no timer slack."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    ctypes.CDLL(None).prctl(_TIMER_SLACK, 1)
    gc.disable()


def main() -> None:
    """Forward until the owner is gone."""
    given = json.loads(sys.stdin.readline())
    line = DelayLine(given["joints"])
    hurry()
    say("ready")
    line.forward(sys.stdin.fileno())
    namespaces.remove(given["namespaces"])
    with contextlib.suppress(OSError):
        say("removed")


if __name__ == "__main__":
    main()
