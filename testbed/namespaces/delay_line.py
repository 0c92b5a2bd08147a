"""Forwarding between TUN devices with delay, rate limit and loss.

Runs as a separate process: link directions come as one JSON line on standard input, changes as
further lines; when its owner ends, it removes the owner's namespaces.
"""

import contextlib
import ctypes
import gc
import heapq
import json
import os
import random
import select
import signal
import sys
import time
from typing import Any

from testbed.namespaces import netns

# As netem: packets that may wait for a slow link.
QUEUE_PACKETS = 1000
_PACKETS_AT_ONCE = 32
# No packet is larger: devices keep the usual limit of 1500 octets.
_LARGEST_PACKET = 2048
_TIMER_SLACK, _LOCK_ALL_MEMORY = 29, 3
# A sleep may end this late; busy-wait from this long before a packet is due.
_BUSY_WAIT_S = 0.0002
# A packet later than this was queued elsewhere, which is not the link's delay.
_MAX_COMPENSATION_S = 0.02
_REMEMBERED = 4096


class LinkDirection:
    """One direction of a link: from a device to one or more others, of which chance takes one."""

    def __init__(self, number: int, spec: dict[str, Any]) -> None:
        self.number, self.outputs = number, spec["outputs"]
        self._chance = random.Random(spec["seed"])
        self._free_s = 0.0
        self.change(spec)

    def change(self, spec: dict[str, Any]) -> None:
        """Take on other values."""
        self._delay_s = float(spec["delay_ms"]) / 1e3
        self._jitter_s = spec["jitter_ms"] / 1e3
        self._loss = spec["loss"]
        self._octet_s = 8e-6 / spec["rate_mbit"] if spec["rate_mbit"] else 0.0

    def schedule(self, now_s: float, octets: int) -> float | None:
        """Return when to send a packet; ``None`` when it is lost or the queue is full."""
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

    def choose_output(self) -> int:
        return int(self.outputs[0] if len(self.outputs) == 1 else self._chance.choice(self.outputs))


def packet_key(packet: bytes) -> bytes:
    """What stays of a packet from link to link: all but the hops that it has left."""
    if packet[0] >> 4 == 6:
        return packet[8:72]
    return packet[4:6] + packet[12:64]


class DelayCompensation:
    """Due times of packets, so that the next link compensates for late forwarding."""

    def __init__(self) -> None:
        self._due: dict[bytes, float] = {}

    def record(self, packet: bytes, due_s: float) -> None:
        """Record that a packet sent now was due at ``due_s``."""
        if len(self._due) >= _REMEMBERED:
            self._due.clear()
        self._due[packet_key(packet)] = due_s

    def nominal_arrival(self, packet: bytes, now_s: float) -> float:
        """When a packet that comes in now would have, had the link before it been on time."""
        due_s = self._due.pop(packet_key(packet), now_s)
        return due_s if now_s - due_s < _MAX_COMPENSATION_S else now_s


class DelayLine:
    """All directions, and the packets that are on their way."""

    def __init__(self, specs: list[dict[str, Any]]) -> None:
        self._directions = {s["in"]: LinkDirection(n, s) for n, s in enumerate(specs)}
        self._numbered = list(self._directions.values())
        self._waiting: list[tuple[float, int, int, bytes]] = []
        self._count = 0
        self._late = DelayCompensation()
        self._poll = select.epoll()
        for number in self._directions:
            os.set_blocking(number, False)
            self._poll.register(number, select.EPOLLIN)

    def forward(self, owner: int) -> None:
        """Forward packets until the owner's end of a pipe is closed."""
        self._poll.register(owner, select.EPOLLIN)
        while True:
            self._sleep()
            for number, _ in self._poll.poll(0):
                if number == owner:
                    if not self._read_changes(owner):
                        return
                else:
                    self._receive(number)
            self._send_due()

    def _sleep(self) -> None:
        """Wait until a packet arrives, or until shortly before one is due."""
        left = None
        if self._waiting:
            left = self._waiting[0][0] - time.monotonic() - _BUSY_WAIT_S
        if left is None or left > 0:
            # The poll itself knows whole milliseconds only.
            select.select([self._poll], [], [], left)

    def _receive(self, number: int) -> None:
        direction = self._directions[number]
        for _ in range(_PACKETS_AT_ONCE):
            try:
                packet = os.read(number, _LARGEST_PACKET)
            except OSError:
                return
            due = direction.schedule(
                self._late.nominal_arrival(packet, time.monotonic()), len(packet)
            )
            if due is not None:
                self._count += 1
                heapq.heappush(self._waiting, (due, self._count, direction.choose_output(), packet))

    def _send_due(self) -> None:
        waiting = self._waiting
        while waiting and waiting[0][0] <= time.monotonic():
            due, _, number, packet = heapq.heappop(waiting)
            self._late.record(packet, due)
            # A device that is down takes nothing: the packet is lost.
            with contextlib.suppress(OSError):
                os.write(number, packet)

    def _read_changes(self, owner: int) -> bool:
        text = os.read(owner, 65_536)
        for line in text.splitlines():
            change = json.loads(line)
            for number in change["directions"]:
                self._numbered[number].change(change)
        return bool(text)


def notify_owner(word: str) -> None:
    """Send a line to the owner."""
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def raise_priority() -> None:
    """Wake up on time beside other work: real-time priority, and no memory that is paged out."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    libc = ctypes.CDLL(None)
    libc.prctl(_TIMER_SLACK, 1)
    libc.mlockall(_LOCK_ALL_MEMORY)
    gc.disable()


def main() -> None:
    """Forward until the owner is gone."""
    # A signal to the process group ends the owner; its namespaces are then removed here.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    given = json.loads(sys.stdin.readline())
    line = DelayLine(given["directions"])
    raise_priority()
    notify_owner("ready")
    line.forward(sys.stdin.fileno())
    netns.remove(given["namespaces"])
    with contextlib.suppress(OSError):
        notify_owner("removed")


if __name__ == "__main__":
    main()
