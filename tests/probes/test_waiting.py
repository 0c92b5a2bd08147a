"""The moment of arrival, whatever happens to the process between two looks at its clocks."""

import socket
import struct
import time

import pytest

from core.clock import SystemClock
from probes.net.deadlines import SO_TIMESTAMPNS, arrival, receive, stamp_arrivals

pytestmark = pytest.mark.timed


class Torn(SystemClock):
    """Loses the processor after the n-th look at a clock, as a busy machine has it."""

    def __init__(self, after, pause_s=0.05):
        self.looks, self.after, self.pause_s = 0, after, pause_s

    def _look(self):
        self.looks += 1
        if self.looks == self.after:
            time.sleep(self.pause_s)

    def now(self):
        found = super().now()
        self._look()
        return found

    def monotonic(self):
        found = super().monotonic()
        self._look()
        return found


def note(ago_s):
    stamp = time.time() - ago_s
    return [
        (socket.SOL_SOCKET, SO_TIMESTAMPNS, struct.pack("@ll", int(stamp), int(stamp % 1 * 1e9)))
    ]


@pytest.mark.parametrize("after", range(1, 8))
def test_a_process_that_loses_the_processor_measures_neither_more_nor_less(after):
    true = time.monotonic() - 0.01
    assert arrival(note(0.01), Torn(after)) == pytest.approx(true, abs=0.005)


def test_without_a_stamp_it_is_now():
    assert arrival([], SystemClock()) == pytest.approx(time.monotonic(), abs=0.005)
    # A stamp of another clock, or from ahead of us, is none.
    for ago_s in (-3.0, 3600.0):
        assert arrival(note(ago_s), SystemClock()) == pytest.approx(time.monotonic(), abs=0.005)


def test_no_answer_comes_before_its_question():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        stamp_arrivals(sock)
        sock.sendto(b"x", sock.getsockname())
        later = time.monotonic() + 1
        assert receive(sock, SystemClock(), later)[2] == later
