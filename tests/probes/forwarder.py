"""Two TUN devices in, each other's packets out: later by a delay, or lost by a seeded chance.

Arguments: both file numbers, delay in ms, probability of loss each way, seed.
"""

import contextlib
import ctypes
import heapq
import os
import random
import select
import sys
import time


def hurry():
    """Wake up on time beside other work: real-time priority where we get it, no timer slack."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    ctypes.CDLL(None).prctl(29, 1)


def main():
    first, second = int(sys.argv[1]), int(sys.argv[2])
    delay_s, loss, seed = float(sys.argv[3]) / 1e3, float(sys.argv[4]), int(sys.argv[5])
    hurry()
    chance, waiting, count = random.Random(seed), [], 0
    other = {first: second, second: first}
    while True:
        left = waiting[0][0] - time.monotonic() if waiting else None
        ready, _, _ = select.select(list(other), [], [], left if left is None else max(left, 0))
        for number in ready:
            packet = os.read(number, 65_536)
            count += 1
            if chance.random() >= loss:
                heapq.heappush(waiting, (time.monotonic() + delay_s, count, other[number], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, number, packet = heapq.heappop(waiting)
            try:
                os.write(number, packet)
            except OSError:
                continue


main()
