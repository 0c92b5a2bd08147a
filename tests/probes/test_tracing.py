"""Batches of packets over a wire that loses some and delays others: nothing is given up early."""

import random
import socket
import struct
import threading
import time

import pytest

from core.clock import SystemClock
from probes.packets.hops import Reply
from probes.packets.tracer import Tracer
from probes.packets.traceroute_packets import ReceivedReply

pytestmark = pytest.mark.timed

PLACES = [(3, flow) for flow in range(20)]


class PacketSocket:
    """Packets come back over loopback, but for those that ``fate`` loses or holds back."""

    def __init__(self, fate):
        self._fate, self.sent, self._timers = fate, [], []
        # How late each place's first answer really was: the control of round trips.
        self.took_ms = {}
        self._far = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._near.bind(("127.0.0.1", 0))
        self.sockets, self.source = [self._near], "127.0.0.1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for timer in self._timers:
            timer.cancel()
            timer.join()
        self._near.close()
        self._far.close()

    def send(self, ttl, flow, tag):
        self.sent.append((ttl, flow))
        delay_s = self._fate(ttl, flow, len(self.sent))
        if delay_s is None:
            return
        answer = (tag, (ttl, flow), time.monotonic())
        if delay_s:
            self._timers.append(threading.Timer(delay_s, self._answer, answer))
            self._timers[-1].start()
        else:
            self._answer(*answer)

    def _answer(self, tag, place, sent_at):
        self.took_ms.setdefault(place, (time.monotonic() - sent_at) * 1e3)
        self._far.sendto(struct.pack("!H", tag), self._near.getsockname())

    def read(self, _sock, data, sender):
        return ReceivedReply(struct.unpack("!H", data)[0], sender, "hop")


def tracer_of(wire, timeout_s=1.0):
    return Tracer(wire, timeout_s, 0.0, SystemClock())


def took_s(work):
    began = time.monotonic()
    work()
    return time.monotonic() - began


@pytest.mark.parametrize("seed", range(3))
def test_a_lost_packet_costs_less_than_the_time_out(seed):
    chance = random.Random(seed)
    lost = set(chance.sample(range(1, 21), 3))
    with PacketSocket(lambda ttl, flow, nth: None if nth in lost else 0.0) as wire:
        found = []
        assert took_s(lambda: found.extend(tracer_of(wire).send_again(PLACES, 3))) < 0.6
        assert [(r.ttl, r.flow) for r in found] == PLACES
        assert all(r.address for r in found)
        assert len(wire.sent) == 23


def test_an_answer_that_comes_after_the_next_try_counts_as_what_it_took():
    """The first answers were quick; one is far slower, and its packet is sent a second time."""
    with PacketSocket(lambda ttl, flow, nth: 0.25 if flow == 7 else 0.0) as wire:
        found = tracer_of(wire).send_again(PLACES, 2)
        assert found[7].rtt_ms == pytest.approx(wire.took_ms[PLACES[7]], abs=60)
        assert len(wire.sent) == 21


def test_what_a_limit_kept_back_is_asked_for_after_a_pause():
    """Six answers at once, and the others not before 0.2 s have passed."""
    began = time.monotonic()

    def fate(ttl, flow, nth):
        return 0.0 if nth <= 6 or time.monotonic() - began > 0.2 else None

    with PacketSocket(fate) as wire:
        found = tracer_of(wire).send_again(PLACES, 2)
        assert all(r.address for r in found)
        assert len(wire.sent) == 20 + 14


def test_a_silent_hop_is_tried_twice_and_no_more():
    with PacketSocket(lambda ttl, flow, nth: None) as wire:
        found = tracer_of(wire, timeout_s=0.05).send_again(PLACES, 5)
        assert found == [Reply(*place) for place in PLACES]
        assert len(wire.sent) == 40


def test_one_try_waits_for_the_whole_time_out():
    with PacketSocket(lambda ttl, flow, nth: 0.3 if flow == 19 else 0.0) as wire:
        tracer = tracer_of(wire)
        assert all(r.address for r in tracer.send(PLACES))
        assert len(wire.sent) == 20


def test_a_hop_far_behind_the_others_is_no_silent_one():
    """Answers took a millisecond so far; behind the next link they take two thirds of a second."""
    with PacketSocket(lambda ttl, flow, nth: 0.0 if ttl == 1 else 0.65) as wire:
        tracer = tracer_of(wire)
        assert all(r.address for r in tracer.send_again([(1, f) for f in range(4)], 3))
        found = tracer.send_again([(2, f) for f in range(4)], 3)
        expected = [wire.took_ms[2, flow] for flow in range(4)]
        assert [r.rtt_ms for r in found] == pytest.approx(expected, abs=150)
